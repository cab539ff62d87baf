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
  /// One record that the server was asked to save or delete.
  case writtenItem

  fileprivate var writes: Bool { self == .write || self == .writtenItem }
  fileprivate var isItem: Bool { self == .item || self == .writtenItem }
}

extension CKError {
  /// Converts an error of the server or the transport.
  ///
  /// The switch has no default: a new server code does not compile until it has a case here.
  init(_ failure: WebServicesError, in context: FailureContext) {
    let code: Code =
      switch failure.code {
      case .authenticationFailed, .authenticationRequired: .notAuthenticated
      case _ where context.writes && failure.leavesWriteInDoubt: .serverResponseLost
      case .accessDenied: .permissionFailure
      case .atomicError: .batchRequestFailed
      case .badRequest: context == .changes && failure.refusesChangeToken ? .changeTokenExpired : .invalidArguments
      case .conflict, .exists: .serverRecordChanged
      case .internalError, .unexpectedServerResponse: .internalError
      case .notFound: .unknownItem
      case .quotaExceeded: .quotaExceeded
      case .throttled: .requestRateLimited
      case .tryAgainLater: context.isItem ? .zoneBusy : .serviceUnavailable
      case .validatingReferenceError: .referenceViolation
      case .zoneNotFound: .zoneNotFound
      case .uniqueFieldError: .constraintViolation
      case .networkError: failure.effect == .notSent ? .networkUnavailable : .networkFailure
      case .limitExceeded: .limitExceeded
      case .unknown: failure.refusesChangeToken ? .changeTokenExpired : .internalError
      }
    self.init(code, failure)
  }
}
