public import Foundation

/// The information used to find a user: an email address, a phone number or a user record. Compared by value.
///
/// Use it by its name `CKUserIdentity.LookupInfo`.
public final class CKUserIdentityLookupInfo: NSObject, CKArchivable, CKImmutable, Sendable {
  let wire: WireLookupInfo

  init(wire: WireLookupInfo) { self.wire = wire }

  /// Creates a lookup by email address.
  public convenience init(emailAddress: String) {
    var wire = WireLookupInfo()
    wire.emailAddress = emailAddress
    self.init(wire: wire)
  }

  /// Creates a lookup by phone number.
  public convenience init(phoneNumber: String) {
    var wire = WireLookupInfo()
    wire.phoneNumber = phoneNumber
    self.init(wire: wire)
  }

  /// Creates a lookup by user record.
  public convenience init(userRecordID: CKRecordID) {
    var wire = WireLookupInfo()
    wire.userRecordName = userRecordID.recordName
    self.init(wire: wire)
  }

  /// Returns a lookup for each email address.
  public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
    emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
  }

  /// Returns a lookup for each phone number.
  public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentityLookupInfo] {
    phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
  }

  /// Returns a lookup for each user record.
  public class func lookupInfos(with recordIDs: [CKRecordID]) -> [CKUserIdentityLookupInfo] {
    recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
  }

  /// The email address of a lookup by email address, otherwise nil.
  public var emailAddress: String? { wire.emailAddress }
  /// The phone number of a lookup by phone number, otherwise nil.
  public var phoneNumber: String? { wire.phoneNumber }
  /// The user record ID of a lookup by user record, otherwise nil.
  public var userRecordID: CKRecordID? { wire.userRecordName.map { CKRecordID(recordName: $0) } }

  /// Decodes an archived lookup; nil if there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(WireLookupInfo.self, forKey: ArchiveKey.lookup)
    guard let wire = own ?? WireLookupInfo(inAppleArchive: coder) else { return nil }
    self.wire = wire
  }

  /// Archives the lookup.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: ArchiveKey.lookup) }

  /// Whether the other lookup is by the same value.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.wire == wire }
  /// A hash value that is equal for equal lookups.
  public override var hash: Int { wire.hashValue }

  private enum ArchiveKey {
    static let lookup = "LookupInfo"
  }
}
