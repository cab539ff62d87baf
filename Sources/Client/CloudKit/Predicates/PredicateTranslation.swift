internal import Foundation

extension PredicateNode {
  /// Returns the filters that express the predicate, which the server joins with AND.
  ///
  /// - Parameter zoneID: The zone of the query. References within it need not name it.
  /// - Throws: `CKError.invalidArguments` that names the part the server does not support.
  func filters(zoneID: CKRecordZoneID) throws(CKError) -> [WireFilter] {
    do throws(PredicateFailure) {
      return try simplified.conditions(zoneID.wire)
    } catch {
      throw .invalidArguments("The predicate cannot be used in a query: \(error.message).")
    }
  }

  fileprivate func conditions(_ zone: WireZoneID) throws(PredicateFailure) -> [WireFilter] {
    switch self {
    case .constant(true): return []
    case .constant(false): return WireFilter.contradiction
    case .and(let parts):
      var filters: [WireFilter] = []
      for part in parts { filters += try part.conditions(zone) }
      return filters
    case .or: throw unable("OR: CloudKit joins conditions only with AND; use IN for several values of one field")
    case .not(.comparison(let comparison)): return try comparison.filters(zone, negated: true)
    case .not: throw unable("NOT: CloudKit can negate only single comparisons")
    case .comparison(let comparison): return try comparison.filters(zone, negated: false)
    case .unusable(let reason): throw PredicateFailure(reason)
    }
  }

  private func unable(_ reason: String) -> PredicateFailure {
    PredicateFailure(reason).about(text())
  }
}

extension PredicateComparison {
  fileprivate func filters(_ zone: WireZoneID, negated: Bool) throws(PredicateFailure) -> [WireFilter] {
    do throws(PredicateFailure) {
      switch (left, right) {
      case (.distance(let field, let point), .value(let radius)):
        return [try near(field, point, radius, negated: negated)]
      case (.distance, _), (_, .distance): throw PredicateFailure("a distance must be compared with a number of metres")
      case (.null, _), (_, .null): throw PredicateFailure("CloudKit cannot compare with nil")
      case (.record, .value(let value)): return [try tokens(.wholeRecord, value, negated: negated)]
      case (.record, _), (_, .record): throw PredicateFailure("SELF: only a search for words can use the whole record")
      case (.field(let field), .value(let value)):
        let name = WireFieldName(framework: try PredicateArgument.fieldName(field))
        if comparator == .tokenMatches { return [try tokens(name, value, negated: negated)] }
        return try filters(name, value, zone, negated: negated)
      // `simplified` has turned the others.
      case (.value, .field), (.now, _), (_, .now): throw PredicateFailure("the field must come first")
      case (.field, .field): throw PredicateFailure("two fields cannot be compared with each other")
      case (.value, .value): throw PredicateFailure("two values cannot be compared without a field")
      }
    } catch {
      let node = PredicateNode.comparison(self)
      throw error.about((negated ? .not(node) : node).text())
    }
  }

  /// The comparators of Web Services by quantifier, operator, and whether the value is a list.
  private static let comparators: [(word: String, quantifier: Quantifier?, comparator: Operator, isList: Bool)] = [
    ("EQUALS", nil, .equal, false), ("NOT_EQUALS", nil, .notEqual, false), ("LESS_THAN", nil, .less, false),
    ("LESS_THAN_OR_EQUALS", nil, .lessOrEqual, false), ("GREATER_THAN", nil, .greater, false),
    ("GREATER_THAN_OR_EQUALS", nil, .greaterOrEqual, false), ("IN", nil, .in, true),
    ("BEGINS_WITH", nil, .beginsWith, false), ("LIST_CONTAINS", nil, .contains, false),
    ("LIST_CONTAINS", .any, .equal, false), ("LIST_CONTAINS_ALL", nil, .contains, true),
    ("LIST_CONTAINS_ANY", .any, .in, true), ("LIST_MEMBER_BEGINS_WITH", .any, .beginsWith, false),
  ]

  /// Creates the comparison of a filter's comparator, without the `NOT_` that negates it; nil for an unknown one.
  fileprivate init?(_ field: String, _ word: some StringProtocol, _ value: FieldValue) {
    guard let row = Self.comparators.first(where: { $0.word == word }) else { return nil }
    self.init(.field(field), row.comparator, .value(value), quantifier: row.quantifier)
  }

