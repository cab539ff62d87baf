import CloudKit
import Foundation

/// The newest web auth token, saved beside the store between runs: the server replaces the token with each reply.
///
/// It is preferred while it descends from the configured token. After a new sign-in, another token is configured and
/// the saved one is ignored.
package struct KeptToken: Sendable {
  private let storePath: String
  private let configured: String

  /// - Parameter configured: The token of the environment, unchanged.
  package init(storePath: String, configured: String) { (self.storePath, self.configured) = (storePath, configured) }

  /// The file for the token of the store's own sign-in.
  private var own: String { storePath + ".token" }

  /// The file used until the store is known to belong to this sign-in. The token of the store's own sign-in stays.
  private var foreign: String { StorePath.path(ofUnknown: origin, base: storePath) + ".token" }

  private struct Content: Codable {
    /// The SHA-256 of the configured token, which is not stored again itself.
    var descendsFrom: String
    var token: String
  }

  /// The saved token, if it descends from the configured one.
  package func read() -> String? { read(foreign) ?? read(own) }

  /// The file of the saved token, if others can access it.
  package var openFile: String? {
    [foreign, own].first { path in
      let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
      return mode.map { $0 & 0o077 != 0 } ?? false
    }
  }

  private func read(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path),
      let content = try? JSONDecoder().decode(Content.self, from: data), content.descendsFrom == origin
    else { return nil }
    return content.token
  }

  /// Saves a token. Also works without a store: a strict server accepts only the newest token.
  ///
  /// Ignores errors: the configured token may still work.
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
    guard (try? PrivateFile.replace(path, with: data)) != nil else { return }
    if isOwn, foreign != own { try? FileManager.default.removeItem(atPath: foreign) }
  }

  /// Removes the saved token, which turned out to be another user's: the configured one is tried next time.
  ///
  /// - Returns: whether there was one.
  func forget() -> Bool { read(own) != nil && (try? FileManager.default.removeItem(atPath: own)) != nil }

  private var origin: String { Self.origin(of: configured) }

  /// The hash of a configured token, which is stored instead of it.
  static func origin(of configured: String) -> String { CredentialDigest.name(ofToken: configured) }

  /// Moves a saved token to the store of its user, once the user is known.
  static func move(from storePath: String, to other: String) {
    guard FileManager.default.fileExists(atPath: storePath + ".token") else { return }
    _ = rename(storePath + ".token", other + ".token")
  }
}
