internal import JSONText

/// Sends requests as the session's user, and keeps the session's token: it adopts newer tokens from responses, and
/// drops an invalid one.
///
/// A request refused because its token was replaced in the meantime is sent once more with the newest one.
struct AsUser: CallStep {
  let session: WebAuthSession
  /// The token of the app; nil for a client without users, whose requests have no query.
  let apiToken: String?
  let instruments: Instruments

  func handle(_ call: Call, _ next: Next) async throws(WebServicesError) -> CKTransportResponse {
    if call.isAnonymous { return try await next(self.call(call, as: nil)) }
    let token = session.current
    if let required = WebServicesClient.requiredSignIn, required != token?.signIn ?? session.signIn {
      throw .otherSignIn(.notSent)
    }
    let first = try await next(self.call(call, as: token))
    guard let token, let code = Self.refusalOfUser(first),
      let newer = session.replacement(of: token, isInvalid: code == .authenticationRequired)
    else { return first }
    return try await next(self.call(call, as: newer))
  }

  private func call(_ call: Call, as user: WebAuthSession.Token?) -> Call {
    guard let apiToken else { return call }
    var call = call
    call.request.query = CKCredential.query(apiToken: apiToken, webAuthToken: user?.text)
    if let user { call.received = { adoptToken(from: $0, to: user) } }
    return call
  }

  /// Adopts the newest token from a response. Every response can carry one, errors included (reference 1.4).
  private func adoptToken(from response: CKTransportResponse, to user: WebAuthSession.Token) {
    guard
      let token = response.header("X-Apple-CloudKit-Web-Auth-Token") ?? response.header("X-Apple-CloudKit-Session"),
      !token.isEmpty
    else { return }
    if session.adopt(token, inAnswerTo: user) { instruments.adoptedToken() }
  }

  /// The code of a response that refuses the request's credentials; nil for any other response, such as a proxy's 401
  /// and a 421 about the connection.
  ///
  /// Only `authenticationRequired` says that the user has to sign in. `authenticationFailed` is also the answer to a
  /// wrong API token (reference 1.3).
  private static func refusalOfUser(_ response: CKTransportResponse) -> ServerErrorCode? {
    guard [401, 421].contains(response.status), let code = (try? WireItemError(json: response.body))?.error.code,
      [.authenticationFailed, .authenticationRequired].contains(code)
    else { return nil }
    return code
  }
}
