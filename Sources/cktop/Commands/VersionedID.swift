import ArgumentParser
import CloudSync

/// `ID` or `ID@VERSION`: a queued operation, in the version that a decision applies to or in its current one.
struct VersionedID: ExpressibleByArgument, Hashable, Sendable {
  var id: Int64
  /// Nil: the current version.
  var version: String?

  init(id: Int64, version: String? = nil) {
    self.id = id
    self.version = version
  }

  init?(argument: String) {
    let parts = argument.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let id = parts.first.flatMap({ Int64($0) }) else { return nil }
    let version = parts.dropFirst().first
    guard version.map(DecisionVersion.isWellFormed) ?? true else { return nil }
    self.init(id: id, version: version)
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
