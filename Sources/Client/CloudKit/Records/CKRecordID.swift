public import Foundation

/// The identifier of a record: its name and its zone. Compared by value.
///
/// Use it by its name `CKRecord.ID`. A name is unique within its zone, across record types. CloudKit accepts up to 255
/// ASCII characters that do not start with an underscore; the server checks this, this class does not.
public final class CKRecordID: NSObject, CKArchivable, CKImmutable, Sendable {
  /// The record's name.
  public let recordName: String
  /// The record's zone.
  public let zoneID: CKRecordZoneID

  /// Makes an identifier. The default is a new UUID in the default zone.
  public init(recordName: String = UUID().uuidString, zoneID: CKRecordZoneID = .default) {
    self.recordName = recordName
    self.zoneID = zoneID
  }

  /// Reads an archived identifier; nil if its name or zone is missing.
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

  /// Whether the other object names the same record.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKRecordID else { return false }
    return recordName == other.recordName && zoneID.isEqual(other.zoneID)
  }

  /// A hash value that is the same for equal identifiers.
  public override var hash: Int { Hasher.hash(recordName, zoneID) }

  /// The name and zone.
  public override var description: String { "<CKRecordID \(recordName) in \(zoneID.zoneName):\(zoneID.ownerName)>" }

  private enum ArchiveKey {
    static let recordName = "RecordName"
    static let zoneID = "ZoneID"
  }
}
