public import Foundation

/// The permissions that a sharing interface offers for participants.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
  /// The raw bits.
  public let rawValue: UInt
  /// Creates options from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Participants can only read.
  public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
  /// Participants can read and write.
  public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
  /// Both.
  public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// The kinds of access that a sharing interface offers.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
  /// The raw bits.
  public let rawValue: UInt
  /// Creates options from their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Anyone with the link has access.
  public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
  /// Only invited people have access.
  public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
  /// Both.
  public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// The options that a sharing interface offers. Linux has no such interface, so the values are only kept.
public final class CKAllowedSharingOptions: NSObject, CKArchivable, NSCopying {
  /// The permissions on offer.
  public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption
  /// The kinds of access on offer.
  public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption
  /// Whether participants can invite others; false by default.
  public var allowsParticipantsToInviteOthers = false
  /// Whether people can ask for access; false by default.
  public var allowsAccessRequests = false

  /// Creates options.
  public init(
    allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
    allowedParticipantAccessOptions: CKSharingParticipantAccessOption
  ) {
    self.allowedParticipantPermissionOptions = allowedParticipantPermissionOptions
    self.allowedParticipantAccessOptions = allowedParticipantAccessOptions
  }

  /// Options that offer everything.
  public static var standard: CKAllowedSharingOptions {
    CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
  }

  /// Decodes archived options.
  public init?(coder: NSCoder) {
    allowedParticipantPermissionOptions = .init(rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "Permissions")))
    allowedParticipantAccessOptions = .init(rawValue: UInt(bitPattern: coder.decodeInteger(forKey: "Access")))
    allowsParticipantsToInviteOthers = coder.decodeBool(forKey: "InviteOthers")
    allowsAccessRequests = coder.decodeBool(forKey: "AccessRequests")
  }

  /// Archives the options.
  public func encode(with coder: NSCoder) {
    coder.encode(Int(bitPattern: allowedParticipantPermissionOptions.rawValue), forKey: "Permissions")
    coder.encode(Int(bitPattern: allowedParticipantAccessOptions.rawValue), forKey: "Access")
    coder.encode(allowsParticipantsToInviteOthers, forKey: "InviteOthers")
    coder.encode(allowsAccessRequests, forKey: "AccessRequests")
  }

  /// Returns a copy.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKAllowedSharingOptions(
      allowedParticipantPermissionOptions: allowedParticipantPermissionOptions,
      allowedParticipantAccessOptions: allowedParticipantAccessOptions
    )
    copy.allowsParticipantsToInviteOthers = allowsParticipantsToInviteOthers
    copy.allowsAccessRequests = allowsAccessRequests
    return copy
  }
}
