public import Foundation

/// A record's identity: its name and its zone. Compared by value.
///
/// Use it by its name `CKRecord.ID`. A name is unique within its zone, across record types. CloudKit takes up to 255
/// ASCII characters that do not begin with an underscore; the server checks that, not this class.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// The record's name.
  public let recordName: String
  /// The zone that the record lies in.
  public let zoneID: CKRecordZoneID

  /// Names a record. Without a name it gets a new UUID, without a zone it lies in the default zone.
  public init(recordName: String = UUID().uuidString, zoneID: CKRecordZoneID = .default) {
    self.recordName = recordName
    self.zoneID = zoneID
  }

  /// Reads an archived identifier; nil where its name or zone is missing.
  public init?(coder: NSCoder) {
    guard
      let recordName = coder.string(forKey: ArchiveKey.recordName),
      let zoneID = coder.object(CKRecordZoneID.self, forKey: ArchiveKey.zoneID)
    else { return nil }
    self.recordName = recordName
    self.zoneID = zoneID
  }

  /// Archives the name and the zone.
  public func encode(with coder: NSCoder) {
    coder.encode(NSString(string: recordName), forKey: ArchiveKey.recordName)
    coder.encode(zoneID, forKey: ArchiveKey.zoneID)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The identifier itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object names the same record.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKRecordID else { return false }
    return recordName == other.recordName && zoneID.isEqual(other.zoneID)
  }

  /// Equal for equal identifiers.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(recordName)
    hasher.combine(zoneID)
    return hasher.finalize()
  }

  /// Name and zone.
  public override var description: String { "<CKRecordID \(recordName) in \(zoneID.zoneName):\(zoneID.ownerName)>" }

  private enum ArchiveKey {
    static let recordName = "RecordName"
    static let zoneID = "ZoneID"
  }
}
