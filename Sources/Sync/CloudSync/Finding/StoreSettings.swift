package import Facts
package import Foundation

/// The settings that name the store, the server and the user. What is wrong with one is thrown when it is needed.
package protocol StoreSettings: Sendable {
  /// The file of the first user's store, which may not exist yet; nil if no setting names it.
  var basePath: String? { get }
  /// Whether a setting names the file itself. Otherwise it is the standard one of the database, and each further user
  /// has one beside it.
  var namesStore: Bool { get }

  /// Returns the container, environment and database.
  ///
  /// - Parameter known: the scope of the store that is named, for what no setting gives; nil if there is none yet.
  func scope(_ known: SyncStore.Scope?) throws(CommandFailure) -> SyncStore.Scope

  /// Whether new records and zones may have names beyond ASCII.
  var acceptsUnicodeNames: Bool { get }

  /// Milliseconds after which a full sync no longer counts while no process syncs.
  var freshFor: Int64 { get }

  /// Returns the conflict policy for a new store; nil if none is named.
  func namedPolicy() throws(CommandFailure) -> ConflictPolicy?

  /// Throws in read-only mode.
  func refuseIfReadOnly() throws(CommandFailure)

  var serverURL: URL { get }
  /// The place where the URL is set, for messages.
  var serverPlace: String { get }
  /// Whether credentials may go to another machine over `http`.
  var allowsHTTP: Bool { get }

  func credential() throws(CommandFailure) -> SettingCredential

  /// The configured web auth token, also where another credential is used; nil if there is none.
  var signInToken: String? { get }
  /// All configured tokens, which are masked in everything that is shown.
  var secrets: [String] { get }
}

/// The credential for the server.
package enum SettingCredential: Hashable, Sendable {
  case serverToServer(keyID: String, keyFile: String)
  case webAuth(apiToken: String, webAuthToken: String)
  case apiToken(String)
  case none
}
