public import Foundation

/// How somebody is found: by an email address, a telephone number or a user record. Compared by value.
///
/// Use it by its name `CKUserIdentity.LookupInfo`.
public final class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
  let wire: WireLookupInfo

  init(wire: WireLookupInfo) { self.wire = wire }

  /// Finds somebody by an email address.
  public convenience init(emailAddress: String) {
    var wire = WireLookupInfo()
    wire.emailAddress = emailAddress
    self.init(wire: wire)
  }

  /// Finds somebody by a telephone number.
  public convenience init(phoneNumber: String) {
    var wire = WireLookupInfo()
    wire.phoneNumber = phoneNumber
    self.init(wire: wire)
  }

  /// Finds somebody by their user record.
  public convenience init(userRecordID: CKRecordID) {
    var wire = WireLookupInfo()
    wire.userRecordName = userRecordID.recordName
    self.init(wire: wire)
  }

  /// One lookup for each email address.
  public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
    emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
  }

  /// One lookup for each telephone number.
  public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentityLookupInfo] {
    phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
  }

  /// One lookup for each user record.
  public class func lookupInfos(with recordIDs: [CKRecordID]) -> [CKUserIdentityLookupInfo] {
    recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
  }

  /// The email address, where that is how.
  public var emailAddress: String? { wire.emailAddress }
  /// The telephone number, where that is how.
  public var phoneNumber: String? { wire.phoneNumber }
  /// The user record, where that is how.
  public var userRecordID: CKRecordID? { wire.userRecordName.map { CKRecordID(recordName: $0) } }

  /// Reads an archived lookup; nil where there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(WireLookupInfo.self, forKey: ArchiveKey.lookup)
    guard let wire = own ?? WireLookupInfo(inAppleArchive: coder) else { return nil }
    self.wire = wire
  }

  /// Archives the lookup.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: ArchiveKey.lookup) }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The lookup itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object finds by the same.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.wire == wire }
  /// Equal for equal lookups.
  public override var hash: Int { wire.hashValue }

  private enum ArchiveKey {
    static let lookup = "LookupInfo"
  }
}
