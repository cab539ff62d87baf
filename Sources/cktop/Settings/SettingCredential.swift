import CloudKit

/// What we show the server to be let in.
enum SettingCredential: Hashable, Sendable {
  case serverToServer(keyID: String, keyFile: String)
  case webAuth(apiToken: String, webAuthToken: String)
  case apiToken(String)
  case none
}

extension Settings {
  /// The credential for the database, or what is missing to make one.
  ///
  /// With both kinds at hand, the public database is asked with the key and the others with the user's token.
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
    case (.some, nil): throw .usage("a server-to-server key has an ID and no file; set CLOUDKIT_KEY_FILE too")
    case (nil, .some): throw .usage("a server-to-server key has a file and no ID; set CLOUDKIT_KEY_ID too")
    case (nil, nil): return apiToken.map { .apiToken($0.value) } ?? .none
    }
  }
}
