/// One operation of `records/modify`.
package struct WireRecordOperation: Hashable, Sendable, Encodable {
  /// The seven operation types of Web Services.
  package enum Kind: String, Hashable, Sendable, Encodable {
    case create, update, forceUpdate, replace, forceReplace, delete, forceDelete
  }

  package var operationType: Kind
  package var record: WireRecord

  package init(_ operationType: Kind, _ record: WireRecord) {
    self.operationType = operationType
    self.record = record
  }
}

/// A query: one record type, filters that all hold, sort keys in order.
package struct WireQuery: Hashable, Sendable, Encodable {
  package var recordType: String
  package var filterBy: [WireFilter]
  package var sortBy: [WireSort]

  package init(recordType: String, filterBy: [WireFilter] = [], sortBy: [WireSort] = []) {
    self.recordType = recordType
    self.filterBy = filterBy
    self.sortBy = sortBy
  }
}

/// A field of the record's own, or one that the system keeps.
package enum WireFieldName: Hashable, Sendable {
  case field(String)
  /// `recordName`, `createdTimestamp`, `modifiedTimestamp`, `createdUserRecordName`, `modifiedUserRecordName`, …
  case system(String)
  /// All fields that hold text, in a filter for tokens: it names none.
  case wholeRecord
}

/// One filter; a query's filters are ANDed, there is no OR.
package struct WireFilter: Hashable, Sendable, Encodable {
  package var comparator: String
  package var name: WireFieldName
  package var value: FieldValue
  /// Metres, with `NEAR`.
  package var distance: Double?

  package init(_ name: WireFieldName, _ comparator: String, _ value: FieldValue, distance: Double? = nil) {
    self.name = name
    self.comparator = comparator
    self.value = value
    self.distance = distance
  }

  private enum Key: String, CodingKey { case comparator, fieldName, systemFieldName, fieldValue, distance }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(comparator, forKey: .comparator)
    switch name {
    case .field(let name): try container.encode(name, forKey: .fieldName)
    case .system(let name): try container.encode(name, forKey: .systemFieldName)
    case .wholeRecord: break
    }
    try container.encode(value, forKey: .fieldValue)
    try container.encodeIfPresent(distance, forKey: .distance)
  }
}

/// One sort key.
package struct WireSort: Hashable, Sendable, Encodable {
  package var name: WireFieldName
  package var ascending: Bool
  /// Where a LOCATION field sorts by its distance from here.
  package var relativeLocation: WireLocation?

  package init(_ name: WireFieldName, ascending: Bool) {
    self.name = name
    self.ascending = ascending
  }

  private enum Key: String, CodingKey { case fieldName, systemFieldName, ascending, relativeLocation }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch name {
    case .field(let name): try container.encode(name, forKey: .fieldName)
    case .system(let name): try container.encode(name, forKey: .systemFieldName)
    case .wholeRecord: break
    }
    try container.encode(ascending, forKey: .ascending)
    try container.encodeIfPresent(relativeLocation.map(FieldValue.location), forKey: .relativeLocation)
  }
}

/// Creates or deletes a zone.
package struct WireZoneOperation: Hashable, Sendable, Encodable {
  /// What to do with the zone.
  package enum Kind: String, Hashable, Sendable, Encodable { case create, delete }

  package var operationType: Kind
  package var zone: WireZone

  package init(_ operationType: Kind, _ zoneID: WireZoneID) {
    self.operationType = operationType
    self.zone = WireZone(zoneID: zoneID)
  }
}
