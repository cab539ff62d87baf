extension WebServicesError {
  /// Whether the server no longer accepts a change token. The protocol has no code for this, only reasons:
  /// `Unknown sync continuation type`, `Invalid continuation format`. A few servers send `CHANGE_TOKEN_EXPIRED`. A
  /// token alone may be one of JSON or of a user.
  package var refusesChangeToken: Bool {
    guard case .badRequest = code else { return code.name == "CHANGE_TOKEN_EXPIRED" }
    let reason = reason.lowercased()
    return ["continuation", "sync token", "synctoken", "change token"].contains(where: reason.contains)
  }

  /// Whether a write that failed this way may have taken effect, so that the record must be fetched before the write is
  /// repeated (reference 6.5).
  package var leavesWriteInDoubt: Bool {
    switch code {
    case .internalError, .unexpectedServerResponse: true
    default: effect == .unknown
    }
  }
}
