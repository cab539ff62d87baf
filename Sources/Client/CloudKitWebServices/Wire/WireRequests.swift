package import JSONText

/// One operation of `records/modify`.
package struct WireRecordOperation: Hashable, Sendable {
  /// The seven operation types of Web Services.
  package enum Kind: String, Hashable, Sendable {
    case create, update, forceUpdate, replace, forceReplace, delete, forceDelete
  }

  package var operationType: Kind
  package var record: WireRecord

  package init(_ operationType: Kind, _ record: WireRecord) {
    self.operationType = operationType
    self.record = record
  }
}

extension WireRecordOperation: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object {
      $0.member("operationType", operationType.rawValue)
      $0.member("record", record)
    }
  }
}

/// A query: a record type, filters that must all match, and sort keys in order.
package struct WireQuery: Hashable, Sendable {
  package var recordType: String
  package var filterBy: [WireFilter]
  package var sortBy: [WireSort]

  package init(recordType: String, filterBy: [WireFilter] = [], sortBy: [WireSort] = []) {
    self.recordType = recordType
    self.filterBy = filterBy
    self.sortBy = sortBy
  }
}

extension WireQuery: WireObject {
  package init() { self.init(recordType: "") }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("filterBy", &filterBy, default: [])
    try json("recordType", &recordType)
    try json("sortBy", &sortBy, default: [])
  }
}

/// A custom field or a system field.
package enum WireFieldName: Hashable, Sendable {
  case field(String)
  /// `recordName`, `createdTimestamp`, `modifiedTimestamp`, `createdUserRecordName`, `modifiedUserRecordName`, …
  case system(String)
  /// All text fields, in a token filter, which names no field.
  case wholeRecord

  /// The name of the custom field, if it is one.
  fileprivate var field: String? { if case .field(let name) = self { name } else { nil } }
  /// The name of the system field, if it is one.
  fileprivate var system: String? { if case .system(let name) = self { name } else { nil } }

  fileprivate init(field: String?, system: String?) {
    self = field.map(WireFieldName.field) ?? system.map(WireFieldName.system) ?? .wholeRecord
  }
}

/// A filter of a query. Filters are joined with AND; there is no OR.
package struct WireFilter: Hashable, Sendable {
  package var comparator: String
  package var name: WireFieldName
  package var value: FieldValue
  /// The radius in metres, for `NEAR`.
  package var distance: Double?

  package init(_ name: WireFieldName, _ comparator: String, _ value: FieldValue, distance: Double? = nil) {
    self.name = name
    self.comparator = comparator
    self.value = value
    self.distance = distance
  }
}

extension WireFilter: WireObject {
  package init() { self.init(.wholeRecord, "", .string("")) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    var (field, system) = (name.field, name.system)
    try json("comparator", &comparator)
    try json("distance", &distance)
    try json("fieldName", &field)
    try json("fieldValue", &value)
    try json("systemFieldName", &system)
    name = WireFieldName(field: field, system: system)
  }
}

/// One sort key.
package struct WireSort: Hashable, Sendable {
  package var name: WireFieldName
  package var ascending: Bool
  /// The location from which a LOCATION field's distance is sorted.
  package var relativeLocation: WireLocation?

  package init(_ name: WireFieldName, ascending: Bool) {
    self.name = name
    self.ascending = ascending
  }
}

extension WireSort: WireObject {
  package init() { self.init(.wholeRecord, ascending: true) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    var (field, system) = (name.field, name.system)
    var point = relativeLocation.map(FieldValue.location)
    try json("ascending", &ascending, default: true)
    try json("fieldName", &field)
    try json("relativeLocation", &point)
    try json("systemFieldName", &system)
    name = WireFieldName(field: field, system: system)
    relativeLocation = if case .location(let location) = point { location } else { nil }
  }
}

/// Creates or deletes a zone.
package struct WireZoneOperation: Hashable, Sendable, JSONWritable {
  /// The action to apply to the zone.
  package enum Kind: String, Hashable, Sendable { case create, delete }

  package var operationType: Kind
  package var zone: WireZone
  /// The identifier of the zone.
  package var id: WireZoneID { zone.zoneID }

  package init(_ operationType: Kind, _ zoneID: WireZoneID) {
    self.operationType = operationType
    self.zone = WireZone(zoneID: zoneID)
  }

  package func write(to json: inout JSONWriter) {
    json.object {
      $0.member("operationType", operationType.rawValue)
      $0.member("zone", zone)
    }
  }
}
