import CloudKit

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

  /// A setting for which an engine names a value other than the stored one.
  package enum Difference: Hashable, Sendable {
    case policy(stored: ConflictPolicy, named: ConflictPolicy)
    case mergeRules
    case deletionGuard

    var text: String {
      switch self {
      case .policy(let stored, let named): "conflict policy \(stored.rawValue), not \(named.rawValue)"
      case .mergeRules: "other merge rules"
      case .deletionGuard: "another deletion guard"
      }
    }
  }

  /// The settings decision at the start of a sync.
  package enum Decision: Hashable, Sendable {
    /// The stored settings are used as they are.
    case use
    /// These settings are stored and used.
    case store(OutcomeSettings)
    /// The sync is rejected.
    case refuse([Difference])
  }

  /// Decides which settings a sync uses.
  ///
  /// - Parameters:
  ///   - stored: the store's settings; those that are nil are taken from `named`, else from the defaults.
  ///   - named: the settings of the engine. `true` for a question to the app is stored; `false` removes it only if
  ///     `replaces` is set, and is never a difference.
  ///   - replaces: whether named settings replace stored ones.
  package static func decide(stored: Self, named: Self, replaces: Bool) -> Decision {
    var differences: [Difference] = []
    if let old = stored.policy, let new = named.policy, old != new {
      differences.append(.policy(stored: old, named: new))
    }
    if let old = stored.mergeRules, let new = named.mergeRules, old != new { differences.append(.mergeRules) }
    if let old = stored.deletionGuard, let new = named.deletionGuard, old != new { differences.append(.deletionGuard) }
    guard replaces || differences.isEmpty else { return .refuse(differences) }
    let result = OutcomeSettings(
      policy: named.policy ?? stored.policy,
      mergeRules: named.mergeRules ?? stored.mergeRules,
      deletionGuard: named.deletionGuard ?? stored.deletionGuard,
      asksBeforeSending: asks(stored.asksBeforeSending, named.asksBeforeSending, replaces),
      asksAboutConflicts: asks(stored.asksAboutConflicts, named.asksAboutConflicts, replaces)
    ).completed
    return result == stored ? .use : .store(result)
  }

  private static func asks(_ stored: Bool?, _ named: Bool?, _ replaces: Bool) -> Bool? {
    named == true || replaces ? named ?? stored : stored
  }
}
