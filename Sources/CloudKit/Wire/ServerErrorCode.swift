/// An error code in the Web Services' own spelling, with the few that a client has to add.
///
/// Unknown codes are kept by name: an error is never lost for want of a case.
package enum ServerErrorCode: Hashable, Sendable {
  case accessDenied, atomicError, authenticationFailed, authenticationRequired, badRequest, conflict, exists
  case internalError, notFound, quotaExceeded, throttled, tryAgainLater, validatingReferenceError, zoneNotFound
  case uniqueFieldError
  /// The transport failed: nothing was sent, or the answer was lost.
  case networkError
  /// An answer that is not the protocol's: HTML of a proxy, cut-off JSON.
  case unexpectedServerResponse
  /// A 413 without the protocol's envelope: the request, not the account, is too large.
  case limitExceeded
  case unknown(String)

  private static let named: [(ServerErrorCode, String)] = [
    (.accessDenied, "ACCESS_DENIED"), (.atomicError, "ATOMIC_ERROR"),
    (.authenticationFailed, "AUTHENTICATION_FAILED"), (.authenticationRequired, "AUTHENTICATION_REQUIRED"),
    (.badRequest, "BAD_REQUEST"), (.conflict, "CONFLICT"), (.exists, "EXISTS"), (.internalError, "INTERNAL_ERROR"),
    (.notFound, "NOT_FOUND"), (.quotaExceeded, "QUOTA_EXCEEDED"), (.throttled, "THROTTLED"),
    (.tryAgainLater, "TRY_AGAIN_LATER"), (.validatingReferenceError, "VALIDATING_REFERENCE_ERROR"),
    (.zoneNotFound, "ZONE_NOT_FOUND"), (.uniqueFieldError, "UNIQUE_FIELD_ERROR"), (.networkError, "NETWORK_ERROR"),
    (.unexpectedServerResponse, "UNEXPECTED_SERVER_RESPONSE"), (.limitExceeded, "LIMIT_EXCEEDED"),
  ]
  private static let byName = Dictionary(uniqueKeysWithValues: named.map { ($1, $0) })
  private static let byCode = Dictionary(uniqueKeysWithValues: named)

  package init(_ name: String) { self = Self.byName[name] ?? .unknown(name) }

  /// The code as the wire and the command line spell it.
  package var name: String {
    if case .unknown(let name) = self { return name }
    return Self.byCode[self] ?? ""
  }

  /// Every code that has a name of its own.
  package static var allNamed: [ServerErrorCode] { named.map(\.0) }
}

/// A refusal by the server, or the failure to get an answer at all.
package struct WebServicesError: Error, Hashable, Sendable {
  /// What is known of the request's effect.
  package enum Effect: Hashable, Sendable {
    /// The server answered and refused.
    case refused
    /// The request never left.
    case notSent
    /// It may have taken effect: read back before repeating a write.
    case unknown
  }

  package var code: ServerErrorCode
  package var reason: String
  /// Seconds the server asks to wait: a number from 0 to ten years, or nil where what it wrote is none.
  package var retryAfter: Double? {
    didSet { retryAfter = Self.sound(retryAfter) }
  }
  package var effect: Effect
  package var httpStatus: Int?
  /// Where a person signs in (421 only).
  package var redirectURL: String?
  package var uuid: String?
  /// The raw answer or element, cut to 4 KB, for the operator's eyes.
  package var response: String?

  package init(
    _ code: ServerErrorCode,
    _ reason: String,
    retryAfter: Double? = nil,
    effect: Effect = .refused,
    httpStatus: Int? = nil
  ) {
    self.code = code
    self.reason = reason
    self.retryAfter = Self.sound(retryAfter)
    self.effect = effect
    self.httpStatus = httpStatus
  }

  /// Headers and bodies are anybody's: `nan`, `inf` and numbers below zero are no time to wait for.
  private static func sound(_ seconds: Double?) -> Double? {
    guard let seconds, seconds.isFinite, seconds >= 0 else { return nil }
    return min(seconds, 315_576_000)
  }
}
