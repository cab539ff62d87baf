package import CloudKit

extension CKAccountStatus {
  /// The account status that a server's refusal means.
  package init(_ code: ServerErrorCode) {
    switch code.disposition {
    case .wait(.account): self = .noAccount
    case .denied: self = .restricted
    case .wait(.throttle), .wait(.quota), .outage: self = .temporarilyUnavailable
    default: self = .couldNotDetermine
    }
  }
}
