internal import Foundation

/// An error code of Web Services, or one of a few codes added by this client.
///
/// Unknown codes are kept by name, so that no error is lost.
package enum ServerErrorCode: Hashable, Sendable {
  case accessDenied, atomicError, authenticationFailed, authenticationRequired, badRequest, conflict, exists
  case internalError, notFound, quotaExceeded, throttled, tryAgainLater, validatingReferenceError, zoneNotFound
  case uniqueFieldError
  /// The transport failed: nothing was sent, or the reply was lost.
  case networkError
  /// A reply that does not follow the protocol, such as a proxy's HTML or truncated JSON.
  case unexpectedServerResponse
  /// A 413 without the protocol's envelope: the request is too large, not the account.
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

  package init(_ name: String) { self = Self.byName[name] ?? .unknown(WebServicesError.bounded(name, 64)) }

  /// The code as in the wire format and on the command line.
  package var name: String {
    if case .unknown(let name) = self { return name }
    return Self.byCode[self] ?? ""
  }

  /// All codes that have their own case.
  package static var allNamed: [ServerErrorCode] { named.map(\.0) }
}

/// An error from the server, or the failure to get a reply.
package struct WebServicesError: Error, Hashable, Sendable {
  /// The known effect of the request.
  package enum Effect: Hashable, Sendable {
    /// The server refused the request.
    case refused
    /// The request was not sent.
    case notSent
    /// The request may have taken effect. Fetch the result before repeating a write.
    case unknown
  }

  package var code: ServerErrorCode
  /// The server's text, at most 500 characters of it.
  package var reason: String {
    didSet { reason = Self.bounded(reason) }
  }
  /// The wait that the server asked for, in seconds from 0 to ten years; nil if there is none or it is invalid.
  package var retryAfter: Double? {
    didSet { retryAfter = Self.sound(retryAfter) }
  }
  package var effect: Effect
  package var httpStatus: Int?
  /// The URL of the sign-in page (421 only): `https`, or `http` on this machine; nil for any other.
  package var redirectURL: String? {
    didSet { redirectURL = redirectURL.flatMap { URL(signInPage: $0)?.absoluteString } }
  }
  /// The server's identifier of the request, for its operator.
  package var uuid: String? {
    didSet { uuid = uuid.map { Self.bounded($0, 64) } }
  }
  /// The beginning of the raw reply, for operators.
  package var response: String?

  package init(
    _ code: ServerErrorCode,
    _ reason: String,
    retryAfter: Double? = nil,
    effect: Effect = .refused,
    httpStatus: Int? = nil
  ) {
    self.code = code
    self.reason = Self.bounded(reason)
    self.retryAfter = Self.sound(retryAfter)
    self.effect = effect
    self.httpStatus = httpStatus
  }

  /// The maximum number of characters of a text from a server, which may be of any size and is shown to people.
  static let longestText = 500

  /// Returns the beginning of a text. Unicode scalars are counted, because a character may have any number of them.
  static func bounded(_ text: String, _ limit: Int = longestText) -> String {
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return text }
    return String(scalars[..<scalars.index(before: end)]) + "…"
  }

  /// Replies may contain anything: `nan`, `inf` and negative numbers are not valid wait times.
  static func sound(_ seconds: Double?) -> Double? {
    guard let seconds, seconds.isFinite, seconds >= 0 else { return nil }
    return min(seconds, 315_576_000)
  }
}
