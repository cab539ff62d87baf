import CloudKit
package import Facts

/// The settings that affect the outcome of a sync. They are stored with the data, so that all processes decide the same
/// way.
///
/// The same type is used for stored settings and for those that an engine names; nil is a setting that is not stored
/// yet, or not named.
package struct OutcomeSettings: Hashable, Sendable, Codable {
  package var policy: ConflictPolicy?
  package var mergeRules: MergeRules?
  package var deletionGuard: DeletionGuard?
  /// Whether the app must see a save before it is sent.
  package var asksBeforeSending: Bool?
  /// Whether the app resolves conflicts.
  package var asksAboutConflicts: Bool?

  /// The default settings: the server wins, no rules, the default guard, no app is asked.
  package static let standard = OutcomeSettings(
    policy: .server,
    mergeRules: MergeRules(),
    deletionGuard: DeletionGuard(),
    asksBeforeSending: false,
    asksAboutConflicts: false
  )

  /// Returns these settings with defaults for those that are nil.
  package var completed: OutcomeSettings {
    let standard = Self.standard
    return OutcomeSettings(
      policy: policy ?? standard.policy,
      mergeRules: mergeRules ?? standard.mergeRules,
      deletionGuard: deletionGuard ?? standard.deletionGuard,
      asksBeforeSending: asksBeforeSending ?? standard.asksBeforeSending,
      asksAboutConflicts: asksAboutConflicts ?? standard.asksAboutConflicts
    )
  }

  /// Returns the policy for merges inside a transaction. Conflicts for the app stay open.
  ///
  /// - Parameter isWithoutApp: whether an operator has released what waits for the app.
  package func merging(isWithoutApp: Bool = false) -> MergePolicy {
    let appDecides = asksAboutConflicts == true && !isWithoutApp
    let limit = deletionGuard ?? DeletionGuard()
    return MergePolicy(
      appDecides ? .manual : policy ?? .server,
      rules: mergeRules ?? MergeRules(),
      deletionGuard: limit.isOff ? nil : limit
    )
  }

  // MARK: - Choosing the settings

  /// The settings decision at the start of a sync.
  package enum Decision: Hashable, Sendable {
    /// The stored settings are used as they are.
    case use
    /// These settings are stored and used.
    case store(OutcomeSettings)
    /// The sync is rejected, since it would replace stored settings.
    case refuse([Event.SettingChange])
  }

  /// Decides which settings a sync uses.
  ///
  /// - Parameters:
  ///   - stored: the store's settings; those that are nil are taken from `named`, else from the defaults.
  ///   - named: the settings of the engine. `true` for a question to the app is stored; `false` removes it only if
  ///     `replaces` is set, and is never a difference.
  ///   - replaces: whether named settings replace stored ones.
  package static func decide(stored: Self, named: Self, replaces: Bool) -> Decision {
    let result = OutcomeSettings(
      policy: named.policy ?? stored.policy,
      mergeRules: named.mergeRules ?? stored.mergeRules,
      deletionGuard: named.deletionGuard ?? stored.deletionGuard,
      asksBeforeSending: asks(stored.asksBeforeSending, named.asksBeforeSending, replaces),
      asksAboutConflicts: asks(stored.asksAboutConflicts, named.asksAboutConflicts, replaces)
    ).completed
    let changes = result.changes(since: stored)
    guard replaces || changes.isEmpty else { return .refuse(changes) }
    return result == stored ? .use : .store(result)
  }

  /// The stored settings that these replace.
  func changes(since old: OutcomeSettings) -> [Event.SettingChange] {
    var changes: [Event.SettingChange] = []
    if let before = old.policy, let policy, before != policy {
      changes.append(.policy(policy.rawValue, before: before.rawValue))
    }
    if old.mergeRules != nil, old.mergeRules != mergeRules { changes.append(.mergeRules) }
    if old.deletionGuard != nil, old.deletionGuard != deletionGuard { changes.append(.deletionGuard) }
    if old.asksBeforeSending == true, asksBeforeSending != true { changes.append(.appNotAskedBeforeSending) }
    if old.asksAboutConflicts == true, asksAboutConflicts != true { changes.append(.appNotAskedAboutConflicts) }
    return changes
  }

  private static func asks(_ stored: Bool?, _ named: Bool?, _ replaces: Bool) -> Bool? {
    named == true || replaces ? named ?? stored : stored
  }
}
