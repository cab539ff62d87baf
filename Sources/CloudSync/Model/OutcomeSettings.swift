import CloudKit

/// The settings that change the outcome of a sync. They are kept with the store, so that every process that syncs it
/// decides alike.
///
/// The same type holds what is stored and what an engine names; nil is a setting that is not stored yet, or not named.
package struct OutcomeSettings: Hashable, Sendable, Codable {
  package var policy: ConflictPolicy?
  package var mergeRules: MergeRules?
  package var deletionGuard: DeletionGuard?
  /// Whether the app must see a save before it is sent.
  package var asksBeforeSending: Bool?
  /// Whether the app decides what both sides changed.
  package var asksAboutConflicts: Bool?

  package init(
    policy: ConflictPolicy? = nil,
    mergeRules: MergeRules? = nil,
    deletionGuard: DeletionGuard? = nil,
    asksBeforeSending: Bool? = nil,
    asksAboutConflicts: Bool? = nil
  ) {
    self.policy = policy
    self.mergeRules = mergeRules
    self.deletionGuard = deletionGuard
    self.asksBeforeSending = asksBeforeSending
    self.asksAboutConflicts = asksAboutConflicts
  }

  /// The settings of a store that keeps none: the server wins, no rules, the default guard, no app is asked.
  package static let standard = OutcomeSettings(
    policy: .server,
    mergeRules: MergeRules(),
    deletionGuard: DeletionGuard(),
    asksBeforeSending: false,
    asksAboutConflicts: false
  )

  /// Returns these settings with the defaults for those that are not stored.
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

  /// Returns what a transaction decides by itself. Conflicts that the app decides stay open.
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

  // MARK: - What a sync goes by

  /// A setting that an engine names and that the store keeps with another value.
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

  /// How a sync begins.
  package enum Decision: Hashable, Sendable {
    /// The stored settings hold as they are.
    case use
    /// These are stored first, and hold from then on.
    case store(OutcomeSettings)
    /// The sync does not begin.
    case refuse([Difference])
  }

  /// Decides which settings a sync goes by.
  ///
  /// - Parameters:
  ///   - stored: the store's settings; those that are nil are taken from `named`, else from the defaults.
  ///   - named: the settings of the engine. An engine with an app that is to be asked names `true` for that; `false` takes
  ///     the question back, which only replaces, and never differs.
  ///   - replaces: whether what is named replaces what is stored.
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
