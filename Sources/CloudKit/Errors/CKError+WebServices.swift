/// Where an error of Web Services was met: the same code means different things in different places.
enum FailureContext {
  /// The whole of a request that only reads.
  case read
  /// The whole of a request that reads changes since a token.
  case changes
  /// The whole of a request that writes.
  case write
  /// One item of a request that the server answered.
  case item

  fileprivate var writes: Bool { self == .write }
}

extension CKError {
  /// The error that a refusal by the server, or the failure to get an answer, becomes in Apple's words.
  ///
  /// One switch without a default: a new server code does not compile until its meaning is decided here.
  init(_ failure: WebServicesError, in context: FailureContext) {
    let code: Code =
      switch failure.code {
      case .accessDenied: .permissionFailure
      case .atomicError: .batchRequestFailed
      case .authenticationFailed, .authenticationRequired: .notAuthenticated
      case .badRequest: context == .changes && failure.reasonNamesToken ? .changeTokenExpired : .invalidArguments
      case .conflict, .exists: .serverRecordChanged
      case .internalError: context.writes && failure.effect == .unknown ? .serverResponseLost : .internalError
      case .notFound: .unknownItem
      case .quotaExceeded: .quotaExceeded
      case .throttled: .requestRateLimited
      case .tryAgainLater: context == .item ? .zoneBusy : .serviceUnavailable
      case .validatingReferenceError: .referenceViolation
      case .zoneNotFound: .zoneNotFound
      case .uniqueFieldError: .constraintViolation
      case .networkError:
        switch failure.effect {
        case .notSent: .networkUnavailable
        case .unknown, .refused: context.writes ? .serverResponseLost : .networkFailure
        }
      case .unexpectedServerResponse: context.writes ? .serverResponseLost : .internalError
      case .limitExceeded: .limitExceeded
      case .unknown: .internalError
      }
    self.init(code, failure)
  }
}

extension WebServicesError {
  /// Whether the reason speaks of a sync token. Tokens have no code of their own, and this is the one place where a
  /// reason decides: `Unknown sync continuation type`, `Invalid continuation format`.
  fileprivate var reasonNamesToken: Bool {
    let reason = reason.lowercased()
    return reason.contains("continuation") || reason.contains("token")
  }
}
