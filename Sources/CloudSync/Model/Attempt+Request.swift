extension Attempt {
  /// The identifier that the server gave its reply, which Apple's support asks for; nil where the reply has none.
  package var requestID: String? {
    // The stored reply is cut, so that it may be no JSON.
    response?.firstMatch(of: #/"uuid"\s*:\s*"([0-9A-Za-z-]{1,64})"/#).map { String($0.1) }
  }
}
