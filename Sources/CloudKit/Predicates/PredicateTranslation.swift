internal import Foundation

extension WireFieldName {
  /// The fields that the system keeps, under the framework's names, the schema's and the wire's (reference 3.4).
  static let system: [String: String] = [
    "recordID": "recordName", "recordID.recordName": "recordName", "recordName": "recordName",
    "___recordID": "recordName",
    "creationDate": "createdTimestamp", "createdTimestamp": "createdTimestamp", "___createTime": "createdTimestamp",
    "modificationDate": "modifiedTimestamp", "modifiedTimestamp": "modifiedTimestamp",
    "___modTime": "modifiedTimestamp",
    "creatorUserRecordID": "createdUserRecordName", "createdUserRecordName": "createdUserRecordName",
    "___createdBy": "createdUserRecordName",
    "lastModifiedUserRecordID": "modifiedUserRecordName", "modifiedUserRecordName": "modifiedUserRecordName",
    "___modifiedBy": "modifiedUserRecordName",
    "share": "share", "___share": "share", "parent": "parent", "___parent": "parent",
  ]

  /// The wire's name for a name of the framework.
  init(framework name: String) {
    self = Self.system[name].map(WireFieldName.system) ?? .field(name)
  }

  /// Whether its values are references on the wire although callers compare it with names.
  fileprivate var holdsReference: Bool {
    if case .system(let name) = self { !name.hasSuffix("Timestamp") } else { false }
  }
}

extension PredicateNode {
  /// The filters that together say the same, which the server joins with AND.
  ///
  /// - Parameter zoneID: The zone of the query: references within it need not name it.
  /// - Throws: `CKError.invalidArguments` naming the part that the server cannot do.
  func filters(zoneID: CKRecordZoneID) throws(CKError) -> [WireFilter] {
    switch self {
    case .everything: return []
    case .and(let parts):
      var filters: [WireFilter] = []
      for part in parts { filters += try part.filters(zoneID: zoneID) }
      return filters
    case .comparison(let comparison): return try comparison.filters(zoneID: zoneID)
    case .unusable(let reason): throw .invalidArguments("The predicate cannot be used in a query: \(reason).")
    }
  }
}

extension PredicateComparison {
  fileprivate func filters(zoneID: CKRecordZoneID) throws(CKError) -> [WireFilter] {
    switch (left, right) {
    case (.distance(let field, let place), .value(let radius?)): return [try near(field, place, radius, zoneID)]
    case (.distance, _), (_, .distance): throw unusable("a distance is compared with < and a number of metres")
    case (.field(let field), .value(let value?)):
      let name = WireFieldName(framework: field)
      return try filters(name, try wireValue(value, for: name, key: field, zoneID: zoneID))
    case (.value(let value?), .field(let field)): return [try flipped(field, value, zoneID)]
    case (.field, .value(nil)), (.value(nil), .field): throw unusable("nothing is compared with nil on the server")
    case (.field(let one), .field(let other)): throw unusable("\(one) and \(other) are two fields, no value")
    case (.value, .value): throw unusable("two values are compared, no field")
    }
  }

