import CloudKit
import Foundation

/// Finds the store's file of each user.
///
/// The first user of a database has the base file, each other one a file beside it with the user in its name, so that
/// no queue is sent as another user.
package enum StorePath {
  /// The default file for a database, in a folder of `$XDG_STATE_HOME`.
  package static func standard(_ scope: SyncStore.Scope, _ environment: [String: String]) -> String {
    "\(BaseDirectory.state.path(environment))/cktop/\(name(scope))"
  }

  /// `CONTAINER.ENVIRONMENT.DATABASE.sqlite`, with special characters percent-encoded, so that two containers never
  /// share a file.
  package static func name(_ scope: SyncStore.Scope) -> String {
    "\(encoded(scope.container)).\(scope.environment).\(scope.database.rawValue).sqlite"
  }

  /// The base file for the database of shared records beside that of a private database.
  static func shared(besides base: String, _ scope: SyncStore.Scope) -> String {
    let url = URL(fileURLWithPath: base)
    var shared = scope
    shared.database = .shared
    guard url.lastPathComponent == name(scope) else { return "\(stem(base))-shared.sqlite" }
    return url.deletingLastPathComponent().appendingPathComponent(name(shared)).path
  }

  /// The file of a user, if `base` is that of the first one. Without a user it is `base`.
  package static func path(of user: String?, base: String) -> String {
    guard let user, let owner = SyncStore.value(.identity, ofStoreAt: base), owner != SyncStore.anonymous, owner != user
    else { return base }
    return sibling(of: base, for: user)
  }

  /// Returns the file of a credential's user, as far as this machine knows.
  ///
  /// - Parameter signIn: the name of the credential; see `CredentialDigest.name(ofToken:)`.
  /// - Returns: nil if the first file belongs to a user, or has changes of another credential, and no file has that
  ///   credential: only the server can name the user.
  package static func path(ofSignIn signIn: String, base: String) -> String? {
    func credential(_ path: String) -> CredentialDigest? {
      SyncStore.value(.signIn, ofStoreAt: path).map(CredentialDigest.init(stored:))
    }
    let owner = SyncStore.value(.identity, ofStoreAt: base) ?? SyncStore.anonymous
    if owner == SyncStore.anonymous, credential(base).map({ $0.matches(signIn) }) ?? true { return base }
    return ([base] + siblings(of: base)).first { credential($0)?.matches(signIn) == true }
  }

  /// Throws if this user may not read all files of which one may be the store of a credential's user.
  package static func requireReadable(besides base: String) throws(StoreError) {
    let folder = URL(fileURLWithPath: base).deletingLastPathComponent().path
    if case .denied(let place, let owner) = StoreFile(atPath: folder) {
      throw .denied(base, place: place, owner: owner, user: NSUserName())
    }
    for path in [base] + siblings(of: base) { _ = try SyncStore.exists(at: path) }
  }

  /// Whether a store may belong to a sign-in as far as this machine knows, or has no user.
  package static func mayBelong(_ path: String, to signIn: String) -> Bool {
    guard let known = SQLiteStorage.values([.signIn, .queuedBy, .identity], ofFileAt: path) else {
      return !FileManager.default.fileExists(atPath: path)
    }
    if let digest = known[0] { return CredentialDigest(stored: digest).matches(signIn) }
    return known[1] == nil && known[2] ?? SyncStore.anonymous == SyncStore.anonymous
  }

  /// Whether a credential's user may have a file other than the first one.
  package static func isShared(base: String, _ signIn: String) -> Bool {
    if FileManager.default.fileExists(atPath: path(ofUnknown: signIn, base: base)) { return true }
    return SyncStore.owner(ofStoreAt: base).map { $0 != SyncStore.anonymous } ?? false
  }

  /// Returns the file for changes queued with a credential while the server cannot name its user. They move to the
  /// user's file with the first sync.
  package static func path(ofUnknown signIn: String, base: String) -> String {
    // No user's file has this name, because the character would be encoded.
    "\(stem(base)).~\(signIn.prefix(12)).sqlite"
  }

  private static func sibling(of base: String, for user: String) -> String {
    "\(stem(base)).\(encoded(user)).sqlite"
  }

  private static func siblings(of base: String) -> [String] {
    let url = URL(fileURLWithPath: base)
    let folder = url.deletingLastPathComponent().path
    let start = "\(stem(url.lastPathComponent))."
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix(start) && $0.hasSuffix(".sqlite") && $0 != url.lastPathComponent }.sorted()
      .map { "\(folder)/\($0)" }
  }

  private static func stem(_ path: String) -> String { path.hasSuffix(".sqlite") ? String(path.dropLast(7)) : path }

  private static func encoded(_ text: String) -> String {
    var name = ""
    for (index, byte) in text.utf8.enumerated() {
      let scalar = Unicode.Scalar(byte)
      let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
      if isPlain || scalar == "-" || scalar == "_" || (scalar == "." && index > 0) {
        name.unicodeScalars.append(scalar)
      } else {
        name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return name
  }
}
