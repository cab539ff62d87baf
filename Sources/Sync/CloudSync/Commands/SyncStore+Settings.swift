import CloudKit
import Facts
import Foundation
import Synchronization

/// The settings stored with the data: see `OutcomeSettings`.
extension SyncStore {
  /// Returns the stored settings; those that no sync has stored yet are nil.
  ///
  /// - Throws: `StoreError` of kind `damaged` if they cannot be read.
  package func settings() throws(StoreError) -> OutcomeSettings { try read { try $0.settings() } }

  /// Rejects a sync whose settings differ from the stored ones.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` if a value differs and `replaces` is false.
  func checkSettings(_ named: OutcomeSettings, replaces: Bool) throws(StoreError) {
    if case .refuse(let changes) = OutcomeSettings.decide(stored: try settings(), named: named, replaces: replaces) {
      throw otherSettings(changes)
    }
  }

  private func otherSettings(_ changes: [Event.SettingChange]) -> StoreError {
    let what = changes.map(\.refusal).joined(separator: ", ")
    return StoreError(
      .otherSettings,
      "the store \(path) keeps \(what); leave the setting out, or set replacesStored to replace it for everyone"
    )
  }

  /// Stores settings that are not stored yet, and rejects a sync whose settings differ from the stored ones.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` if a value differs and `replaces` is false.
  func takeSettings(_ named: OutcomeSettings, replaces: Bool) throws(StoreError) {
    // Avoid a write that changes nothing: each write notifies every watcher.
    if case .use = OutcomeSettings.decide(stored: try settings(), named: named, replaces: replaces) { return }
    let now = now()
    try write { ledger in
      let stored = try ledger.settings()
      switch OutcomeSettings.decide(stored: stored, named: named, replaces: replaces) {
      case .use: return
      case .refuse(let changes): throw otherSettings(changes)
      case .store(let settings):
        try ledger.setSettings(settings)
        let changes = settings.changes(since: stored)
        if !changes.isEmpty { try EventLog.add(.settingsReplaced(changes), now: now, ledger) }
      }
    }
  }

  /// Stores a conflict policy as an operator's command.
  ///
  /// - Parameter isFirst: whether to do so only if none is stored.
  package func setPolicy(_ policy: ConflictPolicy, isFirst: Bool = false, actor: String) throws(StoreError) {
    let now = now()
    try write { ledger in
      var settings = try ledger.settings()
      guard settings.policy != policy, !isFirst || settings.policy == nil else { return }
      settings.policy = policy
      try ledger.setSettings(settings)
      try audit(.setPolicy(policy.rawValue), 1, actor, now: now, ledger)
    }
  }

  // MARK: - Waiting for the app

  package func waitingForApp() throws(StoreError) -> (saves: Int, conflicts: Int) {
    (try savesForApp(), try conflictsForApp())
  }

  func savesForApp() throws(StoreError) -> Int {
    let now = now()
    return try read { ledger in
      guard try ledger.settings().asksBeforeSending == true else { return 0 }
      return try ledger.savesToShow(ledger.sendScope(now: now, savesWaitForApp: true))
    }
  }

  func conflictsForApp() throws(StoreError) -> Int { try read { try $0.conflictsForApp() } }

  /// Logs that an operator released the operations that wait for the app.
  func auditRelease(actor: String) throws(StoreError) {
    let (saves, conflicts) = try waitingForApp()
    guard saves + conflicts > 0 else { return }
    let now = now()
    try write { try audit(.releaseFromApp, saves + conflicts, actor, now: now, $0) }
  }
}

extension Event.SettingChange {
  /// The stored setting that a sync may not replace.
  fileprivate var refusal: String {
    switch self {
    case .policy(let named, let stored): "conflict policy \(stored), not \(named)"
    case .mergeRules: "other merge rules"
    case .deletionGuard: "another deletion guard"
    case .appNotAskedBeforeSending: "that the app is asked before sending"
    case .appNotAskedAboutConflicts: "that the app is asked about conflicts"
    }
  }
}

extension Ledger {
  /// The settings decoded last: every transaction of a sync reads them, and they rarely change.
  private static let lastSettings = Mutex<(stored: String, settings: OutcomeSettings)?>(nil)

  func settings() throws -> OutcomeSettings { try settings(stored: value(.settings)) }

  func settings(stored: String?) throws -> OutcomeSettings {
    guard let stored else { return OutcomeSettings() }
    if let last = Self.lastSettings.withLock({ $0 }), last.stored == stored { return last.settings }
    do {
      let settings = try JSONDecoder().decode(OutcomeSettings.self, from: Data(stored.utf8))
      Self.lastSettings.withLock { $0 = (stored, settings) }
      return settings
    } catch {
      throw StoreError(
        .damaged,
        "the sync settings in the store cannot be read (policy, merge rules, deletion guard); "
          + "restore the file from a backup"
      )
    }
  }

  func setSettings(_ settings: OutcomeSettings) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try setValue(.settings, String(decoding: try encoder.encode(settings), as: UTF8.self))
  }

  /// Whether the syncing process asks the app.
  func isAppSyncing(hasEngine: Bool, _ lease: LeaseHolder? = nil) throws -> Bool {
    guard hasEngine, let holder = try lease ?? self.lease() else { return false }
    return try value(.appFencingToken) == holder.fencingToken
  }

  /// The number of saves that wait only for the app's approval.
  func savesToShow(_ scope: SendScope) throws -> Int {
    try sendParts().filter { scope.eligibility(of: $0.candidate) == .waits(.waitsForApp) }.reduce(0) { $0 + $1.count }
  }
}
