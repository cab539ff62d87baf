public import Foundation

/// The name that stands for the signed-in user wherever an owner is named.
public let CKCurrentUserDefaultName = "__defaultOwner__"

/// The older name of `CKCurrentUserDefaultName`.
public let CKOwnerDefaultName = CKCurrentUserDefaultName

/// The same as `CKRecordZone.ID.defaultZoneName`.
public let CKRecordZoneDefaultName = CKRecordZoneID.defaultZoneName

/// A zone's identity: its name and its owner. Compared by value.
///
/// Use it by its name `CKRecordZone.ID`. It is a top-level class because keyed archives refuse nested ones on Linux.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// The name of the zone that every database has.
  public static let defaultZoneName = WireZoneID.defaultZoneName
  /// The current user's default zone.
  public static let `default` = CKRecordZoneID()

  /// The zone's name, unique among the zones of its owner.
  public let zoneName: String
  /// The owner's user record name; `CKCurrentUserDefaultName` for the signed-in user.
  public let ownerName: String

  /// Names a zone. Without an owner it is the current user's.
  public init(
    zoneName: String = CKRecordZoneID.defaultZoneName,
    ownerName: String = CKCurrentUserDefaultName
  ) {
    self.zoneName = zoneName
    self.ownerName = ownerName
  }

  /// Reads an archived identifier; nil where its name is missing.
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

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The identifier itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object names the same zone.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKRecordZoneID else { return false }
    return zoneName == other.zoneName && ownerName == other.ownerName
  }

  /// Equal for equal identifiers.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(zoneName)
    hasher.combine(ownerName)
    return hasher.finalize()
  }

  /// Name and owner.
  public override var description: String { "<CKRecordZoneID \(zoneName):\(ownerName)>" }

  private enum ArchiveKey {
    // Apple's archives have these names, in this capitalisation.
    static let zoneName = "ZoneName"
    static let ownerName = "ownerName"
  }
}

extension CKRecordZoneID {
  /// The zone that an answer names.
  ///
  /// - Parameter scope: In the public and private databases every zone is the current user's, whom answers call by the
  ///   real name and the framework by `CKCurrentUserDefaultName`; in the shared database the owner tells zones apart.
  package convenience init(wire: WireZoneID, in scope: CKDatabase.Scope) {
    let owner = scope == .shared ? wire.ownerRecordName : nil
    self.init(zoneName: wire.zoneName, ownerName: owner ?? CKCurrentUserDefaultName)
  }

  /// The zone as requests name it: the placeholder for the current user is never sent.
  package var wire: WireZoneID {
    WireZoneID(zoneName: zoneName, ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
  }

  var isDefault: Bool { zoneName == Self.defaultZoneName }
}
