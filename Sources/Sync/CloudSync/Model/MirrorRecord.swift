package import CloudKit

/// A record in the server's last known version.
package struct MirrorRecord: Hashable, Sendable {
  package var key: RecordKey
  package var type: String
  package var changeTag: String
  package var fields: [String: FieldValue]
  /// Milliseconds since 1970.
  package var createdAt: Int64?
  package var modifiedAt: Int64?
  package var modifiedBy: String?
  package var createdBy: String?
  /// The record name of its share, in the same zone; nil if it is not the root of one.
  package var share: String?
}

extension MirrorRecord {
  /// Nil if the record in the reply is incomplete.
  package init?(_ wire: WireRecord, in zone: ZoneKey) {
    guard let type = wire.recordType, let tag = wire.recordChangeTag else { return nil }
    self.init(
      key: RecordKey(zone, wire.recordName),
      type: type,
      changeTag: tag,
      fields: wire.fieldsWithParent(in: zone),
      createdAt: wire.created?.timestamp,
      modifiedAt: wire.modified?.timestamp,
      modifiedBy: wire.modified?.userRecordName,
      createdBy: wire.created?.userRecordName,
      share: wire.share?.recordName
    )
  }
}
