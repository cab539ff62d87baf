import CloudKit
import Synchronization

/// Records that a push has arrived. A push announces a change without its content.
final class PushInbox: Sendable {
  private struct State {
    var isFull = false
    var isListening = false
  }

  private let state = Mutex(State())

  /// Whether a push has arrived since the last `empty()`.
  var isFull: Bool { state.withLock { $0.isFull } }
  /// Whether pushes are being collected: the courier has answered and is connected.
  var isListening: Bool { state.withLock { $0.isListening } }

  func fill() { state.withLock { $0.isFull = true } }
  func empty() { state.withLock { $0.isFull = false } }

  /// Sets whether pushes are collected. Returns whether that changed.
  func setListening(_ isListening: Bool) -> Bool {
    state.withLock { state in
      defer { state.isListening = isListening }
      return state.isListening != isListening
    }
  }
}

extension SyncEngine {
  /// Collects pushes until cancelled. If the courier rejects us, tries again later and polls at the short interval
  /// meanwhile.
  func listen(_ inbox: PushInbox) -> Task<Void, Never>? {
    guard let pushes = configuration.pushes else { return nil }
    let (wakeup, database) = (wakeup, database)
    // The poll interval depends on it, so the engine checks when the next poll is due.
    let heard = { @Sendable (isListening: Bool) in if inbox.setListening(isListening) { wakeup.wake() } }
    return Task {
      var patience = Duration.seconds(60)
      while !Task.isCancelled {
        do {
          for try await push in pushes.telling(heard) where push.concerns(database) {
            patience = .seconds(60)
            inbox.fill()
            wakeup.wake()
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
  /// Whether it may announce a change in a database; without a scope it may concern any.
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
