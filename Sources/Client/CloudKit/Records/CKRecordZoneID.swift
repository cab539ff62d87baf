public import Foundation

/// The owner name that stands for the signed-in user.
public let CKCurrentUserDefaultName = "__defaultOwner__"

/// The older name of `CKCurrentUserDefaultName`.
public let CKOwnerDefaultName = CKCurrentUserDefaultName

/// The same as `CKRecordZone.ID.defaultZoneName`.
public let CKRecordZoneDefaultName = CKRecordZoneID.defaultZoneName

/// The identifier of a zone: its name and its owner. Compared by value.
///
/// Use it by its name `CKRecordZone.ID`. It is a top-level class because keyed archives reject nested classes on Linux.
public final class CKRecordZoneID: NSObject, CKArchivable, CKImmutable, Sendable {
  /// The name of the zone that every database has.
  public static let defaultZoneName = WireZoneID.defaultZoneName
  /// The current user's default zone.
  public static let `default` = CKRecordZoneID()

  /// The zone's name, unique among the zones of its owner.
  public let zoneName: String
  /// The owner's user record name; `CKCurrentUserDefaultName` for the signed-in user.
  public let ownerName: String

  /// Makes an identifier. The default owner is the current user.
  public init(
    zoneName: String = CKRecordZoneID.defaultZoneName,
    ownerName: String = CKCurrentUserDefaultName
  ) {
    self.zoneName = zoneName
    self.ownerName = ownerName
  }

  /// Reads an archived identifier; nil if its name is missing.
  public init?(coder: NSCoder) {
    guard let zoneName = coder.string(forKey: ArchiveKey.zoneName) else { return nil }
    self.zoneName = zoneName
    ownerName = coder.string(forKey: ArchiveKey.ownerName) ?? CKCurrentUserDefaultName
  }

  /// Archives the name and the owner.
  public func encode(with coder: NSCoder) {
    coder.encode(NSString(string: zoneName), forKey: ArchiveKey.zoneName)
    coder.encode(NSString(string: ownerName), forKey: ArchiveKey.ownerName)
  }

  /// Whether the other object names the same zone.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKRecordZoneID else { return false }
    return zoneName == other.zoneName && ownerName == other.ownerName
  }

  /// A hash value that is the same for equal identifiers.
  public override var hash: Int { Hasher.hash(zoneName, ownerName) }

  /// The name and owner.
  public override var description: String { "<CKRecordZoneID \(zoneName):\(ownerName)>" }

  private enum ArchiveKey {
    // The key names of Apple's archives, with this capitalisation.
    static let zoneName = "ZoneName"
    static let ownerName = "ownerName"
  }
}

extension CKRecordZoneID {
  /// Makes the identifier of a zone in a reply.
  ///
  /// - Parameter scope: The database. In the public and private databases every zone belongs to the current user, so
  ///   the owner is `CKCurrentUserDefaultName` instead of the real name in the reply. In the shared database zones keep
  ///   their owner.
  package convenience init(wire: WireZoneID, in scope: CKDatabase.Scope) {
    let owner = scope == .shared ? wire.ownerRecordName : nil
    self.init(zoneName: wire.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
  }

  /// The zone's encoding in requests. The placeholder for the current user is never sent.
  package var wire: WireZoneID {
    WireZoneID(zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
  }

  var isDefault: Bool { zoneName == Self.defaultZoneName }
}
