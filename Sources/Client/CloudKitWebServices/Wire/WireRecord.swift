package import JSONText

/// A record in its wire encoding. Replies contain all keys; requests only the name, type, tag and fields.
package struct WireRecord: Hashable, Sendable {
  package var recordName: String
  /// The record type; missing on tombstones and sparse records.
  package var recordType: String?
  package var recordChangeTag: String?
  package var fields: [String: FieldValue]
  /// The fields to write as explicit nulls. Decoding never fills it, because null and missing are the same in replies.
  package var clearedFields: Set<String>
  /// The zone, if the reply names it; otherwise it is the zone of the request.
  package var zoneID: WireZoneID?
  package var created: WireStamp?
  package var modified: WireStamp?
  package var deleted: Bool
  package var parent: WireRecordName?
  /// Whether the parent is written as an explicit null, which detaches the record. Decoding never sets it.
  package var clearsParent = false
  package var shortGUID: String?
  package var share: WireReference?
  package var sharing: WireSharing?

  /// The type of shares.
  package static let shareType = "cloudkit.share"

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

/// The encoding `{"recordName": …}` of parents.
package struct WireRecordName: Hashable, Sendable {
  package var recordName: String

  package init(recordName: String) { self.recordName = recordName }
}

/// The time and user of a record's creation or modification.
package struct WireStamp: Hashable, Sendable {
  /// Milliseconds since 1970.
  package var timestamp: Int64
  package var userRecordName: String?
  package var deviceID: String?

  package init(timestamp: Int64, userRecordName: String? = nil) {
    self.timestamp = timestamp
    self.userRecordName = userRecordName
  }
}

extension WireRecord: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    guard let record = try Self.unlessFailure(&json) else {
      throw json.failure("an error instead of a record", at: start)
    }
    self = record
  }

  /// Decodes a record; nil if it is an error, which is any object with `serverErrorCode` (reference 2.5).
  ///
  /// Its members are not visited as those of other objects are: a page has hundreds of records, and a visit for each of
  /// their keys takes 1.4 times as long.
  package static func unlessFailure(_ json: inout JSONReader) throws(JSONError) -> WireRecord? {
    let start = json.offset
    var record = WireRecord(recordName: "")
    var recordName: String?
    var fields: [String: FieldValue]?
    var deleted: Bool?
    var errorCode: String?
    var sharing: WireSharing?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordName": try json.read(into: &recordName)
      case "recordType": try json.read(into: &record.recordType)
      case "recordChangeTag": try json.read(into: &record.recordChangeTag)
      case "fields": try json.read(into: &fields)
      case "zoneID": try json.read(into: &record.zoneID)
      case "created": try json.read(into: &record.created)
      case "modified": try json.read(into: &record.modified)
      case "deleted": try json.read(into: &deleted)
      case "parent": try json.read(into: &record.parent)
      case "shortGUID": try json.read(into: &record.shortGUID)
      case "share": try json.read(into: &record.share)
      case "serverErrorCode": try json.read(into: &errorCode)
      // In every record.
      case "pluginFields": try json.skip()
      default:
        var read = sharing ?? WireSharing()
        if try ReadingMembers.read(key, of: &read, &json) { sharing = read } else { try json.skip() }
      }
    }
    guard errorCode == nil else { return nil }
    guard let recordName else { throw json.failure("a record without a name", at: start) }
    record.recordName = recordName
    record.fields = fields ?? [:]
    record.deleted = deleted ?? false
    record.sharing = sharing.flatMap { $0.isEmpty ? nil : $0 }
    return record
  }
}

extension WireRecord: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    if !fields.isEmpty || !clearedFields.isEmpty {
      json.key("fields")
      json.beginObject()
      for name in (fields.keys + clearedFields.filter { fields[$0] == nil }).sorted() {
        json.key(name)
        if let value = fields[name] { value.write(to: &json) } else { Self.writeCleared(to: &json) }
      }
      json.endObject()
    }
    json.member("parent", parent)
    if clearsParent, parent == nil {
      json.key("parent")
      json.null()
    }
    json.member("recordChangeTag", recordChangeTag)
    json.member("recordName", recordName)
    json.member("recordType", recordType)
    json.member("zoneID", zoneID)
    sharing?.writeMembers(to: &json)
    json.endObject()
  }

  /// `{"value": null}` clears a field.
  private static func writeCleared(to json: inout JSONWriter) {
    json.beginObject()
    json.key("value")
    json.null()
    json.endObject()
  }
}

extension WireRecord: WireItem {
  package static var list: StaticString { "records" }
  package static func id(of error: WireItemError) -> String? { error.recordName }
  package var id: String? { recordName }

  package consuming func result() -> WireResult<Self> {
    if deleted { return .deleted(recordName, type: recordType) }
    if let misfit { return .failure(recordName, misfit) }
    return .item(self)
  }

  /// The error of a record with a value that does not fit its type. Such a record must not replace a known one.
  private var misfit: WebServicesError? {
    guard fields.values.contains(where: { $0.misfitType != nil }) else { return nil }
    let names = fields.filter { $0.value.misfitType != nil }.keys.sorted()
    let (name, type) = (names[0], fields[names[0]]?.misfitType ?? "")
    return WebServicesError(
      .unexpectedServerResponse,
      "the value of field '\(WebServicesError.bounded(name, 100))' does not fit its type \(type)",
      effect: .unknown
    )
  }
}
