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
  /// Pushes are being collected.
  var isListening: Bool { state.withLock { $0.isListening } }

  func fill() { state.withLock { $0.isFull = true } }
  func empty() { state.withLock { $0.isFull = false } }
  func setListening(_ isListening: Bool) { state.withLock { $0.isListening = isListening } }
}

extension SyncEngine {
  /// Collects pushes until cancelled. Where that is refused it is tried again now and then, and polls come as often as
  /// without pushes.
  func listen(_ inbox: PushInbox) -> Task<Void, Never>? {
    guard let pushes = configuration.pushes else { return nil }
    let (wakeup, database) = (wakeup, database)
    return Task {
      var patience = Duration.seconds(60)
      while !Task.isCancelled {
        inbox.setListening(true)
        do {
          for try await push in pushes where push.concerns(database) {
            patience = .seconds(60)
            inbox.fill()
            wakeup.ring()
          }
        } catch {
          inbox.setListening(false)
          wakeup.ring()
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
