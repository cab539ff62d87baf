import CloudKit
import CloudSync
import Facts

/// The messages and exit codes for errors of CloudKit and CloudSync.
extension CommandFailure {
  init(_ error: StoreError) {
    switch error.kind {
    case .otherUser: self.init(error.message, .personNeeded)
    case .cannotOpen, .notAStore, .damaged, .otherVersion, .otherScope, .diskFull, .missing, .replaced:
      self.init(error.message, .storeUnusable)
    case .fenced: self.init(error.message, .itemsFailed)
    case .invalid, .otherSettings: self.init(error.message, .usage)
    }
  }

  init(_ error: WebServicesError) {
    let reason = error.reason.isEmpty ? "" : ": \(error.reason.withoutFullStop)"
    let cause = Words.joined(error.reason.withoutFullStop, error.code.name)
    let what: String
    switch error.code.status {
    case .cloudUnreachable where error.code == .networkError:
      what = "the cloud cannot be reached\(reason); check --url and the network, then try again"
    case .cloudUnreachable:
      let wait = error.retryAfter.map { " in \(Int($0.rounded(.up))) s" } ?? " later"
      what = "the request failed: \(cause); try again\(wait)"
    case .personNeeded where error.redirectURL != nil:
      what = "no user is signed in; open \(error.redirectURL ?? "") and set CLOUDKIT_WEB_AUTH_TOKEN to the token"
    case .personNeeded where error.code == .quotaExceeded:
      what = "the storage quota is full\(reason); free some space, then waiting changes are sent"
    case .personNeeded:
      what = "the server denied access: \(cause); check the credential with cktop account"
    default:
      what = "the server rejected the request: \(cause); run cktop status for details"
    }
    self.init(what, error.code.status)
  }

  init(_ error: CKCredentialError) {
    self.init("\(error.message.withoutFullStop); run cktop config check to see where it comes from", .usage)
  }
}

extension ServerErrorCode {
  /// The exit status of a command that this error stops.
  var status: CommandStatus {
    switch disposition {
    case _ where needsPerson: .personNeeded
    case .wait, .outage, .unanswered: .cloudUnreachable
    default: .itemsFailed
    }
  }
}
