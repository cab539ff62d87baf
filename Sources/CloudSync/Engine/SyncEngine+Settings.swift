import CloudKit
import Facts

/// The settings that the store keeps for every process, and what waits for the app.
extension SyncEngine {
  /// Whether the delegate is asked before a record is sent.
  nonisolated var asksBeforeSending: Bool { delegate?.isAskedBeforeSending ?? false }

  /// Whether this process can ask the app.
  nonisolated var asksApp: Bool { asksBeforeSending || configuration.conflictResolver != nil }

  /// Whether this process sends saves, as far as the app is concerned.
  var maySendSaves: Bool { asksBeforeSending || isWithoutApp }

  /// The policy for merges inside a transaction. Conflicts for the app stay open.
  var merging: MergePolicy { settings.merging(isWithoutApp: isWithoutApp && configuration.conflictResolver == nil) }

  /// Rejects a sync whose settings differ from the stored ones. Stores the settings at once if the store is known to be
  /// this user's, or else `takeSettings` does so after the server has confirmed it.
  ///
  /// - Throws: `StoreError` of kind `otherSettings`.
  func checkSettings() throws(StoreError) {
    try store.checkSettings(namedSettings, replaces: configuration.replacesStored)
    hasTakenSettings = false
    let isKnown = if let identity { try store.owner() == identity } else { try store.knows(credential) }
    if isKnown { try takeSettings() }
  }

  /// Stores this engine's settings and logs an operator's release, once per sync or start. Call it only after the
  /// store's user was checked.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` if the stored settings differ.
  func takeSettings() throws(StoreError) {
    if !hasTakenSettings {
      try store.takeSettings(namedSettings, replaces: configuration.replacesStored)
      if let policy = configuration.replacingPolicy { try store.setPolicy(policy, actor: Operator.name) }
    }
    hasTakenSettings = true
    if auditsRelease { try store.auditRelease(actor: "sync") }
    auditsRelease = false
    settings = try store.settings().completed
  }

  private var namedSettings: OutcomeSettings {
    let replaces = configuration.replacesStored
    let fact = { (isSo: Bool) -> Bool? in isSo ? true : replaces ? false : nil }
    return OutcomeSettings(
      policy: configuration.policy,
      mergeRules: configuration.mergeRules,
      deletionGuard: configuration.deletionGuard,
      asksBeforeSending: fact(asksBeforeSending),
      asksAboutConflicts: fact(configuration.conflictResolver != nil)
    )
  }

  /// Counts the changes that still wait for the app; nil if there are none.
  func waitingForApp() throws(StoreError) -> Int? {
    let (saves, conflicts) = try store.waitingForApp()
    let left = (maySendSaves ? 0 : saves) + (configuration.conflictResolver != nil || isWithoutApp ? 0 : conflicts)
    return left > 0 ? left : nil
  }

  /// Resolves the app's conflicts by the policy. Those that the policy leaves to a person stay open.
  func resolveWithoutApp(_ lease: Lease) throws(StoreError) {
    guard isWithoutApp, let side = settings.policy?.side else { return }
    for conflict in try store.conflictsToAsk() { try store.take(.take(side), to: conflict, by: .policy, lease) }
  }
}

extension ConflictPolicy {
  /// The side that wins a whole conflict; nil if a person decides.
  fileprivate var side: ConflictSide? {
    switch self {
    case .server: .server
    case .client: .local
    case .newest: .newest
    case .manual: nil
    }
  }
}
