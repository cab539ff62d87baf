internal import Foundation

extension PredicateNode {
  /// The filters that together say the same, which the server joins with AND.
  ///
  /// - Parameter zoneID: The zone of the query: references within it need not name it.
  /// - Throws: `CKError.invalidArguments` naming the part that the server cannot do.
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
    case .constant(false): throw unable("no query finds nothing")
    case .and(let parts):
      var filters: [WireFilter] = []
      for part in parts { filters += try part.conditions(zone) }
      return filters
    case .or: throw unable("OR: CloudKit joins conditions with AND, and has IN for several values of one field")
    case .not(.comparison(let comparison)): return try comparison.filters(zone, negated: true)
    case .not: throw unable("NOT: CloudKit negates single comparisons only")
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
      case (.distance, _), (_, .distance): throw PredicateFailure("a distance is compared with a number of metres")
      case (.null, _), (_, .null): throw PredicateFailure("nothing is compared with nil on the server")
      case (.record, .value(let value)): return [try tokens(.wholeRecord, value, negated: negated)]
      case (.record, _), (_, .record): throw PredicateFailure("SELF: the record as a whole is searched for words only")
      case (.field(let field), .value(let value)):
        let name = WireFieldName(framework: field)
        if comparator == .tokenMatches { return [try tokens(name, value, negated: negated)] }
        return try filters(name, value, zone, negated: negated)
      case (.value, .field): return try turned().filters(zone, negated: negated)
      case (.field, .field): throw PredicateFailure("two fields are compared, none with a value")
      case (.value, .value): throw PredicateFailure("two values are compared, no field")
      }
    } catch {
      let node = PredicateNode.comparison(self)
      throw error.about(PredicateText(negated ? .not(node) : node, values: .hidden).text)
    }
  }

  /// The comparator of Web Services and the one that denies it, by quantifier, operator, and whether the value is a list.
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
    guard !options.loosens else { throw PredicateFailure("CloudKit compares text letter by letter, without modifiers") }
    if quantifier == .noneOf {
      var affirmed = self
      affirmed.quantifier = .any
      return try affirmed.filters(name, value, zone, negated: !negated)
    }
    if comparator == .between, quantifier == nil, !negated {
      guard case .list(_, let bounds) = value, bounds.count == 2 else { throw PredicateFailure("it takes two bounds") }
      var (lower, upper) = (self, self)
      (lower.comparator, lower.right) = (.greaterOrEqual, .value(bounds[0]))
      (upper.comparator, upper.right) = (.lessOrEqual, .value(bounds[1]))
      return try lower.filters(name, bounds[0], zone, negated: false)
        + upper.filters(name, bounds[1], zone, negated: false)
    }
    guard let comparators else { throw PredicateFailure(reason(for: value)) }
    try check(name, value)
    guard let comparator = negated ? comparators.denied : comparators.0 else {
      throw PredicateFailure("CloudKit cannot negate it")
    }
    return [
      WireFilter(name, comparator, value.asOperand(of: name, beginning: self.comparator == .beginsWith, in: zone))
    ]
  }

  private func reason(for value: FieldValue) -> String {
    let isList = if case .list = value { true } else { false }
    return switch (quantifier, comparator) {
    case (.all, _): "ALL: CloudKit knows ANY only"
    case (_, .endsWith), (_, .like), (_, .matches): "\(comparator.rawValue): CloudKit matches beginnings of texts only"
    case (nil, .between): "CloudKit cannot negate BETWEEN"
    case (_, .in) where !isList: "the value is no list"
    case (nil, _) where isList: "a list is compared with IN or CONTAINS"
    default: "ANY goes with ==, IN and BEGINSWITH"
    }
  }

  /// What the server would refuse, or worse: a filter that it cannot read may be dropped, which finds every record.
  private func check(_ name: WireFieldName, _ value: FieldValue) throws(PredicateFailure) {
    let type: FieldType
    switch value {
    case .list(.unknown, _): throw PredicateFailure("the list is empty")
    case .list(let element, _): type = element
    default: type = FieldType(rawValue: value.wireType) ?? .unknown
    }
    switch (comparator, type) {
    case (_, .asset), (_, .unknown): throw PredicateFailure("no filter takes a \(value.wireType)")
    case (_, .location): throw PredicateFailure("a place is compared by its distance")
    case (.beginsWith, let type) where type != .string: throw PredicateFailure("it takes a text")
    case (.less, .bytes), (.lessOrEqual, .bytes), (.greater, .bytes), (.greaterOrEqual, .bytes):
      throw PredicateFailure("bytes have no order")
    default: break
    }
    guard let systemType = name.systemType else { return }
    guard quantifier == nil, comparator != .contains else { throw PredicateFailure("the field is no list") }
    guard type == systemType || (systemType == .reference && type == .string) else {
      throw PredicateFailure("the field is a \(systemType.rawValue), no \(type.rawValue)")
    }
  }

  /// `value operator field`: the same the other way round.
  private func turned() throws(PredicateFailure) -> PredicateComparison {
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
    guard let (quantifier, comparator) = comparators else { throw PredicateFailure("the field comes first") }
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
      throw PredicateFailure("CloudKit finds what is nearer than a distance, nothing else")
    }
    let metres: Double
    switch radius {
    case .double(let number): metres = number
    case .int64(let integer): metres = Double(integer)
    default: throw PredicateFailure("a distance is compared with a number of metres")
    }
    guard metres >= 0 else { throw PredicateFailure("a distance is not negative") }
    let name = WireFieldName(framework: field)
    guard name.systemType == nil else { throw PredicateFailure("the field is no place") }
    return WireFilter(name, "NEAR", .location(place), distance: metres)
  }

  private func tokens(
    _ name: WireFieldName,
    _ value: FieldValue,
    negated: Bool
  ) throws(PredicateFailure) -> WireFilter {
    guard quantifier == nil, comparator == .tokenMatches || comparator == .contains else {
      throw PredicateFailure("SELF: the record as a whole is searched for words only")
    }
    guard case .string = value else { throw PredicateFailure("words are searched for with a text") }
    guard name.systemType == nil else { throw PredicateFailure("the field is no text") }
    guard !negated else { throw PredicateFailure("CloudKit cannot negate a search for words") }
    return WireFilter(name, "CONTAINS_ALL_TOKENS", value)
  }
}

extension FieldValue {
  /// The value as filters spell it: a reference without the query's own zone and, for the system's fields, instead of a
  /// name, unless the name's beginning is meant.
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
