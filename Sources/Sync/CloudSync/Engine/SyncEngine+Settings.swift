import CloudKit
import Facts

/// The settings that the store keeps for every process, and what waits for the app.
extension SyncEngine {
  /// Whether the delegate is asked before a record is sent.
  nonisolated var asksBeforeSending: Bool { delegate?.isAskedBeforeSending ?? false }

  /// Whether this process can ask the app.
  nonisolated var asksApp: Bool { asksBeforeSending || configuration.conflictResolver != nil }

  /// Rejects a sync whose settings differ from the stored ones. Stores the settings at once if the store is known to be
  /// this user's, or else `takeSettings` does so after the server has confirmed it.
  ///
  /// - Throws: `StoreError` of kind `otherSettings`.
  func checkSettings() throws(StoreError) {
    try store.checkSettings(namedSettings, replaces: configuration.replacesStored)
    session.hasTakenSettings = false
    let isKnown = if let identity { try store.owner() == identity } else { try store.knows(credential) }
    if isKnown { try takeSettings(session) }
  }

  /// Stores this engine's settings and logs an operator's release, once per sync or start. Call it only after the
  /// store's user was checked.
  ///
  /// - Throws: `StoreError` of kind `otherSettings` if the stored settings differ.
  nonisolated func takeSettings(_ session: Session) throws(StoreError) {
    if !session.hasTakenSettings {
      try store.takeSettings(namedSettings, replaces: configuration.replacesStored)
      if let policy = configuration.replacingPolicy { try store.setPolicy(policy, actor: Operator.name) }
    }
    session.hasTakenSettings = true
    if session.auditsRelease { try store.auditRelease(actor: "sync") }
    session.auditsRelease = false
  }

  private nonisolated var namedSettings: OutcomeSettings {
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
}