  private func filters(_ name: WireFieldName, _ value: FieldValue) throws(CKError) -> [WireFilter] {
    let isList = if case .list = value { true } else { false }
    switch (any, comparator, isList) {
    case (false, .equal, false): return [WireFilter(name, "EQUALS", value)]
    case (false, .notEqual, false): return [WireFilter(name, "NOT_EQUALS", value)]
    case (false, .less, false): return [WireFilter(name, "LESS_THAN", value)]
    case (false, .lessOrEqual, false): return [WireFilter(name, "LESS_THAN_OR_EQUALS", value)]
    case (false, .greater, false): return [WireFilter(name, "GREATER_THAN", value)]
    case (false, .greaterOrEqual, false): return [WireFilter(name, "GREATER_THAN_OR_EQUALS", value)]
    case (false, .beginsWith, false): return [WireFilter(name, "BEGINS_WITH", value)]
    case (true, .beginsWith, false): return [WireFilter(name, "LIST_MEMBER_BEGINS_WITH", value)]
    case (false, .contains, false), (true, .equal, false): return [WireFilter(name, "LIST_CONTAINS", value)]
    case (false, .contains, true): return [WireFilter(name, "LIST_CONTAINS_ALL", value)]
    case (true, .in, true): return [WireFilter(name, "LIST_CONTAINS_ANY", value)]
    // Without the type of its elements a list filter is refused, or dropped, which would find every record.
    case (_, .in, true) where value.wireType == "UNKNOWN_LIST": throw unusable("the list is empty")
    case (false, .in, true): return [WireFilter(name, "IN", value)]
    case (false, .between, true):
      guard case .list(_, let bounds) = value, bounds.count == 2 else { throw unusable("it takes two bounds") }
      return [
        WireFilter(name, "GREATER_THAN_OR_EQUALS", bounds[0]), WireFilter(name, "LESS_THAN_OR_EQUALS", bounds[1]),
      ]
    case (_, .in, false), (_, .between, false): throw unusable("the value is no list")
    case (_, _, true): throw unusable("a list is compared with IN")
    case (true, _, false): throw unusable("ANY goes with ==, IN and BEGINSWITH")
    }
  }

  /// `value operator field`: the same the other way round.
  private func flipped(_ field: String, _ value: StoredField, _ zoneID: CKRecordZoneID) throws(CKError) -> WireFilter {
    let mirrored: [Operator: Operator] = [
      .equal: .equal, .notEqual: .notEqual, .less: .greater, .lessOrEqual: .greaterOrEqual, .greater: .less,
      .greaterOrEqual: .lessOrEqual, .in: .contains,
    ]
    guard let comparator = mirrored[comparator] else { throw unusable("the field comes first") }
    let turned = PredicateComparison(any: any, left: .field(field), comparator: comparator, right: .value(value))
    return try turned.filters(zoneID: zoneID)[0]
  }

  private func near(
    _ field: String,
    _ place: StoredField,
    _ radius: StoredField,
    _ zoneID: CKRecordZoneID
  ) throws(CKError) -> WireFilter {
    guard comparator == .less || comparator == .lessOrEqual, let metres = radius.object as? NSNumber else {
      throw unusable("a distance is compared with < and a number of metres")
    }
    let value = try place.wireValue(key: field, zoneID: zoneID)
    return WireFilter(WireFieldName(framework: field), "NEAR", value, distance: metres.doubleValue)
  }

  private func wireValue(
    _ field: StoredField,
    for name: WireFieldName,
    key: String,
    zoneID: CKRecordZoneID
  ) throws(CKError) -> FieldValue {
    let value = try field.wireValue(key: key, zoneID: zoneID)
    switch value {
    case .asset, .other: throw unusable("no filter takes a \(value.wireType)")
    case .location where comparator != .less: throw unusable("a place is compared by its distance")
    // The beginning of a name is a text, no record to refer to.
    default: return value.asFilterReference(naming: name.holdsReference && comparator != .beginsWith)
    }
  }

  private func unusable(_ reason: String) -> CKError {
    let (quantifier, name) = (any ? "ANY " : "", [left, right].compactMap(\.fieldName).first ?? "value")
    return .invalidArguments(
      "The predicate cannot be used in a query: \(quantifier)\(name) \(comparator.rawValue): \(reason)."
    )
  }
}

extension PredicateComparison.Operand {
  fileprivate var fieldName: String? {
    switch self {
    case .field(let name), .distance(let name, _): name
    case .value: nil
    }
  }
}

extension FieldValue {
  /// The value as filters spell it: references without an action and, for the system's fields, instead of names.
  fileprivate func asFilterReference(naming: Bool) -> FieldValue {
    switch self {
    case .reference(let reference):
      return .reference(WireReference(recordName: reference.recordName, zoneID: reference.zoneID, action: nil))
    case .string(let name) where naming: return .reference(WireReference(recordName: name, action: nil))
    case .list(let type, let elements) where type == .reference || (type == .string && naming):
      return .list(.reference, elements.map { $0.asFilterReference(naming: naming) })
    default: return self
    }
  }
}
