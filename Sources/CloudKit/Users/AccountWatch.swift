public import Foundation
internal import Synchronization

extension NSNotification.Name {
  /// Posted by a container when its account changes: somebody signed in or out, the server refused the user's token, or
  /// another user is behind it. Ask `CKContainer.accountStatus()` then.
  ///
  /// Nothing watches the server by itself: a change is noticed by the call that meets it, and posted on its thread.
  public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// What a container last knew of its account.
final class AccountWatch: Sendable {
  private struct State {
    var status: CKAccountStatus?
    var userRecordName: String?
    /// The one who posts; it owns this object.
    weak var container: CKContainer?
  }

  private let state = Mutex(State())

  func belongs(to container: CKContainer) { state.withLock { $0.container = container } }

  /// Takes note of what the server said. What is learnt first is no change.
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

  /// Takes note that the user's token is of no use any more.
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
    NotificationCenter.default.post(name: .CKAccountChanged, object: container)
  }
}
