/// The context of a Web Services error: the same code has different meanings in different contexts.
enum FailureContext {
  /// A request that only reads.
  case read
  /// A request that fetches changes since a token.
  case changes
  /// A request that writes.
  case write
  /// One item of a request that the server answered.
  case item

  fileprivate var writes: Bool { self == .write }
}

extension CKError {
  /// Converts an error of the server or the transport.
  ///
  /// The switch has no default: a new server code does not compile until it has a case here.
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
  /// Whether the server's reason mentions a sync token. Token errors have no code of their own, so this is the one
  /// place where the reason text decides: `Unknown sync continuation type`, `Invalid continuation format`.
  fileprivate var reasonNamesToken: Bool {
    let reason = reason.lowercased()
    return reason.contains("continuation") || reason.contains("token")
  }
}
