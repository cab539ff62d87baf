public import Foundation

/// Somebody who uses the app, as far as they let themselves be known. Compared by value.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// How somebody is found.
  public typealias LookupInfo = CKUserIdentityLookupInfo

  let wire: WireUserIdentity

  init(wire: WireUserIdentity) { self.wire = wire }

  /// The user's record; nil for somebody who is known by an address alone.
  public var userRecordID: CKRecordID? { wire.userRecordName.map { CKRecordID(recordName: $0) } }

  /// How the user was found; nil where they were not looked for.
  public var lookupInfo: CKUserIdentityLookupInfo? { wire.lookupInfo.map(CKUserIdentityLookupInfo.init(wire:)) }

  /// The user's name; nil where they do not show it.
  public var nameComponents: PersonNameComponents? { wire.nameComponents.map(PersonNameComponents.init(wire:)) }

  /// Whether the server knows the user. False may also mean that they do not want to be found.
  public var hasiCloudAccount: Bool { wire.userRecordName != nil }

  /// Entries of the address book that match the user: none, since there is no address book here.
  public var contactIdentifiers: [String] { [] }

  /// Reads an archived identity; nil where there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(WireUserIdentity.self, forKey: ArchiveKey.identity)
    guard let wire = own ?? WireUserIdentity(inAppleArchive: coder) else { return nil }
    self.wire = wire
  }

  /// Archives the identity.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: ArchiveKey.identity) }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The identity itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object says the same of somebody.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentity)?.wire == wire }
  /// Equal for equal identities.
  public override var hash: Int { wire.hashValue }
  /// The user's record; never a name or an address, which are private.
  public override var description: String { "<CKUserIdentity \(wire.userRecordName ?? "without a record")>" }

  private enum ArchiveKey {
    static let identity = "UserIdentity"
  }
}

extension PersonNameComponents {
  init(wire: WireNameComponents) {
    self.init()
    namePrefix = wire.namePrefix
    givenName = wire.givenName
    middleName = wire.middleName
    familyName = wire.familyName
    nameSuffix = wire.nameSuffix
    nickname = wire.nickname
  }
}
