package import CloudKit
import Foundation

/// Who wins where both sides changed the same field.
package enum ConflictPolicy: String, Hashable, Sendable, CaseIterable, Codable {
  /// The server's value stays; the local one is dropped and the drop recorded. The default.
  case server
  /// The local value goes up again on top of the server's record.
  case client
  /// The later edit, by the clocks of both sides; ties by the values themselves, alike on every device.
  case newest
  /// Nobody: the conflict waits on the conflict desk.
  case manual
}

/// A local change set against a newer server record: field by field, total and deterministic.
package struct Merge: Hashable, Sendable {
  /// What is still to be sent. Its base is the server's record.
  package var remaining = FieldChanges()
  /// Fields that both sides changed and that wait for a person (policy `manual` only).
  package var conflicts: Set<String> = []
  /// Fields whose local value the policy dropped.
  package var dropped: Set<String> = []

  /// Merges `changes`, made on `base`, with what the server holds now.
  ///
  /// Fields that only one side changed keep that side's value; equal values are no conflict whoever wrote them.
  package init(
    _ changes: FieldChanges,
    base: [String: FieldValue],
    server: [String: FieldValue],
    policy: ConflictPolicy,
    editedAt: Int64,
    serverModifiedAt: Int64
  ) {
    for name in changes.names {
      let local = changes[name]
      let theirs = server[name]
      // Equal on both sides, or set back to what it was: nothing of ours to send.
      if theirs == local || local == base[name] { continue }
      if theirs == base[name] {
        remaining[name] = local
        continue
      }
      switch policy {
      case .server:
        dropped.insert(name)
      case .client:
        remaining[name] = local
      case .newest:
        if Self.localIsNewer(local, theirs, editedAt, serverModifiedAt) {
          remaining[name] = local
        } else {
          dropped.insert(name)
        }
      case .manual:
        conflicts.insert(name)
        remaining[name] = local
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
    return canonical(server).lexicographicallyPrecedes(canonical(local))
  }

  private static func canonical(_ value: FieldValue?) -> Data {
    value.flatMap { try? $0.json() } ?? Data()
  }
}
