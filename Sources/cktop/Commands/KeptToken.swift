import CloudSync
import Foundation

/// The newest web-auth token, kept beside the store between runs: the server replaces the token with each answer.
///
/// It is preferred while it descends from the configured one; a person who signs in again configures another, and then
/// the kept one is of no use any more.
struct KeptToken: Sendable {
  private let storePath: String
  private let configured: String

  /// - Parameter configured: The token of the environment, as it stands there.
  init(storePath: String, configured: String) {
    self.storePath = storePath
    self.configured = configured
  }

  /// The file for the token of the store's own sign-in.
  private var own: String { storePath + ".token" }

  /// The file used until the store is known to belong to this sign-in: the token of the store's own stays.
  private var foreign: String { StorePath.path(ofUnknown: origin, base: storePath) + ".token" }

  private struct Content: Codable {
    /// SHA-256 of the configured token, which is not written down a second time.
    var descendsFrom: String
    var token: String
  }

  /// A token copied out of a sign-in callback comes with its plus signs read as spaces.
  static func repaired(_ token: String) -> String { token.replacingOccurrences(of: " ", with: "+") }

  /// The kept token, where it descends from the configured one.
  func read() -> String? { read(foreign) ?? read(own) }

  private func read(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path),
      let content = try? JSONDecoder().decode(Content.self, from: data), content.descendsFrom == origin
    else { return nil }
    return content.token
  }

  /// Keeps a token, readable by its owner alone from its first byte on; also where there is no store yet, since a strict
  /// server takes only the newest.
  ///
  /// A token that cannot be written is no reason to stop: the configured one may go on working.
  func keep(_ token: String) {
    guard let data = try? JSONEncoder().encode(Content(descendsFrom: origin, token: token)) else { return }
    let isOwn = StorePath.mayBelong(storePath, to: origin)
    let path = isOwn ? own : foreign
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      try? FileManager.default.createDirectory(
        atPath: folder,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
      )
    }
    let temporary = "\(path).\(ProcessInfo.processInfo.processIdentifier)"
    let isMade = FileManager.default.createFile(
      atPath: temporary,
      contents: nil,
      attributes: [.posixPermissions: 0o600]
    )
    guard isMade, let handle = FileHandle(forWritingAtPath: temporary) else { return }
    guard (try? handle.write(contentsOf: data)) != nil, (try? handle.close()) != nil else { return }
    // In one step, so that another process never reads half of it.
    guard rename(temporary, path) == 0 else { return (try? FileManager.default.removeItem(atPath: temporary)) ?? () }
    if isOwn, foreign != own { try? FileManager.default.removeItem(atPath: foreign) }
  }

  /// Drops the kept token, which turned out to be somebody else's: the configured one is tried next time.
  ///
  /// - Returns: whether there was one.
  func forget() -> Bool { read(own) != nil && (try? FileManager.default.removeItem(atPath: own)) != nil }

  private var origin: String { Self.origin(of: configured) }

  /// What is written down of a configured token: its hash.
  static func origin(of configured: String) -> String { CredentialDigest.name(ofToken: configured) }

  /// Moves a kept token beside the store of its user, once it is known who that is.
  static func move(from storePath: String, to other: String) {
    guard FileManager.default.fileExists(atPath: storePath + ".token") else { return }
    _ = rename(storePath + ".token", other + ".token")
  }
}
