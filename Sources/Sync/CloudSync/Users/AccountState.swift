package import CloudKit

/// The account as the server sees it, in the five states of Apple's `CKAccountStatus`.
package struct AccountState: Hashable, Sendable {
  /// The state of an account.
  package enum Status: String, Hashable, Sendable {
    case available, noAccount, restricted, couldNotDetermine, temporarilyUnavailable
  }

  package var status: Status
  /// Nil if unknown, and with an API token alone, for which the status is `available`.
  package var user: String?
  package var credential: String?
  package var detail: String
  /// Whether the credential is that of another user than the store's.
  package var isOtherUser = false
  /// The page on which a user signs in; nil if the server does not ask for that.
  package var signInURL: String?
  /// The permissions; nil if the server does not report them.
  package var permissions: [String]?

  /// The account as of the last sync, from the store.
  package init(_ store: StoreStatus, credential: String?) {
    self.credential = credential
    user = store.isAnonymous ? nil : store.identity
    if store.isRefused {
      (status, isOtherUser) = (.noAccount, true)
      detail =
        store.identity.map { "this store belongs to \($0), and the credential to another user" }
        ?? "this store belongs to another user"
    } else if let problem = store.accountProblem {
      status = Status(ServerErrorCode(problem.code))
      detail = "\(problem.code): \(problem.message)"
    } else if let owner = store.identity, credential != nil, !store.accepts(credential) {
      status = .noAccount
      detail = "this store belongs to \(owner), and no user is signed in"
    } else if store.identity != nil {
      status = .available
      detail = store.isAnonymous ? "as of the last sync, with an API token alone" : "as of the last sync"
    } else {
      status = .couldNotDetermine
      detail = credential == nil ? "no credential is configured" : "the server has not been asked yet"
    }
  }

  /// The account as the server just reported it.
  package init(_ answer: Result<String, WebServicesError>, credential: String?, database: DatabaseName) {
    self.credential = credential
    switch answer {
    case .success(SyncStore.anonymous):
      (status, detail) = (.available, "the server accepts the API token")
    case .success(let user):
      self.user = user
      status = .available
      detail = "the server accepts the credential"
      // Users may read and write their private database. No call reports what a role may do in the public one.
      if database == .private { permissions = ["read", "write"] }
    case .failure(let error):
      status = Status(error.code)
      detail = "\(error.code.name): \(error.reason)"
      signInURL = error.redirectURL
    }
  }

  /// The state in words.
  package var words: String {
    if isOtherUser { return "wrong account" }
    return status == .available && user == nil ? "no user signed in" : status.words
  }
}

extension AccountState.Status {
  init(_ code: ServerErrorCode) {
    switch CKAccountStatus(code) {
    case .noAccount: self = .noAccount
    case .restricted: self = .restricted
    case .temporarilyUnavailable: self = .temporarilyUnavailable
    default: self = .couldNotDetermine
    }
  }

  /// The state of the account in words.
  package var words: String {
    switch self {
    case .available: "signed in"
    case .noAccount: "signed out"
    case .restricted: "access denied"
    case .couldNotDetermine: "unknown"
    case .temporarilyUnavailable: "not available now"
    }
  }
}
