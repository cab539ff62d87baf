import CloudKit
import CloudSync
import Facts

/// The errors of the rooms below as what a command says of them.
extension CommandFailure {
  init(_ error: StoreError) {
    switch error.kind {
    case .otherUser: self.init(error.message, .personNeeded)
    case .cannotOpen, .notAStore, .damaged, .newer, .otherScope, .diskFull, .missing, .older, .replaced:
      self.init(error.message, .storeUnusable)
    case .fenced: self.init(error.message, .itemsFailed)
    case .invalid, .otherSettings: self.init(error.message, .usage)
    }
  }

  init(_ error: WebServicesError) {
    let reason = error.reason.isEmpty ? "" : ": \(error.reason.withoutFullStop)"
    let what: String
    switch error.code.status {
    case .cloudUnreachable where error.code == .networkError:
      what = "the cloud cannot be reached\(reason); check --url and the network, then try again"
    case .cloudUnreachable:
      let wait = error.retryAfter.map { " in \(Int($0.rounded(.up))) s" } ?? " later"
      what = "the server answered \(error.code.name)\(reason); try again\(wait)"
    case .personNeeded where error.redirectURL != nil:
      what = "nobody is signed in; open \(error.redirectURL ?? "") and put the token into CLOUDKIT_WEB_AUTH_TOKEN"
    case .personNeeded where error.code == .quotaExceeded:
      what = "there is no room left\(reason); make some, and what waits goes on by itself"
    case .personNeeded:
      what = "the server refused with \(error.code.name)\(reason); check the credential with cktop account"
    default:
      what = "the server answered \(error.code.name)\(reason); cktop status tells more"
    }
    self.init(what, error.code.status)
  }

  init(_ error: CKCredentialError) {
    self.init("\(error.message.withoutFullStop); cktop config check shows where it comes from", .personNeeded)
  }
}

extension ServerErrorCode {
  /// How a command ends that this error stops.
  var status: CommandStatus {
    switch self {
    case .authenticationFailed, .authenticationRequired, .accessDenied, .quotaExceeded: .personNeeded
    case .networkError, .throttled, .tryAgainLater, .internalError, .unexpectedServerResponse: .cloudUnreachable
    default: .itemsFailed
    }
  }
}
