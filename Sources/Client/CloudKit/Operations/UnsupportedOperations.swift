// Operations that Apple deprecated and Web Services have no call for. Code that uses them compiles; they fail.

extension CKError {
  /// The error of a call that Web Services do not have.
  static func unsupported(_ what: String) -> CKError {
    CKError(.invalidArguments, "CloudKit Web Services cannot \(what).")
  }
}

/// An operation that sets the number on an app's icon. It fails with `CKError.invalidArguments`: Web Services have no
/// badge.
@available(*, deprecated, message: "Web Services have no badge")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
  /// The number.
  @CKParameter open var badgeValue = 0

  /// Called with the error.
  @CKCallback open var modifyBadgeCompletionBlock: (((any Error)?) -> Void)?

  /// Makes an operation that sets the number to 0.
  public override init() {}

  /// Makes an operation that sets the number.
  public convenience init(badgeValue: Int) {
    self.init()
    self.badgeValue = badgeValue
  }

  override func run() async {
    await call { [self] in modifyBadgeCompletionBlock?(CKError.unsupported("set a badge")) }
  }
}

/// An operation that marks notifications as read on the user's devices. It fails with `CKError.invalidArguments`: Web
/// Services have no list of notifications.
@available(*, deprecated, message: "Web Services have no list of notifications")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
  /// The notifications.
  @CKParameter open var notificationIDs: [CKNotification.ID] = []

  /// Called with the error.
  @CKCallback open var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)?

  /// Makes an operation that marks notifications as read.
  public init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
    super.init()
    self.notificationIDs = notificationIDs
  }

  override func run() async {
    await call { [self] in
      markNotificationsReadCompletionBlock?(nil, CKError.unsupported("mark notifications as read"))
    }
  }
}

/// An operation that fetches the notifications of all of the user's devices. It fails with `CKError.invalidArguments`:
/// Web Services have no list of notifications. `CKContainer.notifications` has those that arrive.
@available(*, deprecated, message: "Use CKContainer.notifications instead")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
  /// The token of the last fetch.
  @CKParameter open var previousServerChangeToken: CKServerChangeToken?

  /// The maximum number of notifications.
  @CKParameter open var resultsLimit = 0

  /// Whether there are more; always false.
  open var moreComing: Bool { false }

  /// Never called.
  @CKCallback open var notificationChangedBlock: ((CKNotification) -> Void)?

  /// Called with the error.
  @CKCallback open var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)?

  /// Makes an operation that fetches all notifications.
  public override init() {}

  /// Makes an operation that fetches the notifications since a token.
  public convenience init(previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    await call { [self] in fetchNotificationChangesCompletionBlock?(nil, CKError.unsupported("list notifications")) }
  }
}
