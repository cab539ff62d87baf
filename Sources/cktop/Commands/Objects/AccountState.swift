import CloudKit
import CloudSync
import JSONText

/// The account as the server sees it, in the five states of Apple's `CKAccountStatus`.
struct AccountState: Hashable, Sendable {
  /// The state of an account.
  enum Status: String, Hashable, Sendable {
    case available, noAccount, restricted, couldNotDetermine, temporarilyUnavailable
  }

  var status: Status
  var user: String?
  var credential: String?
  var detail: String
  /// Whether the credential is that of another user than the store's.
  var isOtherUser = false
  /// The page on which a user signs in; nil if the server does not ask for that.
  var signInURL: String?
  /// The permissions; nil if the server does not report them.
  var permissions: [String]?

  /// The account as of the last sync, from the store.
  init(_ store: StoreStatus, credential: String?) {
    self.credential = credential
    user = store.identity
    if store.isRefused {
      (status, isOtherUser) = (.noAccount, true)
      detail =
        store.identity.map { "this store belongs to \($0), and the credential to another user" }
        ?? "this store belongs to another user"
    } else if let problem = store.accountProblem {
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

  /// The account as the server just reported it.
  init(_ answer: Result<String, WebServicesError>, credential: String?, database: DatabaseName) {
    self.credential = credential
    switch answer {
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
  var words: String { isOtherUser ? "wrong account" : status.words }
}

extension AccountState: PrintedObject {
  /// The account object inside `status`.
  static let jsonFields: JSONFields<Self> = [
    "status": .text(\.status.rawValue), "user": .text(\.user), "credential": .text(\.credential),
    "detail": .text(\.detail),
  ]

  /// The output of `account`.
  static let longFields = jsonFields.adding([
    "permissions": .texts(\.permissions),
    // Keys and tokens do not state when they expire.
    "expiresAt": .value { _ in .null }, "signInURL": .text(\.signInURL),
  ])
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
}