  private func filters(
    _ name: WireFieldName,
    _ value: FieldValue,
    _ zone: WireZoneID,
    negated: Bool
  ) throws(PredicateFailure) -> [WireFilter] {
    guard !options.loosens else { throw PredicateFailure("CloudKit does not support string comparison options") }
    if quantifier == .noneOf {
      var affirmed = self
      affirmed.quantifier = .any
      return try affirmed.filters(name, value, zone, negated: !negated)
    }
    if comparator == .between, quantifier == nil, !negated {
      guard let bounds else { throw PredicateFailure("it needs two bounds") }
      var filters: [WireFilter] = []
      for bound in bounds {
        guard case .value(let value) = bound.right else { continue }
        filters += try bound.filters(name, value, zone, negated: false)
      }
      return filters
    }
    let isList = if case .list = value { true } else { false }
    let row = Self.comparators.first { ($0.quantifier, $0.comparator, $0.isList) == (quantifier, comparator, isList) }
    guard let row else { throw PredicateFailure(reason(for: value)) }
    try check(name, value)
    // `simplified` has turned every other negation into an operator.
    let word = negated ? "NOT_" + row.word : row.word
    // Callers compare system fields that are references with record names.
    let isNamed = name.systemType == .reference && comparator != .beginsWith
    return [WireFilter(name, word, (isNamed ? value.asReference : value).inZones { $0 == zone ? nil : $0 })]
  }

  private func reason(for value: FieldValue) -> String {
    let isList = if case .list = value { true } else { false }
    return switch (quantifier, comparator) {
    case (.all, _): "ALL: CloudKit supports only ANY"
    case (_, .endsWith), (_, .like), (_, .matches): "\(comparator.rawValue): CloudKit matches only the start of strings"
    case (nil, .between): "CloudKit cannot negate BETWEEN"
    case (_, .in) where !isList: "the value is not a list"
    case (nil, _) where isList: "a list must be compared with IN or CONTAINS"
    default: "ANY supports only ==, IN and BEGINSWITH"
    }
  }

  /// Rejects filters that the server would refuse or, worse, drop: without the filter, the query would return every
  /// record.
  private func check(_ name: WireFieldName, _ value: FieldValue) throws(PredicateFailure) {
    let type: FieldType
    switch value {
    case .list(.unknown, _): throw PredicateFailure("the list is empty")
    case .list(let element, _): type = element
    default: type = FieldType(rawValue: value.wireType) ?? .unknown
    }
    switch (comparator, type) {
    case (_, .asset), (_, .unknown): throw PredicateFailure("filters do not support \(value.wireType) values")
    case (_, .location): throw PredicateFailure("a location must be compared by its distance")
    case (.beginsWith, let type) where type != .string: throw PredicateFailure("it needs a string")
    case (.less, .bytes), (.lessOrEqual, .bytes), (.greater, .bytes), (.greaterOrEqual, .bytes):
      throw PredicateFailure("bytes have no order")
    default: break
    }
    guard let systemType = name.systemType else { return }
    guard quantifier == nil, comparator != .contains else { throw PredicateFailure("the field is not a list") }
    guard type == systemType || (systemType == .reference && type == .string) else {
      throw PredicateFailure("the field is a \(systemType.rawValue), not a \(type.rawValue)")
    }
  }

  /// Returns `value operator field` as the equivalent `field operator value`.
  package func turned() throws(PredicateFailure) -> PredicateComparison {
    let isList = if case .value(.list) = left { true } else { false }
    let comparators: (Quantifier?, Operator)? =
      switch (quantifier, comparator) {
      case (nil, .equal), (nil, .notEqual): (nil, comparator)
      case (nil, .less): (nil, .greater)
      case (nil, .lessOrEqual): (nil, .greaterOrEqual)
      case (nil, .greater): (nil, .less)
      case (nil, .greaterOrEqual): (nil, .lessOrEqual)
      case (nil, .in): (nil, .contains)
      case (.all, .in) where isList: (nil, .contains)
      case (.any, .in) where isList: (.any, .in)
      // ANY {1, 2} == a; ANY 1 == a
      case (.any, .equal): isList ? (nil, .in) : (.any, .equal)
      case (.noneOf, .equal) where !isList: (.noneOf, .equal)
      default: nil
      }
    guard let (quantifier, comparator) = comparators else { throw PredicateFailure("the field must come first") }
    return PredicateComparison(right, comparator, left, options: options, quantifier: quantifier)
  }

  private func near(
    _ field: String,
    _ point: WireLocation,
    _ radius: FieldValue,
    negated: Bool
  ) throws(PredicateFailure) -> WireFilter {
    guard comparator == .less || comparator == .lessOrEqual, quantifier == nil, !negated else {
      throw PredicateFailure("CloudKit only finds locations nearer than a distance")
    }
    let metres: Double
    switch radius {
    case .double(let number): metres = number
    case .int64(let integer): metres = Double(integer)
    default: throw PredicateFailure("a distance must be compared with a number of metres")
    }
    guard metres >= 0 else { throw PredicateFailure("a distance cannot be negative") }
    let name = WireFieldName(framework: try PredicateArgument.fieldName(field))
    guard name.systemType == nil else { throw PredicateFailure("the field is not a location") }
    return WireFilter(name, "NEAR", .location(point), distance: metres)
  }

