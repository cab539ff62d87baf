/// A record as Web Services spell it, in answers (everything) and in requests (name, type, tag, fields).
package struct WireRecord: Hashable, Sendable {
  package var recordName: String
  /// Absent on tombstones and sparse records.
  package var recordType: String?
  package var recordChangeTag: String?
  package var fields: [String: FieldValue]
  /// Fields written as explicit nulls; never filled by an answer, where null and absent are the same.
  package var clearedFields: Set<String>
  /// The zone, where the answer names it; else that of the request.
  package var zoneID: WireZoneID?
  package var created: WireStamp?
  package var modified: WireStamp?
  package var deleted: Bool
  package var parent: WireRecordName?
  package var shortGUID: String?
  package var share: WireReference?
  package var sharing: WireSharing?

  package init(
    recordName: String,
    recordType: String? = nil,
    recordChangeTag: String? = nil,
    fields: [String: FieldValue] = [:],
    clearedFields: Set<String> = [],
    zoneID: WireZoneID? = nil
  ) {
    self.recordName = recordName
    self.recordType = recordType
    self.recordChangeTag = recordChangeTag
    self.fields = fields
    self.clearedFields = clearedFields
    self.zoneID = zoneID
    self.deleted = false
  }
}

/// `{"recordName": …}`, as parents are spelt.
package struct WireRecordName: Hashable, Sendable, Codable {
  package var recordName: String

  package init(recordName: String) { self.recordName = recordName }
}

/// When and by whom a record was created or modified.
package struct WireStamp: Hashable, Sendable, Codable {
  /// Milliseconds since 1970.
  package var timestamp: Int64
  package var userRecordName: String?
  package var deviceID: String?

  package init(timestamp: Int64, userRecordName: String? = nil) {
    self.timestamp = timestamp
    self.userRecordName = userRecordName
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    timestamp = try container.decode(LenientInt.self, forKey: .timestamp).value
    userRecordName = try container.decodeIfPresent(String.self, forKey: .userRecordName)
    deviceID = try container.decodeIfPresent(String.self, forKey: .deviceID)
  }
}

extension WireRecord: Codable {
  private enum Key: String, CodingKey {
    case recordName, recordType, recordChangeTag, fields, zoneID, created, modified, deleted, parent, shortGUID, share
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    recordName = try container.decode(String.self, forKey: .recordName)
    recordType = try container.decodeIfPresent(String.self, forKey: .recordType)
    recordChangeTag = try container.decodeIfPresent(String.self, forKey: .recordChangeTag)
    fields = try container.decodeIfPresent(PresentFields.self, forKey: .fields)?.fields ?? [:]
    clearedFields = []
    zoneID = try container.decodeIfPresent(WireZoneID.self, forKey: .zoneID)
    created = try container.decodeIfPresent(WireStamp.self, forKey: .created)
    modified = try container.decodeIfPresent(WireStamp.self, forKey: .modified)
    deleted = try container.decodeIfPresent(Bool.self, forKey: .deleted) ?? false
    parent = try container.decodeIfPresent(WireRecordName.self, forKey: .parent)
    shortGUID = try container.decodeIfPresent(String.self, forKey: .shortGUID)
    share = try container.decodeIfPresent(WireReference.self, forKey: .share)
    let sharing = try WireSharing(from: decoder)
    self.sharing = sharing.isEmpty ? nil : sharing
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(recordName, forKey: .recordName)
    try container.encodeIfPresent(recordType, forKey: .recordType)
    try container.encodeIfPresent(recordChangeTag, forKey: .recordChangeTag)
    if !fields.isEmpty || !clearedFields.isEmpty {
      var fieldContainer = container.nestedContainer(keyedBy: FieldKey.self, forKey: .fields)
      for (name, value) in fields { try fieldContainer.encode(value, forKey: FieldKey(name)) }
      for name in clearedFields where fields[name] == nil {
        try fieldContainer.encode(NullField(), forKey: FieldKey(name))
      }
    }
    try container.encodeIfPresent(zoneID, forKey: .zoneID)
    try container.encodeIfPresent(parent, forKey: .parent)
    try sharing?.encode(to: encoder)
  }
}

/// A dictionary of fields in which null-valued entries count as absent, as the server means them.
private struct PresentFields: Decodable {
  var fields: [String: FieldValue] = [:]

  private struct Probe: Decodable {
    var value: FieldValue?

    private enum Key: String, CodingKey { case value }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      guard container.contains(.value), try !container.decodeNil(forKey: .value) else { return }
      value = try FieldValue(from: decoder)
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: FieldKey.self)
    fields.reserveCapacity(container.allKeys.count)
    for key in container.allKeys { fields[key.stringValue] = try container.decode(Probe.self, forKey: key).value }
  }
}

/// `{"value": null}`: clears a field.
private struct NullField: Encodable {
  private enum Key: String, CodingKey { case value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeNil(forKey: .value)
  }
}

/// A field name as a coding key.
private struct FieldKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
