internal import Foundation

/// What a share holds besides its fields.
struct ShareState: Sendable {
  /// The root of the hierarchy that a new share is for, in the share's zone; nil for a whole zone, and off the wire.
  var rootRecordName: String?
  /// What the share's URL is made of; nil before the first save.
  var shortGUID: String?
  var publicPermission = CKShare.ParticipantPermission.none
  var participants: [CKShareParticipant] = []
  var currentUser: CKShareParticipant?
  /// What the server last said; nil for a share never saved.
  private(set) var server: Told?

  /// What a save compares with, so that it sends what was changed here and nothing that others may have changed.
  struct Told: Hashable, Sendable, Codable {
    var publicPermission: CKShare.ParticipantPermission.RawValue
    var participants: [WireParticipant]
  }

  /// A share that the server does not know: its owner is the current user.
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
    // Answers repeat two participants by their role; they are the same people as in the list.
    if let owner = sharing.owner, !participants.contains(where: { $0.content.wire.isSamePerson(as: owner) }) {
      participants.insert(CKShareParticipant(wire: owner), at: 0)
    }
    currentUser = sharing.currentUserParticipant.map { wire in
      participants.first { $0.content.wire.isSamePerson(as: wire) } ?? CKShareParticipant(wire: wire)
    }
    server = Told(publicPermission: publicPermission.rawValue, participants: participants.map(\.content.wire))
  }

  /// The same values in participants of their own.
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
  /// Adds somebody, or updates what the one who is the same person may do.
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

  /// Takes somebody out. The owner stays.
  mutating func remove(_ participant: CKShareParticipant) {
    let wire = participant.content.wire
    participants.removeAll { $0.role != .owner && $0.content.wire.isSamePerson(as: wire) }
  }
}

// MARK: - Saving

extension ShareState {
  /// What a save sends: all of it, or what differs from what the server last said.
  func wire(all: Bool) -> WireSharing? {
    var wire = WireSharing()
    if all || publicPermission.rawValue != server?.publicPermission, publicPermission != .unknown {
      wire.publicPermission = publicPermission.wire
    }
    let sendable = Self.sendable(participants)
    if sendable != server?.participants, server != nil || !sendable.isEmpty { wire.participants = sendable }
    return wire.isEmpty ? nil : wire
  }

  /// The placeholder for the current user is never sent; the server knows who asks.
  private static func sendable(_ participants: [CKShareParticipant]) -> [WireParticipant] {
    participants.map(\.content.wire).filter { $0.userIdentity?.userRecordName != CKCurrentUserDefaultName }
  }

  /// This state after the server accepted `sent` and answered with `saved`. What was changed meanwhile stays changed.
  ///
  /// Participants that a caller holds are brought up to date, as a record is.
  func accepting(_ saved: ShareState, sent: ShareState) -> ShareState {
    var result = saved
    result.rootRecordName = rootRecordName
    result.shortGUID = saved.shortGUID ?? shortGUID
    if saved.publicPermission == .unknown || publicPermission != sent.publicPermission {
      result.publicPermission = publicPermission
    }
    guard !saved.participants.isEmpty else {
      // The answer does not speak of participants: what was sent is what the server has.
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
        // Taken out while the save was under way, or let in by somebody else.
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
  private struct Archived: Codable {
    var rootRecordName: String?
    var shortGUID: String?
    var publicPermission: CKShare.ParticipantPermission.RawValue
    var participants: [CKShareParticipant.Content]
    var currentUser: CKShareParticipant.Content?
    var server: Told?
  }

  private static let archiveKey = "Sharing"

  func encode(with coder: NSCoder) {
    let archived = Archived(
      rootRecordName: rootRecordName,
      shortGUID: shortGUID,
      publicPermission: publicPermission.rawValue,
      participants: participants.map(\.content),
      currentUser: currentUser?.content,
      server: server
    )
    coder.encode(wire: archived, forKey: Self.archiveKey)
  }

  /// An archive that does not speak of sharing gives a share whose owner alone is known.
  init(coder: NSCoder) {
    guard let archived = coder.wire(Archived.self, forKey: Self.archiveKey) else {
      self.init(inAppleArchive: coder)
      return
    }
    self.init(rootRecordName: archived.rootRecordName)
    shortGUID = archived.shortGUID
    publicPermission = CKShare.ParticipantPermission(rawValue: archived.publicPermission) ?? .unknown
    participants = archived.participants.map(CKShareParticipant.init)
    currentUser = archived.currentUser.map { content in
      participants.first { $0.content == content } ?? CKShareParticipant(content)
    }
    server = archived.server
  }

  /// Under the keys of Apple's archives, which nothing writes. What everybody may do is told without what the server last
  /// had, so that the next save sends it.
  private init(inAppleArchive coder: NSCoder) {
    self.init(rootRecordName: coder.object(CKRecordID.self, forKey: "RootRecordID")?.recordName)
    guard let archived = coder.object(NSArray.self, forKey: "Participants") else { return }
    let removed =
      coder.object(NSSet.self, forKey: "RemovedParticipantIDs")?.allObjects.compactMap { $0 as? String } ?? []
    participants = archived.compactMap { $0 as? CKShareParticipant }.filter { !removed.contains($0.participantID) }
    currentUser = participants.first(where: \.isCurrentUserInArchive)
    publicPermission =
      CKShare.ParticipantPermission(rawValue: coder.decodeInteger(forKey: "PublicPermission")) ?? .unknown
    shortGUID = coder.object(NSURL.self, forKey: "URL").flatMap { ($0 as URL).shareGUID }
    guard coder.string(forKey: RecordState.ArchiveKey.changeTag) != nil else { return }
    let fetched = coder.object(NSArray.self, forKey: "LastFetchedParticipants")?.compactMap {
      $0 as? CKShareParticipant
    }
    server = Told(
      publicPermission: CKShare.ParticipantPermission.unknown.rawValue,
      participants: Self.sendable(fetched ?? [])
    )
  }
}
