package import CloudKit
package import Facts

// The messages and exit codes of errors that stop a command.

extension StoreError: CommandError {
  package var failure: CommandFailure {
    switch kind {
    case .otherUser, .noUser: CommandFailure(message, .personNeeded)
    case .cannotOpen, .notAStore, .damaged, .otherVersion, .otherScope, .diskFull, .missing, .replaced:
      CommandFailure(message, .storeUnusable)
    case .fenced: CommandFailure(message, .itemsFailed)
    case .invalid, .otherSettings: CommandFailure(message, .usage)
    }
  }
}

extension FilterError: CommandError {
  package var failure: CommandFailure { .usage(description) }
}

extension FieldError: CommandError {
  package var failure: CommandFailure { .usage(message) }
}

extension CKCredentialError: CommandError {
  package var failure: CommandFailure {
    .usage("\(message.withoutFullStop); run cktop config check to see where it comes from")
  }
}

extension WebServicesError: CommandError {
  package var failure: CommandFailure {
    let because = reason.isEmpty ? "" : ": \(reason.withoutFullStop)"
    let cause = Words.joined(reason.withoutFullStop, code.name)
    let what: String
    switch code.status {
    case .cloudUnreachable where code == .networkError:
      what = "the cloud cannot be reached\(because); check --url and the network, then try again"
    case .cloudUnreachable:
      let wait = retryAfter.map { " in \(Int($0.rounded(.up))) s" } ?? " later"
      what = "the request failed: \(cause); try again\(wait)"
    case .personNeeded where redirectURL != nil:
      what = "no user is signed in; open \(redirectURL ?? "") and set CLOUDKIT_WEB_AUTH_TOKEN to the token"
    case .personNeeded where code == .quotaExceeded:
      what = "the storage quota is full\(because); free some space, then waiting changes are sent"
    case .personNeeded:
      what = "the server denied access: \(cause); check the credential with cktop account"
    default:
      what = "the server rejected the request: \(cause); run cktop status for details"
    }
    return CommandFailure(what, code.status)
  }
}

extension ServerErrorCode {
  /// The exit status of a command that this error stops.
  package var status: CommandStatus {
    switch disposition {
    case _ where needsPerson: .personNeeded
    case .wait, .outage, .unanswered: .cloudUnreachable
    default: .itemsFailed
    }
  }
}
