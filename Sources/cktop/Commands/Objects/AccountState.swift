import CloudKit
import CloudSync

/// Who we are to the server, in the five words that Apple's framework has for it.
struct AccountState: Hashable, Sendable {
  /// How an account stands.
  enum Status: String, Hashable, Sendable {
    case available, noAccount, restricted, couldNotDetermine, temporarilyUnavailable
  }

  var status: Status
  var user: String?
  var credential: String?
  var detail: String
  /// What we may do; nil where the server does not say.
  var permissions: [String]?

  /// What the store remembers of the last time somebody asked.
  init(_ store: StoreStatus, credential: String?) {
    self.credential = credential
    user = store.identity
    if let problem = store.accountProblem {
      status = Status(ServerErrorCode(problem.code))
      detail = "\(problem.code): \(problem.message)"
    } else if store.identity != nil {
      status = .available
      detail = "as of the last sync"
    } else {
      status = .couldNotDetermine
      detail = credential == nil ? "no credential is configured" : "the server has not been asked yet"
    }
  }

  /// What the server just said.
  init(_ answer: Result<String, WebServicesError>, credential: String?, database: DatabaseName) {
    self.credential = credential
    switch answer {
    case .success(let user):
      self.user = user
      status = .available
      detail = "the server accepts the credential"
      // One's own database is one's own to write. What a role may do in the public one, no call tells.
      if database == .private { permissions = ["read", "write"] }
    case .failure(let error):
      status = Status(error.code)
      detail = "\(error.code.name): \(error.reason)"
    }
  }

  /// The object inside `status`.
  var json: JSONObject {
    [
      "status": .text(status.rawValue), "user": .optional(user), "credential": .optional(credential),
      "detail": .text(detail),
    ]
  }

  /// The object of `account`.
  var longJSON: JSONObject {
    var object = json
    object["permissions"] = permissions.map { .array($0.map(OutputJSON.text)) } ?? .null
    // Neither a key nor a token says when it ends; the server refuses it when it has.
    object["expiresAt"] = .null
    return object
  }
}

extension AccountState.Status {
  init(_ code: ServerErrorCode) {
    switch code {
    case .authenticationRequired, .authenticationFailed: self = .noAccount
    case .accessDenied: self = .restricted
    case .throttled, .tryAgainLater, .internalError, .quotaExceeded: self = .temporarilyUnavailable
    default: self = .couldNotDetermine
    }
  }
}
