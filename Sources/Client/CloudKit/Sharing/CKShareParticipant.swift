public import Foundation
import JSONText
internal import Synchronization

/// A participant of a share: their identity, their permission, and whether they have accepted.
///
/// Use it by its name `CKShare.Participant`. `CKContainer.shareParticipant(forEmailAddress:)` and similar methods
/// create a participant to add to a share. Changes are sent to the server with the next save of the share.
public final class CKShareParticipant: NSObject, CKArchivable, NSCopying, Sendable {
  /// The identifier of a participant within a share.
  public typealias ID = String

  /// The participant's values, and a local identifier for a participant that the server has not named yet.
  struct Content: Hashable, Sendable, WireObject {
    var wire = WireParticipant()
    var localID = UUID().uuidString

    mutating func members(_ json: inout some WireMembers) throws(JSONError) {
      try json("localID", &localID)
      try json("wire", &wire)
    }
  }

  private let state: Mutex<Content>

  /// Whether an archive of Apple's framework marks this participant as the current user.
  let isCurrentUserInArchive: Bool

  init(_ content: Content) {
    state = Mutex(content)
    isCurrentUserInArchive = false
  }

  convenience init(wire: WireParticipant) { self.init(Content(wire: wire)) }

  /// Creates a participant to invite: a private user with read access.
  convenience init(inviting identity: WireUserIdentity) {
    var wire = WireParticipant()
    wire.type = CKShare.ParticipantRole.privateUser.wire
    wire.permission = CKShare.ParticipantPermission.readOnly.wire
    wire.acceptanceStatus = "INVITED"
    wire.userIdentity = identity
    self.init(wire: wire)
  }

  /// Creates the owner of a share that is not saved yet, or whose owner the server does not return.
  convenience init(standingInForOwner name: String) {
    var wire = WireParticipant()
    wire.type = CKShare.ParticipantRole.owner.wire
    wire.permission = CKShare.ParticipantPermission.readWrite.wire
    wire.acceptanceStatus = "ACCEPTED"
    wire.userIdentity = WireUserIdentity()
    wire.userIdentity?.userRecordName = name
    self.init(wire: wire)
  }

  /// The participant's current values.
  var content: Content {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// The identity of the participant.
  public var userIdentity: CKUserIdentity { CKUserIdentity(wire: content.wire.userIdentity ?? WireUserIdentity()) }

  /// The role of the participant. New participants are private users; the server refuses other changes.
  public var role: CKShare.ParticipantRole {
    get { CKShare.ParticipantRole(wire: content.wire.type) }
    set { state.withLock { $0.wire.type = newValue.wire } }
  }

  /// The role under its older name.
  @available(*, deprecated, renamed: "role")
  public var type: CKShare.ParticipantType {
    get { role.type }
    set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
  }

  /// The permission of the participant; read access for a new participant.
  public var permission: CKShare.ParticipantPermission {
    get { CKShare.ParticipantPermission(wire: content.wire.permission) }
    set { state.withLock { $0.wire.permission = newValue.wire } }
  }

  /// The participant's reply to the invitation.
  public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
    CKShare.ParticipantAcceptanceStatus(wire: content.wire.acceptanceStatus)
  }

  /// Whether the participant asked for access and was approved. Always false: Web Services have no such requests.
  public var isApprovedRequester: Bool { false }

  /// The date when the participant was added. Always nil: Web Services do not report it.
  public var dateAddedToShare: Date? { nil }

  /// Makes a participant that is invited by a URL of its own. Saving a share with it fails with
  /// `CKError.invalidArguments`: Web Services have no such URLs.
  public static func oneTimeURLParticipant() -> CKShareParticipant { CKShareParticipant(wire: WireParticipant()) }

  /// The identifier of the participant within the share. It changes with the first save of a new participant.
  public var participantID: ID {
    let content = content
    return content.wire.participantId ?? content.wire.userIdentity?.userRecordName ?? content.localID
  }

  /// Decodes an archived participant; nil if there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(Content.self, forKey: ArchiveKey.content)
    guard let content = own ?? WireParticipant(inAppleArchive: coder).map({ Content(wire: $0) }) else { return nil }
    state = Mutex(content)
    isCurrentUserInArchive = coder.decodeBool(forKey: ArchiveKey.isCurrentUser)
  }

  /// Archives the participant.
  public func encode(with coder: NSCoder) { coder.encode(wire: content, forKey: ArchiveKey.content) }

  /// Returns a copy of the participant.
  public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(content) }

  /// Whether the other object is the same participant.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKShareParticipant)?.participantID == participantID
  }

  /// A hash value that is equal for equal participants. It can change with the first save.
  public override var hash: Int { participantID.hashValue }

  /// The role, permission and status, without the identity.
  public override var description: String { "<CKShareParticipant \(role), \(permission), \(acceptanceStatus)>" }

  private enum ArchiveKey {
    static let content = "Participant"
    /// Apple's key, which is only read.
    static let isCurrentUser = "IsCurrentUser"
  }
}

extension WireParticipant {
  /// Whether it has neither an identity nor an ID, as a participant for a one-time URL.
  var isForOneTimeURL: Bool { userIdentity == nil && participantId == nil }

  /// Whether both values describe the same person in the same share: by participant ID, by user, or by the lookup info
  /// of the invitation. A share has only one owner.
  func isSamePerson(as other: WireParticipant) -> Bool {
    if let participantId, let otherID = other.participantId { return participantId == otherID }
    if type == "OWNER", other.type == "OWNER" { return true }
    if let name = userIdentity?.userRecordName, let otherName = other.userIdentity?.userRecordName {
      return name == otherName
    }
    guard let info = userIdentity?.lookupInfo else { return false }
    return info != WireLookupInfo() && info == other.userIdentity?.lookupInfo
  }
}
