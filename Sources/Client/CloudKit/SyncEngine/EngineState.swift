/// All that an engine knows, and the rules for its changes. It sends nothing and calls nothing.
struct EngineState: Sendable {
  /// The user that the tokens and the pending changes belong to.
  var user: CKRecord.ID?
  var databaseToken: CKServerChangeToken?
  /// The tokens of the known zones.
  var zones: [CKRecordZone.ID: CKServerChangeToken] = [:]
  /// The zones with changes that were not fetched yet, those that changed first at the front.
  var unfetched: [CKRecordZone.ID] = []
  var recordChanges = PendingList<CKSyncEngine.PendingRecordZoneChange>()
  var databaseChanges = PendingList<CKSyncEngine.PendingDatabaseChange>()
  var hasUntracked = false { didSet { if hasUntracked { untrackedSettings += 1 } } }
  /// How often the app said that it has untracked changes.
  private(set) var untrackedSettings = 0

  /// Whether there is anything to send.
  var hasChangesToSend: Bool { hasUntracked || !recordChanges.isEmpty || !databaseChanges.isEmpty }

  // MARK: - Fetched changes

  /// Applies a page of the database's changes.
  mutating func take(changed: [CKRecordZone.ID], deleted: [CKRecordZone.ID], token: CKServerChangeToken) {
    for zoneID in changed where !unfetched.contains(zoneID) { unfetched.append(zoneID) }
    for zoneID in deleted { forget(zoneID) }
    databaseToken = token
  }

  /// Applies a page of a zone's changes. `token` is nil if all changes have to be fetched again.
  mutating func take(_ zoneID: CKRecordZone.ID, token: CKServerChangeToken?, isLast: Bool) {
    zones[zoneID] = token
    if isLast { unfetched.removeAll { $0 == zoneID } }
  }

  /// Forgets a zone that does not exist any more. Pending changes stay: the app decides what to do with them.
  mutating func forget(_ zoneID: CKRecordZone.ID) {
    zones[zoneID] = nil
    unfetched.removeAll { $0 == zoneID }
  }

  /// The next zone to fetch: those with priority first, then those that changed first.
  func nextZone(for options: CKSyncEngine.FetchChangesOptions) -> CKRecordZone.ID? {
    let candidates = unfetched.filter { options.scope.contains($0) }
    return options.prioritizedZoneIDs.first { candidates.contains($0) } ?? candidates.first
  }

  // MARK: - Sent changes

  /// The next batch of changes to zones.
  func nextDatabaseChanges(for scope: CKSyncEngine.SendChangesOptions.Scope) -> [CKSyncEngine.PendingDatabaseChange] {
    Array(databaseChanges.changes.lazy.filter { scope.contains(zone: $0.id) }.prefix(CKDatabase.largestBatch))
  }

  /// Ends a send of all changes that found no more: there are no untracked ones, unless the app said so again.
  mutating func sentUntracked(settings: Int) {
    if settings == untrackedSettings { hasUntracked = false }
  }

  // MARK: - Account

  /// Notes who is signed in, nil for no user, and returns the change for the app; nil if nothing changed.
  ///
  /// The previous user's tokens and pending changes are cleared. If there was none, pending changes are for the new
  /// user.
  mutating func note(user current: CKRecord.ID?) -> CKSyncEngine.Event.AccountChange.ChangeType? {
    switch (user, current) {
    case (nil, nil): return nil
    case (nil, let current?):
      user = current
      return .signIn(currentUser: current)
    case (let previous?, nil):
      self = EngineState()
      return .signOut(previousUser: previous)
    case (let previous?, let current?):
      guard previous != current else { return nil }
      self = EngineState()
      user = current
      return .switchAccounts(previousUser: previous, currentUser: current)
    }
  }
}
