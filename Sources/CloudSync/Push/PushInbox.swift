import CloudKit
import Synchronization

/// What pushes have said since the last look: that there is something to read, never what.
final class PushInbox: Sendable {
  private struct State {
    var isFull = false
    var isListening = false
  }

  private let state = Mutex(State())

  /// Something was announced.
  var isFull: Bool { state.withLock { $0.isFull } }
  /// Pushes are being collected: the courier has answered, and is not being reached anew.
  var isListening: Bool { state.withLock { $0.isListening } }

  func fill() { state.withLock { $0.isFull = true } }
  func empty() { state.withLock { $0.isFull = false } }

  /// Whether that is news.
  func setListening(_ isListening: Bool) -> Bool {
    state.withLock { state in
      defer { state.isListening = isListening }
      return state.isListening != isListening
    }
  }
}

extension SyncEngine {
  /// Collects pushes until cancelled. Where that is refused it is tried again now and then, and polls come as often as
  /// without pushes.
  func listen(_ inbox: PushInbox) -> Task<Void, Never>? {
    guard let pushes = configuration.pushes else { return nil }
    let (wakeup, database) = (wakeup, database)
    // Polls come as often as it says: the driver looks when the next is due.
    let heard = { @Sendable (isListening: Bool) in if inbox.setListening(isListening) { wakeup.ring() } }
    return Task {
      var patience = Duration.seconds(60)
      while !Task.isCancelled {
        do {
          for try await push in pushes.telling(heard) where push.concerns(database) {
            patience = .seconds(60)
            inbox.fill()
            wakeup.ring()
          }
        } catch {
          heard(false)
        }
        try? await Task.sleep(for: patience)
        patience = min(patience * 2, .seconds(3600))
      }
    }
  }
}

extension CKNotification {
  /// Whether it may announce a change in a database; one that does not say of which concerns every one.
  fileprivate func concerns(_ database: DatabaseName) -> Bool {
    let scope: CKDatabase.Scope? =
      switch self {
      case let push as CKDatabaseNotification: push.databaseScope
      case let push as CKRecordZoneNotification: push.databaseScope
      case let push as CKQueryNotification: push.databaseScope
      default: nil
      }
    switch scope {
    case .public: return database == .public
    case .private: return database == .private
    case .shared: return database == .shared
    case nil: return true
    }
  }
}
