import JSONText

/// An error in the server's format, for a whole request or for one item of an HTTP 200 response.
struct ServerError: Error, Sendable, Hashable {
  /// The server's error codes and their HTTP statuses. [D]
  enum Code: String, Sendable {
    case accessDenied = "ACCESS_DENIED"
    case atomicError = "ATOMIC_ERROR"
    case authenticationFailed = "AUTHENTICATION_FAILED"
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    case badRequest = "BAD_REQUEST"
    /// Found only in community code. [C] (Question 13)
    case changeTokenExpired = "CHANGE_TOKEN_EXPIRED"
    case conflict = "CONFLICT"
    case exists = "EXISTS"
    case internalError = "INTERNAL_ERROR"
    case notFound = "NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case throttled = "THROTTLED"
    case tryAgainLater = "TRY_AGAIN_LATER"
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    case zoneNotFound = "ZONE_NOT_FOUND"

    var status: Int {
      switch self {
      case .atomicError, .badRequest, .changeTokenExpired: 400
      case .authenticationFailed: 401
      case .accessDenied: 403
      case .notFound, .zoneNotFound: 404
      case .conflict, .exists: 409
      case .validatingReferenceError: 412
      case .quotaExceeded: 413
      case .authenticationRequired: 421
      case .throttled: 429
      case .internalError: 500
      case .tryAgainLater: 503
      }
    }
  }

  var code: Code
  var reason: String
  var retryAfter: Double?
  var redirectURL: String?
  /// Details for the local log only; never sent to a client.
  var detail: String?

  init(
    _ code: Code,
    _ reason: String,
    retryAfter: Double? = nil,
    redirectURL: String? = nil,
    detail: String? = nil
  ) {
    self.detail = detail
    self.code = code
    self.reason = reason
    self.retryAfter = retryAfter
    self.redirectURL = redirectURL
  }

  static func unwritable(_ error: any Error) -> ServerError {
    unusable(error, "The data file could not be written")
  }

  static func unreadable(_ error: any Error) -> ServerError {
    unusable(error, "The data file could not be read")
  }

  /// The reason of a lost file is sent to clients too, because all their requests fail until the emulator is restarted.
  private static func unusable(_ error: any Error, _ reason: String) -> ServerError {
    ServerError(.internalError, (error as? DataFile.Loss)?.description ?? reason, detail: "\(error)")
  }

  static let unauthenticated = ServerError(.authenticationFailed, "Authentication failed")

  static func badRequest(_ reason: String) -> ServerError {
    ServerError(.badRequest, reason)
  }

  /// Returns the members that every error dictionary has, after those that identify the item. [D]
  func members(after identity: JSONObject = [:]) -> JSONObject {
    var object = identity
    object.append("serverErrorCode", .string(code.rawValue))
    object.append("reason", .string(reason))
    object.append("retryAfter", retryAfter.map { Int64(exactly: $0).map { .int($0) } ?? .double($0) })
    object.append("redirectURL", redirectURL.map { .string($0) })
    return object
  }
}
