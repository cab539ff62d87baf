import CloudKit
import Facts

/// The credential for the server.
enum SettingCredential: Hashable, Sendable {
  case serverToServer(keyID: String, keyFile: String)
  case webAuth(apiToken: String, webAuthToken: String)
  case apiToken(String)
  case none
}

extension Settings {
  /// The credential for the database. Throws a usage failure that names a missing part.
  ///
  /// If both kinds are configured, the key is used for the public database and the user's token for the others.
  func credential() throws(CommandFailure) -> SettingCredential {
    let isPublic = database.value == .public
    if let webAuthToken, !isPublic || (keyID == nil && keyFile == nil) {
      guard let apiToken else {
        throw CommandFailure("CLOUDKIT_WEB_AUTH_TOKEN needs an API token; set CLOUDKIT_API_TOKEN too", .usage)
      }
      return .webAuth(apiToken: apiToken.value, webAuthToken: webAuthToken.value)
    }
    switch (keyID, keyFile) {
    case (let keyID?, let keyFile?): return .serverToServer(keyID: keyID.value, keyFile: keyFile.value)
    case (.some, nil): throw .usage("a server-to-server key has an ID but no file; set CLOUDKIT_KEY_FILE too")
    case (nil, .some): throw .usage("a server-to-server key has a file but no ID; set CLOUDKIT_KEY_ID too")
    case (nil, nil): return apiToken.map { .apiToken($0.value) } ?? .none
    }
  }
}
