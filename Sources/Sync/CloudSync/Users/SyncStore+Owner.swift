package import CloudKit
import Facts
import Synchronization

/// The user that the store belongs to.
extension SyncStore {
  /// The user that the server named; nil before the first sync.
  package func owner() throws(StoreError) -> String? {
    try read { try $0.value(.identity) }
  }

  /// Returns the key of a zone: in a private database, the owner's own name stands for the current user.
  package func key(of zone: CKRecordZone.ID) throws(StoreError) -> ZoneKey {
    let key = ZoneKey(zone)
    return try read { try own(key, $0) }
  }

  func own(_ zone: ZoneKey, _ ledger: Ledger) throws -> ZoneKey {
    guard scope.database == .private, !zone.owner.isEmpty, try ledger.value(.identity) == zone.owner else {
      return zone
    }
    return ZoneKey(zone: zone.zone, owner: "")
  }

  /// The identity of an API token alone, without a user. Such a store becomes that of its first user.
  package static let anonymous = "apiToken"

  static func owner(_ ledger: Ledger) throws -> StoreOwner {
    if let user = try ledger.value(.identity), user != anonymous { return .user(user) }
    if let user = try ledger.value(.queuedBy) { return .queuer(user) }
    if let digest = try ledger.value(.signIn) { return .credential(CredentialDigest(stored: digest)) }
    return .none
  }

  private static func changeCount(_ ledger: Ledger) throws -> Int { try ledger.operationCount() }

  /// - Parameter restores: whether the sender restores a dropped change, which only the owner may do even if the queue
  ///   is empty.
  private func access(of sender: Sender, restores: Bool = false, _ ledger: Ledger) throws -> StoreOwner.Access {
    let owner = try Self.owner(ledger)
    let access = owner.access(of: sender, hasChanges: true)
    // Avoid counting if the count makes no difference.
    guard access == .refused, !restores else { return access }
    return owner.access(of: sender, hasChanges: try Self.changeCount(ledger) > 0)
  }

  /// Rejects a sender who is not the store's user, with an error of kind `otherUser`, or of kind `noUser` if the
  /// sender has an API token alone.
  ///
  /// - Parameter toSend: whether changes are to be sent, not only enqueued.
  package func check(_ sender: Sender, toSend: Bool = true) throws(StoreError) {
    try read { try require(sender, toSend: toSend, $0) }
  }

  private func require(_ sender: Sender, toSend: Bool = true, restores: Bool = false, _ ledger: Ledger) throws {
    guard try access(of: sender, restores: restores, ledger) == .refused else { return }
    let count = try Self.changeCount(ledger)
    let changes = count == 1 ? "1 unsent change" : "\(count) unsent changes"
    let with = count == 0 ? "" : " with \(changes)"
    let owner = try Self.owner(ledger)
    let isAnonymous = sender.user == Self.anonymous
    let store = isAnonymous ? "the store \(path)" : "this store"
    let what: String
    switch owner {
    case .user(let user), .queuer(let user):
      what = "\(store) belongs to \(user)" + (isAnonymous ? "" : ", not to \(sender.user ?? "this credential")")
    case .credential, .none:
      what = "\(store) has \(count == 0 ? "changes" : changes) of another sign-in, which never reached the server"
    }
    if isAnonymous {
      // The public database has no page to sign in at.
      let page = scope.database == .public ? "" : "; cktop account shows where to sign in"
      throw StoreError(.noUser, "no user is signed in, and \(what); set \(owner.variables)\(page)")
    }
    let nothing = "nothing was \(toSend ? "sent" : "changed")"
    throw StoreError(
      .otherUser,
      "\(what); \(nothing), choose another with --store, or take over \(path)\(with) with cktop sync --adopt"
    )
  }

  // MARK: - Enqueueing

  /// Sets the user who enqueues from now on. The first change in an empty queue makes the queue theirs.
  package func enqueue(as sender: Sender) { self.sender.withLock { $0 = sender } }

