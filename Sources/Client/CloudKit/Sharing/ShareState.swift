internal import Foundation
import JSONText

/// The state of a share besides its fields.
struct ShareState: Sendable {
  /// The root of the hierarchy that a new share is for, in the share's zone; nil for a whole zone and for fetched
  /// shares.
  var rootRecordName: String?
  /// The identifier in the share's URL; nil before the first save.
  var shortGUID: String?
  var publicPermission = CKShare.ParticipantPermission.none
  var participants: [CKShareParticipant] = []
  var currentUser: CKShareParticipant?
  /// Whether people may ask for access, which cannot be sent.
  var allowsAccessRequests = false
  /// The values last received from the server; nil for a share that was never saved.
  private(set) var server: LastKnown?

  /// The values that a save compares with, so that it sends only local changes and does not overwrite changes of
  /// others.
  struct LastKnown: Hashable, Sendable, WireObject {
    var publicPermission: Int64 = 0
    var participants: [WireParticipant] = []

    mutating func members(_ json: inout some WireMembers) throws(JSONError) {
      try json("participants", &participants)
      try json("publicPermission", &publicPermission)
    }
  }

  /// Creates the state of a share that the server does not know. Its owner is the current user.
  init(rootRecordName: String?) {
    self.rootRecordName = rootRecordName
    let owner = CKShareParticipant(standingInForOwner: CKCurrentUserDefaultName)
    participants = [owner]
    currentUser = owner
  }

  init(wire: WireRecord) {
    let sharing = wire.sharing ?? WireSharing()
    shortGUID = wire.shortGUID
    publicPermission = CKShare.ParticipantPermission(wire: sharing.publicPermission)
    participants = sharing.participants?.map(CKShareParticipant.init(wire:)) ?? []
    // Replies repeat the owner and the current user, who are also in the list of participants.
    if let owner = sharing.owner, !participants.contains(where: { $0.content.wire.isSamePerson(as: owner) }) {
      participants.insert(CKShareParticipant(wire: owner), at: 0)
    }
    currentUser = sharing.currentUserParticipant.map { wire in
      participants.first { $0.content.wire.isSamePerson(as: wire) } ?? CKShareParticipant(wire: wire)
    }
    server = LastKnown(publicPermission: publicPermission.number, participants: participants.map(\.content.wire))
  }

  /// Returns the same values with copied participants.
  func copied() -> ShareState {
    var copy = self
    copy.participants = participants.map { CKShareParticipant($0.content) }
    copy.currentUser = currentUser.map { current in
      participants.firstIndex { $0 === current }.map { copy.participants[$0] } ?? CKShareParticipant(current.content)
    }
    return copy
  }
}

// MARK: - Editing

extension ShareState {
  /// Adds a participant, or updates the permission and role of a participant who is the same person.
  mutating func add(_ participant: CKShareParticipant) {
    let wire = participant.content.wire
    guard let index = participants.firstIndex(where: { $0.content.wire.isSamePerson(as: wire) }) else {
      return participants.append(participant)
    }
    let known = participants[index]
    guard known !== participant, known.role != .owner else { return }
    known.permission = participant.permission
    known.role = participant.role
  }

  /// Removes a participant. The owner cannot be removed.
  mutating func remove(_ participant: CKShareParticipant) {
    let wire = participant.content.wire
    participants.removeAll { $0.role != .owner && $0.content.wire.isSamePerson(as: wire) }
  }
}

// MARK: - Saving

extension ShareState {
  /// Returns the values that a save sends: all of them, or those that differ from the server's; nil if there are none.
  func wire(all: Bool) -> WireSharing? {
    var wire = WireSharing()
    if all || publicPermission.number != server?.publicPermission, publicPermission != .unknown {
      wire.publicPermission = publicPermission.wire
    }
    let sendable = Self.sendable(participants)
    if sendable != server?.participants, server != nil || !sendable.isEmpty { wire.participants = sendable }
    return wire.isEmpty ? nil : wire
  }

  /// - Throws: `CKError.invalidArguments` for what Web Services have no call for.
  func checkIsSupported() throws(CKError) {
    guard !allowsAccessRequests else { throw .unsupported("let people ask for access to a share") }
    guard !participants.contains(where: { $0.content.wire.isForOneTimeURL }) else {
      throw .unsupported("make a URL for one participant")
    }
  }

  /// Returns the participants that can be sent. The placeholder for the current user is left out; the server knows the
  /// user.
  private static func sendable(_ participants: [CKShareParticipant]) -> [WireParticipant] {
    participants.map(\.content.wire).filter { $0.userIdentity?.userRecordName != CKCurrentUserDefaultName }
  }

