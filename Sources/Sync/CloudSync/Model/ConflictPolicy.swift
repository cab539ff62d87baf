/// Decides which side wins if both changed the same field.
public enum ConflictPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The server's value stays. The local change is dropped and can be undone. The default.
  case server
  /// The local value is saved over the server's.
  case client
  /// The later edit wins, by the clocks of both sides; at equal times the values decide, the same way on every device.
  case newest
  /// A person decides: the record goes to the list of conflicts.
  case manual
}

/// Resolves a field that both sides changed: by its merge rule if it has one, else by the policy.
package struct MergePolicy: Hashable, Sendable {
  package var policy: ConflictPolicy
  /// The rules of fields for which a change has none itself.
  package var rules: MergeRules
  /// The mass-deletion guard; nil if deletions are never put on hold.
  package var deletionGuard: DeletionGuard?

  package init(_ policy: ConflictPolicy, rules: MergeRules = MergeRules(), deletionGuard: DeletionGuard? = nil) {
    self.policy = policy
    self.rules = rules
    self.deletionGuard = deletionGuard
  }
}
