/// The user of a client's requests.
extension WebServicesClient {
  /// The credential with the newest web auth token.
  package var credential: CKCredential? {
    guard case .webAuth(let apiToken, _) = configuration.credential, let token = session.current else {
      return configuration.credential
    }
    return .webAuth(apiToken: apiToken, webAuthToken: token.text)
  }

  /// Whether users can sign in, which requires an API token.
  package var takesUsers: Bool { apiToken != nil }

  /// Whether requests are sent as a signed-in user.
  package var isSignedIn: Bool { session.current != nil }

  /// The sign-in that requests must be sent as; a request without it fails. Nil allows any sign-in.
  @TaskLocal package static var requiredSignIn: Int?

  /// A number that increases with each sign-in and sign-out. Facts about one user may not apply to the next.
  package var signIn: Int { session.signIn }

  /// The user of requests, whose records the cache keeps apart from those of other users.
  var reader: RecordCache.Reader {
    if case .serverToServerKey(let key)? = configuration.credential { return RecordCache.Reader(keyID: key.keyID) }
    return session.reader
  }

  /// Whether the user signed out. An expired or refused token does not count.
  package var hasSignedOut: Bool { session.hasSignedOut }

  /// Whether no user signed in since the client was made, or the user signed out. An expired or refused token does not
  /// count.
  package var isSignedOut: Bool {
    if case .webAuth = configuration.credential { return hasSignedOut }
    return !isSignedIn && (hasSignedOut || signIn == 0)
  }

  /// Returns the newest web auth token if it belongs to an API token.
  package func webAuthToken(for apiToken: String?) throws(WebServicesError) -> String {
    if apiToken == self.apiToken, let token = session.current?.text { return token }
    throw WebServicesError(.authenticationFailed, "no user is signed in with this API token", effect: .notSent)
  }

  /// Sends later requests as the user of a web auth token, or anonymously if it is nil.
  package func beginSession(with token: String?) { session.begin(with: token) }
}

extension WebServicesError {
  /// Creates the error for a request of a user who is no longer signed in.
  package static func otherSignIn(_ effect: Effect) -> WebServicesError {
    WebServicesError(.authenticationRequired, "the signed-in user changed in the meantime", effect: effect)
  }
}