  /// Assigns a queue without an owner to the sender, before anything is added to it. Rejects changes to another user's
  /// queue, and to a store whose changes have moved to another.
  ///
  /// - Parameter restores: whether a dropped change is restored, which only its owner may do.
  func claimQueue(_ ledger: Ledger, restores: Bool = false) throws {
    if let path = try ledger.value(.joinedTo) {
      throw StoreError(
        .cannotOpen,
        "the changes of this store have just moved to \(path); try again",
        isTransient: true
      )
    }
    guard let sender = sender.withLock({ $0 }) else { return }
    try require(sender, toSend: false, restores: restores, ledger)
    switch try Self.owner(ledger) {
    case .user: return
    case .queuer(let user) where user == sender.user: return
    case .credential(let digest) where sender.credential.map(digest.matches) == true: return
    // An unnamed sender who adds to a named user's queue does not become its owner.
    case .queuer where try sender.user == nil && Self.changeCount(ledger) > 0: return
    case .none, .queuer, .credential: break
    }
    try ledger.setValue(.queuedBy, sender.user)
    try ledger.setValue(.signIn, sender.user == nil ? sender.credential.map { CredentialDigest(of: $0).text } : nil)
  }

  // MARK: - Syncing

  /// Makes the store this user's, or throws: another user's changes are never sent from it.
  ///
  /// - Parameters:
  ///   - credential: the credential that identifies the same user before the server is asked; nil if there is none.
  ///   - takesOver: whether to take over the store of another user, with its queued changes.
  ///   - lease: the syncing process's; nil for a process that has just asked the server and does not sync.
  package func adopt(
    identity: String,
    signIn credential: String?,
    takesOver: Bool = false,
    _ lease: Lease?
  ) throws(StoreError) {
    let now = now()
    let sender = Sender(user: identity, credential: credential)
    func adopt(_ ledger: Ledger) throws {
      if try takesOver && access(of: sender, ledger) == .refused {
        try beginTakeover(by: identity, now: now, ledger)
      } else {
        try require(sender, ledger)
      }
      try ledger.setValue(.isRefused, false)
      try ledger.setValue(.identity, identity)
      if identity != Self.anonymous { try ledger.setValue(.queuedBy, nil) }
      guard let credential else { return }
      if try ledger.value(.signIn).map(CredentialDigest.init(stored:))?.matches(credential) == true { return }
      try ledger.setValue(.signIn, CredentialDigest(of: credential).text)
    }
    if let lease { try write(lease) { ledger, _ in try adopt(ledger) } } else { try write(adopt) }
  }

  /// Records whether the last sync was rejected because its credential belongs to another user.
  func noteRefusal(_ isRefused: Bool) throws(StoreError) {
    guard try read({ try $0.isTrue(.isRefused) != isRefused }) else { return }
    try write { try $0.setValue(.isRefused, isRefused) }
  }

  /// Whether only the server can decide if a sender is the store's user.
  package func isUnknown(_ sender: Sender) throws(StoreError) -> Bool {
    guard try read({ ledger in try access(of: sender, ledger) == .unknown }) else { return false }
    return try !knows(sender.credential)
  }

  /// Whether a credential is that of the store's user, as far as the store knows.
  func knows(_ credential: String?) throws(StoreError) -> Bool {
    guard let credential else { return false }
    return try read { try $0.value(.signIn).map(CredentialDigest.init(stored:))?.matches(credential) ?? false }
  }

  // MARK: - Takeover

  /// Gives another user's queue to this one. The mirror of a private or shared database was the other user's: it is
  /// removed.
  private func beginTakeover(by user: String, now: Int64, _ ledger: Ledger) throws {
    let before: String?
    let isSynced: Bool
    switch try Self.owner(ledger) {
    case .user(let owner): (before, isSynced) = (owner, true)
    case .queuer(let owner): (before, isSynced) = (owner, false)
    case .credential, .none: (before, isSynced) = (nil, false)
    }
    let count = try Self.changeCount(ledger)
    try audit(.adopt(by: user, from: before), count, "sync", now: now, ledger)
    try EventLog.add(.takenOver(by: user, from: before, count: count), now: now, ledger)
    try ledger.setValue(.signIn, nil)
    guard isSynced, scope.database != .public else { return }
    try ledger.begin(.takeOver(by: user), now: now)
  }
}
