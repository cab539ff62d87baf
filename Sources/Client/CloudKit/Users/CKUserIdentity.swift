public import Foundation

/// A user of the app, with what the user agreed to share. Identities are compared by value.
public final class CKUserIdentity: NSObject, CKArchivable, CKImmutable, Sendable {
  /// The information used to find a user.
  public typealias LookupInfo = CKUserIdentityLookupInfo

  let wire: WireUserIdentity

  init(wire: WireUserIdentity) { self.wire = wire }

  /// The ID of the user's record; nil for a user known only by an address.
  public var userRecordID: CKRecordID? { wire.userRecordName.map { CKRecordID(recordName: $0) } }

  /// The lookup that found the user; nil if there was none.
  public var lookupInfo: CKUserIdentityLookupInfo? { wire.lookupInfo.map(CKUserIdentityLookupInfo.init(wire:)) }

  /// The user's name; nil if it is not shared.
  public var nameComponents: PersonNameComponents? { wire.nameComponents.map(PersonNameComponents.init(wire:)) }

  /// Whether the server knows the user. It is also false for users who are not discoverable.
  public var hasiCloudAccount: Bool { wire.userRecordName != nil }

  /// The user's entries in the address book. It is always empty, because there is no address book.
  public var contactIdentifiers: [String] { [] }

  /// Decodes an archived identity; nil if there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(WireUserIdentity.self, forKey: ArchiveKey.identity)
    guard let wire = own ?? WireUserIdentity(inAppleArchive: coder) else { return nil }
    self.wire = wire
  }

  /// Archives the identity.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: ArchiveKey.identity) }

  /// Whether the other identity has equal values.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentity)?.wire == wire }
  /// A hash value that is equal for equal identities.
  public override var hash: Int { wire.hashValue }
  /// The name of the user record. It contains no personal name or address, because these are private.
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
