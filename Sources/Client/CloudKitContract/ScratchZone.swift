import Foundation

/// The zones that `cktop doctor` creates on a server. A run deletes its own, with those of runs that were killed, and
/// no other.
package enum ScratchZone: String, CaseIterable {
  /// The zone of `cktop doctor --write`.
  case write = "cktop-doctor-"
  /// The zones of `cktop doctor --contract`.
  case contract = "cktop-contract-"

  /// Returns a name for the zone of a run.
  package func newName() -> String { rawValue + UUID().uuidString.prefix(8).lowercased() }

  /// Whether a zone was made by a run: its name is the prefix and 8 random digits, or a UUID in earlier versions. A
  /// check may create the zone that it expects to be missing.
  package func made(_ zone: String) -> Bool {
    guard zone.hasPrefix(rawValue) else { return false }
    let rest = zone.dropFirst(rawValue.count)
    return rest.wholeMatch(of: /[0-9a-f]{8}(-missing)?/) != nil || UUID(uuidString: String(rest)) != nil
  }
}
