public import Foundation
internal import Synchronization

extension NSNotification.Name {
  /// Posted by a container when its account changes: a user signed in or out, the server refused the user's token, or
  /// the user is another one. Call `CKContainer.accountStatus()` then.
  ///
  /// The server is not monitored. A change is noticed by the call that encounters it, and posted on that call's thread.
  public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// The last known account status of a container.
final class AccountWatch: Sendable {
  private struct State {
    var status: CKAccountStatus?
    var userRecordName: String?
    /// The container that posts the notification. It owns this object.
    weak var container: CKContainer?
  }

  private let state = Mutex(State())

  func belongs(to container: CKContainer) { state.withLock { $0.container = container } }

  /// The container; nil if it was released.
  var container: CKContainer? { state.withLock { $0.container } }

  /// Records the status that the server returned, and posts a notification if it changed. The first status is not a
  /// change.
  func note(_ status: CKAccountStatus, user: String? = nil) {
    post(
      state.withLock { state in
        let knew = state
        state.status = status
        state.userRecordName = user
        guard let former = knew.status else { return nil }
        let isAnother = user != nil && knew.userRecordName != nil && user != knew.userRecordName
        return former != status || isAnother ? state.container : nil
      }
    )
  }

  /// Records that the user's token is no longer valid, and posts a notification unless the user was already signed out.
  func lost() {
    post(
      state.withLock { state in
        defer { (state.status, state.userRecordName) = (.noAccount, nil) }
        return state.status == .noAccount ? nil : state.container
      }
    )
  }

  private func post(_ container: CKContainer?) {
    guard let container else { return }
    container.forgetRecords()
    NotificationCenter.default.post(name: .CKAccountChanged, object: container)
  }
}
