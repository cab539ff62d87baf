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
  private struct Content {
    var badgeValue = 0
    var completion: (((any Error)?) -> Void)?
  }

  private let content = Locked(Content())

  /// Makes an operation that sets the number to 0.
  public override init() {}

  /// Makes an operation that sets the number.
  public convenience init(badgeValue: Int) {
    self.init()
    self.badgeValue = badgeValue
  }

  /// The number.
  open var badgeValue: Int {
    get { content.badgeValue }
    set { content.badgeValue = newValue }
  }

  /// Called with the error.
  open var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? {
    get { content.completion }
    set { content.completion = newValue }
  }

  override func run() async {
    await conclude(content) { content in content.completion?(CKError.unsupported("set a badge")) }
  }
}

/// An operation that marks notifications as read on the user's devices. It fails with `CKError.invalidArguments`: Web
/// Services have no list of notifications.
@available(*, deprecated, message: "Web Services have no list of notifications")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
  private struct Content {
    var notificationIDs: [CKNotification.ID] = []
    var completion: (([CKNotification.ID]?, (any Error)?) -> Void)?
  }

  private let content = Locked(Content())

  /// Makes an operation that marks notifications as read.
  public init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
    super.init()
    content.notificationIDs = notificationIDs
  }

  /// The notifications.
  open var notificationIDs: [CKNotification.ID] {
    get { content.notificationIDs }
    set { content.notificationIDs = newValue }
  }

  /// Called with the error.
  open var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)? {
    get { content.completion }
    set { content.completion = newValue }
  }

  override func run() async {
    await conclude(content) { content in
      content.completion?(nil, CKError.unsupported("mark notifications as read"))
    }
  }
}

/// An operation that fetches the notifications of all of the user's devices. It fails with `CKError.invalidArguments`: Web
/// Services have no list of notifications. `CKContainer.notifications` has those that arrive.
@available(*, deprecated, message: "Use CKContainer.notifications instead")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
  private struct Content {
    var previousServerChangeToken: CKServerChangeToken?
    var resultsLimit = 0
    var changed: ((CKNotification) -> Void)?
    var completion: ((CKServerChangeToken?, (any Error)?) -> Void)?
  }

  private let content = Locked(Content())

  /// Makes an operation that fetches all notifications.
  public override init() {}

  /// Makes an operation that fetches the notifications since a token.
  public convenience init(previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
  }

  /// The token of the last fetch.
  open var previousServerChangeToken: CKServerChangeToken? {
    get { content.previousServerChangeToken }
    set { content.previousServerChangeToken = newValue }
  }

  /// The maximum number of notifications.
  open var resultsLimit: Int {
    get { content.resultsLimit }
    set { content.resultsLimit = newValue }
  }

  /// Whether there are more; always false.
  open var moreComing: Bool { false }

  /// Never called.
  open var notificationChangedBlock: ((CKNotification) -> Void)? {
    get { content.changed }
    set { content.changed = newValue }
  }

  /// Called with the error.
  open var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? {
    get { content.completion }
    set { content.completion = newValue }
  }

  override func run() async {
    await conclude(content) { content in content.completion?(nil, CKError.unsupported("list notifications")) }
  }
}
