import Foundation

/// The zones that `cktop doctor` creates on a server. A run deletes its own, with those of runs that were killed, and no
/// other.
package enum ScratchZone: String, CaseIterable {
  /// Of `--write`.
  case write = "cktop-doctor-"
  /// Of `--contract`.
  case contract = "cktop-contract-"

  /// Returns a name for the zone of a run.
  package func newName() -> String { rawValue + UUID().uuidString.prefix(8).lowercased() }

  /// Whether a zone was made by a run: its name is the prefix and 8 random digits. A check may create the zone that it
  /// expects to be missing.
  package func made(_ zone: String) -> Bool {
    zone.hasPrefix(rawValue) && zone.dropFirst(rawValue.count).wholeMatch(of: /[0-9a-f]{8}(-missing)?/) != nil
  }
}
