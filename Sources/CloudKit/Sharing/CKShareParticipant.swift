public import Foundation
internal import Synchronization

/// One who takes part in a share: who it is, what they may do, and whether they have accepted.
///
/// Use it by its name `CKShare.Participant`. `CKContainer.shareParticipant(forEmailAddress:)` and its siblings make one to
/// be added to a share. What is changed here goes to the server with the next save of the share.
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// What names a participant within a share.
  public typealias ID = String

  /// The participant's values, and a name of our own for one that the server has not named yet.
  struct Content: Hashable, Sendable, Codable {
    var wire: WireParticipant
    var localID = UUID().uuidString
  }

  private let state: Mutex<Content>

  /// Whether an archive of Apple's says that this is the current user.
  let isCurrentUserInArchive: Bool

  init(_ content: Content) {
    state = Mutex(content)
    isCurrentUserInArchive = false
  }

  convenience init(wire: WireParticipant) { self.init(Content(wire: wire)) }

  /// Somebody to be invited: a private user who may read.
  convenience init(inviting identity: WireUserIdentity) {
    var wire = WireParticipant()
    wire.type = CKShare.ParticipantRole.privateUser.wire
    wire.permission = CKShare.ParticipantPermission.readOnly.wire
    wire.acceptanceStatus = "INVITED"
    wire.userIdentity = identity
    self.init(wire: wire)
  }

  /// The owner of a share that the server does not know yet, or does not name the owner of.
  convenience init(standingInForOwner name: String) {
    var wire = WireParticipant()
    wire.type = CKShare.ParticipantRole.owner.wire
    wire.permission = CKShare.ParticipantPermission.readWrite.wire
    wire.acceptanceStatus = "ACCEPTED"
    wire.userIdentity = WireUserIdentity()
    wire.userIdentity?.userRecordName = name
    self.init(wire: wire)
  }

  /// Everything about the participant, as it is now.
  var content: Content {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// Who it is.
  public var userIdentity: CKUserIdentity { CKUserIdentity(wire: content.wire.userIdentity ?? WireUserIdentity()) }

  /// What they are to the share. Private users can be invited; the server refuses other changes.
  public var role: CKShare.ParticipantRole {
    get { CKShare.ParticipantRole(wire: content.wire.type) }
    set { state.withLock { $0.wire.type = newValue.wire } }
  }

  /// The role under its former name.
  @available(*, deprecated, renamed: "role")
  public var type: CKShare.ParticipantType {
    get { role.type }
    set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
  }

  /// What they may do; reading for a new participant.
  public var permission: CKShare.ParticipantPermission {
    get { CKShare.ParticipantPermission(wire: content.wire.permission) }
    set { state.withLock { $0.wire.permission = newValue.wire } }
  }

  /// Whether they have answered the invitation.
  public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
    CKShare.ParticipantAcceptanceStatus(wire: content.wire.acceptanceStatus)
  }

  /// What names the participant within the share. One that was never saved has a name of its own until then.
  public var participantID: ID {
    let content = content
    return content.wire.participantId ?? content.wire.userIdentity?.userRecordName ?? content.localID
  }

  /// Reads an archived participant; nil where there is none.
  public init?(coder: NSCoder) {
    let own = coder.wire(Content.self, forKey: ArchiveKey.content)
    guard let content = own ?? WireParticipant(inAppleArchive: coder).map({ Content(wire: $0) }) else { return nil }
    state = Mutex(content)
    isCurrentUserInArchive = coder.decodeBool(forKey: ArchiveKey.isCurrentUser)
  }

  /// Archives the participant.
  public func encode(with coder: NSCoder) { coder.encode(wire: content, forKey: ArchiveKey.content) }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// A participant of its own with the same values.
  public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(content) }

  /// Whether the other object is the same participant.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKShareParticipant)?.participantID == participantID
  }
  /// Equal for equal participants. Changes with the first save.
  public override var hash: Int { participantID.hashValue }

  /// What they are and may do; not who they are.
  public override var description: String { "<CKShareParticipant \(role), \(permission), \(acceptanceStatus)>" }

  private enum ArchiveKey {
    static let content = "Participant"
    /// Apple's, which is read and never written.
    static let isCurrentUser = "IsCurrentUser"
  }
}

extension WireParticipant {
  /// Whether both are the same person in the same share: by the server's name for the participant, by the user, or by
  /// what the invitation went to. A share has one owner.
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
