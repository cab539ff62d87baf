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

  private func conditions(_ zone: WireZoneID) throws(PredicateFailure) -> [WireFilter] {
    switch self {
    case .constant(true): return []
    case .constant(false): throw unable("CloudKit has no filter that matches no record")
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
    PredicateFailure(reason).about(PredicateText(self, values: .hidden).text)
  }
}

extension PredicateComparison {
  fileprivate func filters(_ zone: WireZoneID, negated: Bool) throws(PredicateFailure) -> [WireFilter] {
    do throws(PredicateFailure) {
      switch (left, right) {
      case (.distance(let field, let place), .value(let radius)):
        return [try near(field, place, radius, negated: negated)]
      case (.distance, _), (_, .distance): throw PredicateFailure("a distance must be compared with a number of metres")
      case (.null, _), (_, .null): throw PredicateFailure("CloudKit cannot compare with nil")
      case (.record, .value(let value)): return [try tokens(.wholeRecord, value, negated: negated)]
      case (.record, _), (_, .record): throw PredicateFailure("SELF: only a search for words can use the whole record")
      case (.field(let field), .value(let value)):
        let name = WireFieldName(framework: field)
        if comparator == .tokenMatches { return [try tokens(name, value, negated: negated)] }
        return try filters(name, value, zone, negated: negated)
      case (.value, .field): return try turned().filters(zone, negated: negated)
      case (.field, .field): throw PredicateFailure("two fields cannot be compared with each other")
      case (.value, .value): throw PredicateFailure("two values cannot be compared without a field")
      }
    } catch {
      let node = PredicateNode.comparison(self)
      throw error.about(PredicateText(negated ? .not(node) : node, values: .hidden).text)
    }
  }

  /// The Web Services comparator and its negation, by quantifier, operator, and whether the value is a list.
  private var comparators: (String, denied: String?)? {
    let isList = if case .value(.list) = right { true } else { false }
    switch (quantifier, comparator, isList) {
    case (nil, .equal, false): return ("EQUALS", "NOT_EQUALS")
    case (nil, .notEqual, false): return ("NOT_EQUALS", "EQUALS")
    case (nil, .less, false): return ("LESS_THAN", "GREATER_THAN_OR_EQUALS")
    case (nil, .lessOrEqual, false): return ("LESS_THAN_OR_EQUALS", "GREATER_THAN")
    case (nil, .greater, false): return ("GREATER_THAN", "LESS_THAN_OR_EQUALS")
    case (nil, .greaterOrEqual, false): return ("GREATER_THAN_OR_EQUALS", "LESS_THAN")
    case (nil, .in, true): return ("IN", "NOT_IN")
    case (nil, .beginsWith, false): return ("BEGINS_WITH", "NOT_BEGINS_WITH")
    case (nil, .contains, false), (.any, .equal, false): return ("LIST_CONTAINS", "NOT_LIST_CONTAINS")
    case (nil, .contains, true): return ("LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL")
    case (.any, .in, true): return ("LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY")
    case (.any, .beginsWith, false): return ("LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH")
    default: return nil
    }
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
      guard case .list(_, let bounds) = value, bounds.count == 2 else { throw PredicateFailure("it needs two bounds") }
      var (lower, upper) = (self, self)
      (lower.comparator, lower.right) = (.greaterOrEqual, .value(bounds[0]))
      (upper.comparator, upper.right) = (.lessOrEqual, .value(bounds[1]))
      return try lower.filters(name, bounds[0], zone, negated: false)
        + upper.filters(name, bounds[1], zone, negated: false)
    }
    guard let comparators else { throw PredicateFailure(reason(for: value)) }
    try check(name, value)
    guard let comparator = negated ? comparators.denied : comparators.0 else {
      throw PredicateFailure("CloudKit cannot negate this comparison")
    }
    return [
      WireFilter(name, comparator, value.asOperand(of: name, beginning: self.comparator == .beginsWith, in: zone))
    ]
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
  func turned() throws(PredicateFailure) -> PredicateComparison {
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
      // ANY {1, 2} == a
      case (.any, .equal) where isList: (nil, .in)
      default: nil
      }
    guard let (quantifier, comparator) = comparators else { throw PredicateFailure("the field must come first") }
    return PredicateComparison(
      quantifier: quantifier,
      left: right,
      comparator: comparator,
      options: options,
      right: left
    )
  }

  private func near(
    _ field: String,
    _ place: WireLocation,
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
    let name = WireFieldName(framework: field)
    guard name.systemType == nil else { throw PredicateFailure("the field is not a location") }
    return WireFilter(name, "NEAR", .location(place), distance: metres)
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

extension FieldValue {
  /// Returns the value in its filter encoding. References omit the query's own zone. A record name compared with a
  /// system reference field becomes a reference, unless the comparison is BEGINSWITH.
  fileprivate func asOperand(of name: WireFieldName, beginning: Bool, in zone: WireZoneID) -> FieldValue {
    let naming = name.systemType == .reference && !beginning
    switch self {
    case .reference(let reference):
      return .reference(
        WireReference(
          recordName: reference.recordName,
          zoneID: reference.zoneID == zone ? nil : reference.zoneID,
          action: nil
        )
      )
    case .string(let recordName) where naming: return .reference(WireReference(recordName: recordName, action: nil))
    case .list(let type, let elements) where type == .reference || (type == .string && naming):
      return .list(.reference, elements.map { $0.asOperand(of: name, beginning: beginning, in: zone) })
    default: return self
    }
  }
}
