package import CloudKit

/// Merges a local change set with a newer server record, field by field and deterministically.
package struct Merge: Hashable, Sendable {
  /// The changes still to be sent, based on the server's record.
  package var remaining = FieldChanges()
  /// Fields that a person has to decide: both sides changed them, and the policy is `manual`.
  package var conflicts: Set<String> = []
  /// Fields whose local value the policy dropped.
  package var dropped: Set<String> = []
  /// Fields whose value on the server the policy overwrites with the local one.
  package var overwritten: Set<String> = []

  /// Merges `changes`, made on `base`, with the server's current fields.
  ///
  /// A field that only one side changed keeps that side's value; equal values are no conflict. If both sides changed a
  /// field, its rule resolves it, or else the policy.
  ///
  /// - Parameters:
  ///   - isBaseKnown: false if the changes were made without knowing the server's record: then clearing a field, or
  ///     setting it to an empty list, is meant, whatever the server holds.
  ///   - contested: fields that an unconfirmed request may still set otherwise: they are sent even if the server holds
  ///     the right value.
  ///   - rules: the rules of fields for which the changes have none.
  package init(
    _ changes: FieldChanges,
    base: [String: FieldValue],
    isBaseKnown: Bool = true,
    contested: Set<String> = [],
    server: [String: FieldValue],
    policy: ConflictPolicy,
    rules: [String: MergeRule] = [:],
    editedAt: Int64,
    serverModifiedAt: Int64
  ) {
    let times = EditTimes(local: editedAt, server: serverModifiedAt)
    for name in changes.names {
      let local = changes[name]
      let theirs = server[name]
      // We never sent this record, so a field missing on the server was not deleted there.
      let base = theirs == nil && !isBaseKnown ? nil : base[name]
      let rule = changes.rules[name] ?? rules[name] ?? .value
      if contested.contains(name), theirs.isSame(as: base) {
        remaining.merge(name, local, changes.rules[name])
        continue
      }
      let joined = rule.joined(base: base, local: local, server: theirs)
      // Unchanged, or equal on both sides: nothing to send.
      if local.isSame(as: base), isBaseKnown || !local.isAbsent || joined != nil { continue }
      if theirs.isSame(as: local) { continue }
      if theirs.isSame(as: base) {
        remaining.merge(name, local, changes.rules[name])
        continue
      }
      if let joined {
        if !joined.isSame(as: theirs) { remaining.merge(name, joined, changes.rules[name]) }
        continue
      }
      switch policy {
      case .server:
        dropped.insert(name)
      case .client:
        overwritten.insert(name)
        remaining.merge(name, local, changes.rules[name])
      case .newest:
        if times.newest(local, theirs) == .local {
          overwritten.insert(name)
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
}
