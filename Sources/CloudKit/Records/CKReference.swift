public import Foundation

/// What happens to a record when the one that it refers to is deleted.
public enum CKReferenceAction: UInt, Sendable {
  /// Nothing: the reference dangles.
  case none = 0
  /// The referring record is deleted too. At most 750 records may refer to one target this way.
  case deleteSelf = 1
}

/// A pointer from a field of one record to another record of the same zone. Compared by value.
///
/// Use it by its name `CKRecord.Reference`.
public final class CKReference: NSObject, NSSecureCoding, NSCopying, CKRecordValue, Sendable {
  /// The record that is referred to.
  public let recordID: CKRecordID
  /// What its deletion does to the referring record.
  public let action: CKReferenceAction

  /// The action in the wire's words: the server knows `VALIDATE`, which the framework's enumeration lacks and which must
  /// not be lost when the reference is written back.
  let wireAction: String

  /// Refers to a record by its identifier.
  public init(recordID: CKRecordID, action: CKReferenceAction) {
    self.recordID = recordID
    self.action = action
    wireAction = action == .deleteSelf ? "DELETE_SELF" : "NONE"
  }

  /// Refers to a record.
  public convenience init(record: CKRecord, action: CKReferenceAction) {
    self.init(recordID: record.recordID, action: action)
  }

  private init(recordID: CKRecordID, wireAction: String) {
    self.recordID = recordID
    self.wireAction = wireAction
    action = wireAction == "DELETE_SELF" ? .deleteSelf : .none
  }

  /// Reads an archived reference; nil where its target is missing.
  public init?(coder: NSCoder) {
    guard let recordID = coder.object(CKRecordID.self, forKey: ArchiveKey.recordID) else { return nil }
    let action = CKReferenceAction(rawValue: UInt(bitPattern: coder.decodeInteger(forKey: ArchiveKey.action))) ?? .none
    self.recordID = recordID
    self.action = action
    wireAction = coder.string(forKey: ArchiveKey.wireAction) ?? (action == .deleteSelf ? "DELETE_SELF" : "NONE")
  }

  /// Archives the target and the action.
  public func encode(with coder: NSCoder) {
    coder.encode(recordID, forKey: ArchiveKey.recordID)
    coder.encode(Int(action.rawValue), forKey: ArchiveKey.action)
    coder.encode(NSString(string: wireAction), forKey: ArchiveKey.wireAction)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The reference itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object refers to the same record with the same action.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKReference else { return false }
    return recordID.isEqual(other.recordID) && wireAction == other.wireAction
  }

  /// Equal for equal references.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(recordID)
    hasher.combine(wireAction)
    return hasher.finalize()
  }

  /// The target's name and zone.
  public override var description: String { "<CKReference to \(recordID)>" }

  /// The first two are Apple's.
  private enum ArchiveKey {
    static let recordID = "recordID"
    static let action = "referenceAction"
    static let wireAction = "wireReferenceAction"
  }
}

extension CKReference {
  /// The reference that an answer spells.
  ///
  /// - Parameter zoneID: The referring record's zone, which the wire leaves out, or names with its owner's real name.
  convenience init(wire: WireReference, zoneID: CKRecordZoneID) {
    var target = zoneID
    if let named = wire.zoneID, named.zoneName != zoneID.zoneName || named.owner(in: zoneID) != zoneID.ownerName {
      target = CKRecordZoneID(zoneName: named.zoneName, ownerName: named.owner(in: zoneID))
    }
    self.init(recordID: CKRecordID(recordName: wire.recordName, zoneID: target), wireAction: wire.action ?? "NONE")
  }

  /// The reference as requests spell it: with a zone only where it is not the referring record's.
  func wire(from zoneID: CKRecordZoneID) -> WireReference {
    WireReference(
      recordName: recordID.recordName,
      zoneID: recordID.zoneID.isEqual(zoneID) ? nil : recordID.zoneID.wire,
      action: wireAction
    )
  }
}

extension WireZoneID {
  /// References stay within one owner's zones, and a referring record of the current user's has the placeholder.
  fileprivate func owner(in zoneID: CKRecordZoneID) -> String {
    zoneID.ownerName == CKCurrentUserDefaultName ? CKCurrentUserDefaultName : ownerRecordName ?? zoneID.ownerName
  }
}
