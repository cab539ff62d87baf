import ArgumentParser
import CloudSync
import Facts

/// `ID` or `ID@VERSION`: a queued operation, in the version that a decision applies to or in its current one.
struct VersionedID: Hashable, Sendable {
  var id: Int64
  /// Nil: the current version.
  var version: String?

  init(id: Int64, version: String? = nil) { (self.id, self.version) = (id, version) }

  /// Reads an argument.
  ///
  /// - Parameter list: the command whose list shows the numbers.
  init(parsing argument: String, from list: String) throws(ValidationError) {
    let parts = argument.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    id = try Self.number(parts[0], from: list)
    version = parts.dropFirst().first
    if let version, !DecisionVersion.isWellFormed(version) {
      throw ValidationError("after the @ a version is expected, as \(list) --json shows it")
    }
  }

  /// Reads a number without a version.
  static func number(_ argument: String, from list: String) throws(ValidationError) -> Int64 {
    guard let id = Int64(argument) else { throw ValidationError("a number is expected, as \(list) shows it") }
    return id
  }

  /// The versions by number.
  static func versions(_ ids: [VersionedID]) throws(CommandFailure) -> [Int64: String] {
    var versions: [Int64: String] = [:]
    for id in ids {
      guard let version = id.version else { continue }
      if let other = versions.updateValue(version, forKey: id.id), other != version {
        throw .usage("\(id.id) is given with two versions, \(other) and \(version); give one of them")
      }
    }
    return versions
  }
}

/// The value of `--version`: the version that a decision applies to.
struct VersionArgument: ExpressibleByArgument, Hashable, Sendable {
  var text: String

  init?(argument: String) {
    guard DecisionVersion.isWellFormed(argument) else { return nil }
    text = argument
  }
}
