package import CloudKit

extension CKAccountStatus {
  /// The account status that a server's refusal means.
  package init(_ code: ServerErrorCode) {
    switch code {
    case .authenticationRequired, .authenticationFailed: self = .noAccount
    case .accessDenied: self = .restricted
    case .throttled, .tryAgainLater, .internalError, .quotaExceeded: self = .temporarilyUnavailable
    default: self = .couldNotDetermine
    }
  }
}
