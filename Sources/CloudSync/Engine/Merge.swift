package import CloudKit
import Foundation

/// Who wins where both sides changed the same field.
public enum ConflictPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The server's value stays; the local one is dropped and the drop recorded. The default.
  case server
  /// The local value goes up again on top of the server's record.
  case client
  /// The later edit, by the clocks of both sides; ties by the values themselves, alike on every device.
  case newest
  /// Nobody: the conflict waits on the conflict desk.
  case manual
}

/// What settles a field that both sides changed: its rule where it has one, else the policy.
package struct MergePolicy: Hashable, Sendable {
  package var policy: ConflictPolicy
  /// For fields of which a change does not say it itself.
  package var rules: MergeRules
  /// Which deletions are held back; nil: none.
  package var deletionGuard: DeletionGuard?

  package init(_ policy: ConflictPolicy, rules: MergeRules = MergeRules(), deletionGuard: DeletionGuard? = nil) {
    self.policy = policy
    self.rules = rules
    self.deletionGuard = deletionGuard
  }
}

/// A local change set against a newer server record: field by field, total and deterministic.
package struct Merge: Hashable, Sendable {
  /// What is still to be sent. Its base is the server's record.
  package var remaining = FieldChanges()
  /// Fields that wait for a person: both sides changed them, and the policy is `manual`.
  package var conflicts: Set<String> = []
  /// Fields whose local value the policy dropped.
  package var dropped: Set<String> = []

  /// Merges `changes`, made on `base`, with what the server holds now.
  ///
  /// Fields that only one side changed keep that side's value; equal values are no conflict whoever wrote them. Where
  /// both sides changed a field, its rule settles it, and where it has none, the policy.
  ///
  /// - Parameters:
  ///   - isBaseKnown: false where the changes were made without knowing the server's record: a clear of a field is then
  ///     meant, whatever is there.
  ///   - uncertain: fields of which nobody can tell whether the server's value has ours in it: a person has to say.
  ///   - contested: fields that a request of ours which may still arrive would set otherwise: they are sent also where the
  ///     server holds what is wanted.
  ///   - rules: those of fields for which the changes bring none.
  package init(
    _ changes: FieldChanges,
    base: [String: FieldValue],
    isBaseKnown: Bool = true,
    uncertain: Set<String> = [],
    contested: Set<String> = [],
    server: [String: FieldValue],
    policy: ConflictPolicy,
    rules: [String: MergeRule] = [:],
    editedAt: Int64,
    serverModifiedAt: Int64
  ) {
    for name in changes.names {
      let local = changes[name]
      let theirs = server[name]
      // What a record that nobody has sent was here, nobody has taken away there.
      let base = theirs == nil && !isBaseKnown ? nil : base[name]
      if uncertain.contains(name) {
        conflicts.insert(name)
        remaining.merge(name, local, changes.rules[name])
        continue
      }
      let rule = changes.rules[name] ?? rules[name] ?? .value
      if contested.contains(name), theirs == base {
        remaining.merge(name, local, changes.rules[name])
        continue
      }
      let joined = rule.joined(base: base, local: local, server: theirs)
      // Set back to what it was, or equal on both sides: nothing of ours to send. Two that counted alike have both counted.
      if local == base, isBaseKnown || local != nil || joined != nil { continue }
      if theirs == local, rule != .counter || joined == nil { continue }
      if theirs == base {
        remaining.merge(name, local, changes.rules[name])
        continue
      }
      if let joined {
        if joined != theirs { remaining.merge(name, joined, changes.rules[name]) }
        continue
      }
      switch policy {
      case .server:
        dropped.insert(name)
      case .client:
        remaining.merge(name, local, changes.rules[name])
      case .newest:
        if Self.localIsNewer(local, theirs, editedAt, serverModifiedAt) {
          remaining.merge(name, local, changes.rules[name])
        } else {
          dropped.insert(name)
        }
      case .manual:
        conflicts.insert(name)
        remaining.merge(name, local, changes.rules[name])
      }
    }
  }

  /// Ties go to the value whose bytes are larger: whichever side a device is on, it decides alike.
  private static func localIsNewer(
    _ local: FieldValue?,
    _ server: FieldValue?,
    _ editedAt: Int64,
    _ serverModifiedAt: Int64
  ) -> Bool {
    if editedAt != serverModifiedAt { return editedAt > serverModifiedAt }
    return (server?.orderingBytes ?? Data()).lexicographicallyPrecedes(local?.orderingBytes ?? Data())
  }
}
