import CloudKit
import Facts
import Foundation
import Synchronization

/// The settings that are kept with the store: see `OutcomeSettings`.
extension SyncStore {
  /// Returns the stored settings; those that no sync has stored yet are nil.
  ///
  /// - Throws: `StoreError` of kind `damaged` where they cannot be read.
  package func settings() throws(StoreError) -> OutcomeSettings { try read { try $0.settings() } }

  /// Refuses a sync that names something else than what is stored.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` where a value differs and is not to be replaced.
  func checkSettings(_ named: OutcomeSettings, replaces: Bool) throws(StoreError) {
    if case .refuse(let differences) = OutcomeSettings.decide(stored: try settings(), named: named, replaces: replaces)
    {
      throw otherSettings(differences)
    }
  }

  private func otherSettings(_ differences: [OutcomeSettings.Difference]) -> StoreError {
    let what = differences.map(\.text).joined(separator: ", ")
    return StoreError(
      .otherSettings,
      "the store \(path) keeps \(what); leave the setting out, or set replacesStored to replace it for everyone"
    )
  }

  /// Stores what a sync names where nothing is stored, and refuses a sync that names something else.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` where a value differs and is not to be replaced.
  func takeSettings(_ named: OutcomeSettings, replaces: Bool) throws(StoreError) {
    // Looking writes nothing, for each write wakes all who watch.
    if case .use = OutcomeSettings.decide(stored: try settings(), named: named, replaces: replaces) { return }
    let now = now()
    try write { ledger in
      let stored = try ledger.settings()
      switch OutcomeSettings.decide(stored: stored, named: named, replaces: replaces) {
      case .use: return
      case .refuse(let differences): throw otherSettings(differences)
      case .store(let settings):
        try ledger.setSettings(settings)
        let changes = settings.changes(since: stored)
        if !changes.isEmpty { try EventLog.add(.settingsReplaced(changes), now: now, ledger) }
      }
    }
  }

  /// Stores a conflict policy as an operator's command.
  ///
  /// - Parameter isFirst: only where none is stored.
  package func setPolicy(_ policy: ConflictPolicy, isFirst: Bool = false, actor: String) throws(StoreError) {
    let now = now()
    try write { ledger in
      var settings = try ledger.settings()
      guard settings.policy != policy, !isFirst || settings.policy == nil else { return }
      settings.policy = policy
      try ledger.setSettings(settings)
      try audit("policy", policy.rawValue, 1, actor, now: now, ledger)
    }
  }

  // MARK: - What waits for the app

  /// Counts the saves and the conflicts that wait for the app.
  package func waitingForApp() throws(StoreError) -> (saves: Int, conflicts: Int) {
    let settings = try settings()
    let saves = settings.asksBeforeSending == true ? try read { try $0.savesToShow() } : 0
    return (saves, settings.asksAboutConflicts == true ? try conflictsToAsk().count : 0)
  }

  /// Notes that an operator released what waits for the app.
  func auditRelease(actor: String) throws(StoreError) {
    let (saves, conflicts) = try waitingForApp()
    let now = now()
    try write { try audit("sync without the app", "", saves + conflicts, actor, now: now, $0) }
  }

  /// Notes that the process with this lease asks the app, so that nothing waits for the app while it syncs.
  func noteApp(_ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, _ in try ledger.setValue(Ledger.appKey, "\(lease.fence)") }
  }
}

extension OutcomeSettings {
  /// The stored settings that these replace.
  fileprivate func changes(since old: OutcomeSettings) -> [Event.SettingChange] {
    var changes: [Event.SettingChange] = []
    if let before = old.policy, let policy, before != policy {
      changes.append(.policy(policy.rawValue, before: before.rawValue))
    }
    if old.mergeRules != nil, old.mergeRules != mergeRules { changes.append(.mergeRules) }
    if old.deletionGuard != nil, old.deletionGuard != deletionGuard {
      changes.append(.deletionGuard)
    }
    if old.asksBeforeSending == true, asksBeforeSending != true {
      changes.append(.appNotAskedBeforeSending)
    }
    if old.asksAboutConflicts == true, asksAboutConflicts != true {
      changes.append(.appNotAskedAboutConflicts)
    }
    return changes
  }
}

extension Ledger {
  private static let settingsKey = "settings"
  /// The settings decoded last: every transaction of a sync reads them, and they hardly ever change.
  private static let lastSettings = Mutex<(stored: String, settings: OutcomeSettings)?>(nil)
  /// Under this name the store has the fencing number of the lease under which the app was last asked.
  static let appKey = "app"

  func settings() throws -> OutcomeSettings {
    guard let stored = try value(Self.settingsKey) else { return OutcomeSettings() }
    if let last = Self.lastSettings.withLock({ $0 }), last.stored == stored { return last.settings }
    do {
      let settings = try JSONDecoder().decode(OutcomeSettings.self, from: Data(stored.utf8))
      Self.lastSettings.withLock { $0 = (stored, settings) }
      return settings
    } catch {
      throw StoreError(
        .damaged,
        "the sync settings in the store cannot be read (policy, merge rules, deletion guard); "
          + "update cktop if a newer one wrote them, else restore the file from a backup"
      )
    }
  }

  func setSettings(_ settings: OutcomeSettings) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try setValue(Self.settingsKey, String(decoding: try encoder.encode(settings), as: UTF8.self))
  }

  /// Whether the process that syncs now asks the app.
  func isAppSyncing(isDriven: Bool) throws -> Bool {
    guard isDriven, let holder = try lease() else { return false }
    return try value(Self.appKey) == "\(holder.fence)"
  }

  /// The number of saves that could be sent, were the app not to see them first. What a pause rule holds is not among them.
  func savesToShow() throws -> Int {
    if try isPaused() { return 0 }
    return try one(
      """
      SELECT count(*) FROM operations WHERE operation = 'save' AND state IN ('pending', 'waiting')
        AND (zone, owner) NOT IN (SELECT zone, owner FROM pauses) AND type NOT IN (SELECT type FROM pauses)
      """
    ) ?? 0
  }
}