  /// Returns this state after the server accepted `sent` and replied with `saved`. Changes made in the meantime are
  /// kept.
  ///
  /// Participants that a caller holds are updated in place, as records are.
  func accepting(_ saved: ShareState, sent: ShareState) -> ShareState {
    var result = saved
    result.rootRecordName = rootRecordName
    result.shortGUID = saved.shortGUID ?? shortGUID
    if saved.publicPermission == .unknown || publicPermission != sent.publicPermission {
      result.publicPermission = publicPermission
    }
    guard !saved.participants.isEmpty else {
      // The reply contains no participants, so the server has the ones that were sent.
      result.participants = participants
      result.currentUser = currentUser
      result.server?.participants = sent.participants.map(\.content.wire)
      return result
    }
    func sentOne(_ wire: WireParticipant) -> WireParticipant? {
      sent.participants.map(\.content.wire).first { $0.isSamePerson(as: wire) }
    }
    result.participants = saved.participants.compactMap { theirs in
      var wire = theirs.content.wire
      let sentWire = sentOne(wire)
      guard let mine = participants.first(where: { $0.content.wire.isSamePerson(as: wire) }) else {
        // Removed here during the save, or added by another user.
        return sentWire == nil ? theirs : nil
      }
      let now = mine.content.wire
      if now.permission != sentWire?.permission { wire.permission = now.permission }
      if now.type != sentWire?.type { wire.type = now.type }
      mine.content.wire = wire
      return mine
    }
    result.participants += participants.filter { mine in
      sentOne(mine.content.wire) == nil && !result.participants.contains { $0 === mine }
    }
    result.currentUser = saved.currentUser.map { theirs in
      result.participants.first { $0.content.wire.isSamePerson(as: theirs.content.wire) } ?? theirs
    }
    return result
  }
}

// MARK: - Archiving

extension ShareState {
  private struct Archived: WireObject {
    var rootRecordName: String?
    var shortGUID: String?
    var publicPermission: Int64 = 0
    var participants: [CKShareParticipant.Content] = []
    var currentUser: CKShareParticipant.Content?
    var server: LastKnown?

    mutating func members(_ json: inout some WireMembers) throws(JSONError) {
      try json("currentUser", &currentUser)
      try json("participants", &participants)
      try json("publicPermission", &publicPermission)
      try json("rootRecordName", &rootRecordName)
      try json("server", &server)
      try json("shortGUID", &shortGUID)
    }
  }

  /// The archive keys of objects. All but the first are Apple's, which are read but never written.
  enum ArchiveKey: String {
    case sharing = "Sharing"
    case rootRecordID = "RootRecordID"
    case participants = "Participants"
    case removed = "RemovedParticipantIDs"
    case url = "URL"
    case fetched = "LastFetchedParticipants"
  }

  func encode(with coder: NSCoder) {
    let archived = Archived(
      rootRecordName: rootRecordName,
      shortGUID: shortGUID,
      publicPermission: publicPermission.number,
      participants: participants.map(\.content),
      currentUser: currentUser?.content,
      server: server
    )
    coder.encode(wire: archived, forKey: ArchiveKey.sharing.rawValue)
  }

  /// Decodes the state. Without archived sharing values, only the owner is known.
  init(coder: NSCoder) {
    guard let archived = coder.wire(Archived.self, forKey: ArchiveKey.sharing.rawValue) else {
      self.init(inAppleArchive: coder)
      return
    }
    self.init(rootRecordName: archived.rootRecordName)
    shortGUID = archived.shortGUID
    publicPermission = CKShare.ParticipantPermission(rawValue: Int(archived.publicPermission)) ?? .unknown
    participants = archived.participants.map(CKShareParticipant.init)
    currentUser = archived.currentUser.map { content in
      participants.first { $0.content == content } ?? CKShareParticipant(content)
    }
    server = archived.server
  }

  /// Decodes the keys of Apple's archives, which nothing writes. The server's last public permission is left unknown,
  /// so that the next save sends the permission.
  private init(inAppleArchive coder: NSCoder) {
    func object<Object: NSObject & NSCoding>(_ type: Object.Type, _ key: ArchiveKey) -> Object? {
      coder.object(type, forKey: key.rawValue)
    }
    self.init(rootRecordName: object(CKRecordID.self, .rootRecordID)?.recordName)
    guard let archived = object(NSArray.self, .participants) else { return }
    let removed = object(NSSet.self, .removed)?.allObjects.compactMap { $0 as? String } ?? []
    participants = archived.compactMap { $0 as? CKShareParticipant }.filter { !removed.contains($0.participantID) }
    currentUser = participants.first(where: \.isCurrentUserInArchive)
    publicPermission =
      CKShare.ParticipantPermission(rawValue: coder.decodeInteger(forKey: "PublicPermission")) ?? .unknown
    shortGUID = object(NSURL.self, .url).flatMap { ($0 as URL).shareGUID }
    guard coder.string(forKey: RecordState.ArchiveKey.changeTag) != nil else { return }
    let fetched = object(NSArray.self, .fetched)?.compactMap { $0 as? CKShareParticipant }
    server = LastKnown(
      publicPermission: CKShare.ParticipantPermission.unknown.number,
      participants: Self.sendable(fetched ?? [])
    )
  }
}

extension CKShare.ParticipantPermission {
  /// The raw value as archives have it.
  fileprivate var number: Int64 { Int64(rawValue) }
}