  private func tokens(
    _ name: WireFieldName,
    _ value: FieldValue,
    negated: Bool
  ) throws(PredicateFailure) -> WireFilter {
    guard quantifier == nil, comparator == .tokenMatches || comparator == .contains else {
      throw PredicateFailure("SELF: only a search for words can use the whole record")
    }
    guard case .string = value else { throw PredicateFailure("a search for words needs a string") }
    guard name.systemType == nil else { throw PredicateFailure("the field is not a string") }
    guard !negated else { throw PredicateFailure("CloudKit cannot negate a search for words") }
    return WireFilter(name, "CONTAINS_ALL_TOKENS", value)
  }
}

extension WireFilter {
  /// The filters that match no record, since no comparator does: a record has one name.
  fileprivate static let contradiction = ["a", "b"].map { name in
    WireFilter(.system("recordName"), "EQUALS", .reference(WireReference(recordName: name, action: nil)))
  }
}

extension WireQuery {
  /// Returns the query with the whole numbers for one field as DOUBLE, if the server refused it because the field is a
  /// DOUBLE; nil otherwise. Only the schema knows the type of a field, and in a format `price > 10` is a whole number.
  ///
  /// The server names the field and both types: "Field 'price' has a value type of DOUBLE and cannot be queried using
  /// filter value type INT64" [L3].
  func withDoubles(after refusal: CKError) -> WireQuery? {
    guard refusal.code == .invalidArguments, let reason = refusal.serverReason, reason.contains("DOUBLE"),
      reason.contains("INT64")
    else { return nil }
    var query = self
    for (index, filter) in filterBy.enumerated() {
      guard case .field(let name) = filter.name, reason.contains("'\(name)'"), let value = filter.value.asDouble
      else { continue }
      query.filterBy[index].value = value
    }
    return query == self ? nil : query
  }
}

extension FieldValue {
  /// The whole number, or list of them, as DOUBLE; nil for other values, and for a number that a DOUBLE cannot hold.
  fileprivate var asDouble: FieldValue? {
    switch self {
    case .int64(let integer): return Int64(exactly: Double(integer)) == integer ? .double(Double(integer)) : nil
    case .list(.int64, let elements):
      let doubles = elements.compactMap(\.asDouble)
      return doubles.count == elements.count ? .list(.double, doubles) : nil
    default: return nil
    }
  }

  /// The references to records of these names; other values as they are.
  fileprivate var asReference: FieldValue {
    switch self {
    case .string(let recordName): .reference(WireReference(recordName: recordName, action: nil))
    case .list(.string, let elements): .list(.reference, elements.map(\.asReference))
    default: self
    }
  }

  /// Returns the value with other zones in its references.
  fileprivate func inZones(_ zone: (WireZoneID?) -> WireZoneID?) -> FieldValue {
    switch self {
    case .reference(let reference):
      .reference(WireReference(recordName: reference.recordName, zoneID: zone(reference.zoneID), action: nil))
    case .list(.reference, let elements): .list(.reference, elements.map { $0.inZones(zone) })
    default: self
    }
  }
}

extension PredicateNode {
  /// Creates the predicate that is equivalent to a filter; nil for one that this library does not know.
  ///
  /// - Parameter zone: The zone of references that name none.
  init?(_ filter: WireFilter, in zone: WireZoneID) {
    // References stay within the zones of one owner.
    let value = filter.value.inZones { named in
      let owner = zone.ownerRecordName == nil ? nil : named?.ownerRecordName ?? zone.ownerRecordName
      return WireZoneID(zoneName: (named ?? zone).zoneName, ownerRecordName: owner)
    }
    let field = filter.name.framework
    switch (filter.comparator, value, field) {
    case ("CONTAINS_ALL_TOKENS", _, nil): self = .comparison(PredicateComparison(.record, .contains, .value(value)))
    case ("CONTAINS_ALL_TOKENS", _, let field?):
      self = .comparison(PredicateComparison(.field(field), .tokenMatches, .value(value)))
    case ("NEAR", .location(let point), let field?):
      let radius = filter.distance ?? .greatestFiniteMagnitude
      self = .comparison(PredicateComparison(.distance(field: field, from: point), .less, .value(.double(radius))))
    case (let word, _, let field?):
      if let comparison = PredicateComparison(field, word, value) {
        self = .comparison(comparison)
      } else if word.hasPrefix("NOT_"), let comparison = PredicateComparison(field, word.dropFirst(4), value) {
        self = .not(.comparison(comparison))
      } else {
        return nil
      }
    default: return nil
    }
  }
}
