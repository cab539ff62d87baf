extension CKContainerConfiguration {
  /// Uses the token in a file, if there is one, and writes every later token to the file.
  ///
  /// A token is written before the reply that contained it is returned. If writing fails, the container uses the token
  /// anyway.
  ///
  /// - Throws: `CKCredentialError` if the credential has no API token, or the file cannot be read safely.
  public mutating func keepWebAuthToken(in file: CKWebAuthTokenFile) throws(CKCredentialError) {
    switch credential {
    case .apiToken(let apiToken), .webAuth(let apiToken, _):
      if let token = try file.read() { credential = .webAuth(apiToken: apiToken, webAuthToken: token) }
    case .serverToServerKey, nil:
      throw CKCredentialError("A web auth token needs an API token: set CLOUDKIT_API_TOKEN.")
    }
    webAuthTokenRotated = { token in try? file.keep(token) }
    webAuthTokenRefused = { token in file.forget(token) }
  }
}
