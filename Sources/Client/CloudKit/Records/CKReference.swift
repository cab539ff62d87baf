public import Foundation

/// The effect on a record when the target of its reference is deleted.
public enum CKReferenceAction: UInt, Sendable {
  /// No effect. The reference then has no target.
  case none = 0
  /// The referring record is deleted too. At most 750 records may refer to one target this way.
  case deleteSelf = 1
  /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
  @available(*, unavailable) case _unknown = 1_000
}

/// A reference from a field of one record to another record of the same zone. Compared by value.
///
/// Use it by its name `CKRecord.Reference`.
public final class CKReference: NSObject, CKArchivable, CKImmutable, __CKRecordObjCValue, Sendable {
  /// The ID of the target record.
  public let recordID: CKRecordID
  /// The effect on the referring record when the target is deleted.
  public let action: CKReferenceAction

  /// The action in its wire encoding. The server also has `VALIDATE`, which Apple's enum lacks and which must be kept
  /// when the reference is written back.
  package let wireAction: String

  /// Makes a reference to a record by its ID.
  public init(recordID: CKRecordID, action: CKReferenceAction) {
    self.recordID = recordID
    self.action = action
    wireAction = action == .deleteSelf ? "DELETE_SELF" : "NONE"
  }

  /// Makes a reference to a record.
  public convenience init(record: CKRecord, action: CKReferenceAction) {
    self.init(recordID: record.recordID, action: action)
  }

  private init(recordID: CKRecordID, wireAction: String) {
    self.recordID = recordID
    self.wireAction = wireAction
    action = wireAction == "DELETE_SELF" ? .deleteSelf : .none
  }

  /// Reads an archived reference; nil if its target is missing.
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

  /// Whether the other object is a reference to the same record with the same action.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKReference else { return false }
    return recordID.isEqual(other.recordID) && wireAction == other.wireAction
  }

  /// A hash value that is the same for equal references.
  public override var hash: Int { Hasher.hash(recordID, wireAction) }

  /// The target's name and zone.
  public override var description: String { "<CKReference to \(recordID)>" }

  /// The archive keys. The first two are Apple's.
  private enum ArchiveKey {
    static let recordID = "recordID"
    static let action = "referenceAction"
    static let wireAction = "wireReferenceAction"
  }
}

extension CKReference {
  /// Returns the reference in a zone if its ID was made without one, because references do not leave a zone.
  package func placed(in zoneID: CKRecordZoneID) -> CKReference {
    guard recordID.zoneID == .default, zoneID != .default else { return self }
    return CKReference(
      recordID: CKRecordID(recordName: recordID.recordName, zoneID: zoneID),
      wireAction: wireAction
    )
  }

  /// Makes a reference from its wire encoding.
  ///
  /// - Parameter zoneID: The referring record's zone, which the encoding omits or names with its owner's real name.
  convenience init(wire: WireReference, zoneID: CKRecordZoneID) {
    var target = zoneID
    if let named = wire.zoneID, named.zoneName != zoneID.zoneName || named.owner(in: zoneID) != zoneID.ownerName {
      target = CKRecordZoneID(zoneName: named.zoneName, ownerName: named.owner(in: zoneID))
    }
    self.init(recordID: CKRecordID(recordName: wire.recordName, zoneID: target), wireAction: wire.action ?? "NONE")
  }

  /// Returns the wire encoding, with a zone only if it is not the referring record's.
  func wire(from zoneID: CKRecordZoneID) -> WireReference {
    WireReference(
      recordName: recordID.recordName,
      zoneID: recordID.zoneID.isEqual(zoneID) ? nil : recordID.zoneID.wire,
      action: wireAction
    )
  }
}

extension WireZoneID {
  /// Returns the owner. References stay within the zones of one owner, and the current user's zones use the
  /// placeholder.
  fileprivate func owner(in zoneID: CKRecordZoneID) -> String {
    zoneID.ownerName == CKCurrentUserDefaultName ? CKCurrentUserDefaultName : ownerRecordName ?? zoneID.ownerName
  }
}
