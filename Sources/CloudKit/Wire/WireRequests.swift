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
    json.beginObject()
    json.member("operationType", operationType.rawValue)
    json.member("record", record)
    json.endObject()
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

extension WireQuery: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("filterBy", filterBy)
    json.member("recordType", recordType)
    json.member("sortBy", sortBy)
    json.endObject()
  }
}

/// A custom field or a system field.
package enum WireFieldName: Hashable, Sendable {
  case field(String)
  /// `recordName`, `createdTimestamp`, `modifiedTimestamp`, `createdUserRecordName`, `modifiedUserRecordName`, …
  case system(String)
  /// All text fields, in a token filter, which names no field.
  case wholeRecord
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

extension WireFilter: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("comparator", comparator)
    json.member("distance", distance)
    if case .field(let name) = name { json.member("fieldName", name) }
    json.member("fieldValue", value)
    if case .system(let name) = name { json.member("systemFieldName", name) }
    json.endObject()
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

extension WireSort: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("ascending", ascending)
    if case .field(let name) = name { json.member("fieldName", name) }
    json.member("relativeLocation", relativeLocation.map(FieldValue.location))
    if case .system(let name) = name { json.member("systemFieldName", name) }
    json.endObject()
  }
}

/// Creates or deletes a zone.
package struct WireZoneOperation: Hashable, Sendable, Encodable, JSONWritable {
  /// The action to apply to the zone.
  package enum Kind: String, Hashable, Sendable, Encodable { case create, delete }

  package var operationType: Kind
  package var zone: WireZone

  package init(_ operationType: Kind, _ zoneID: WireZoneID) {
    self.operationType = operationType
    self.zone = WireZone(zoneID: zoneID)
  }
}
