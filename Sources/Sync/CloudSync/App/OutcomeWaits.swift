import Dispatch
import Synchronization

/// Wakes the tasks that wait for outcomes of changes. After a write the store is read once for all of them, and a task
/// is woken if one of its operations has ended.
final class OutcomeWaits: Sendable {
  struct Wait {
    var ids: [Int64] = []
    var wakeup: Wakeup
  }

  struct State {
    var next = 0
    var waits: [Int: Wait] = [:]
    var poller: Task<Void, Never>?
  }

  let state = Mutex(State())

  /// - Returns: the number of the wait.
  func add(_ wakeup: Wakeup, of store: SyncStore) -> Int {
    state.withLock { state in
      state.next += 1
      state.waits[state.next] = Wait(wakeup: wakeup)
      state.poller = state.poller ?? poll(store)
      return state.next
    }
  }

  /// Sets the operations of a wait. Those that ended before are not noticed, so the caller reads the store afterwards.
  func set(_ ids: [Int64], of number: Int) { state.withLock { $0.waits[number]?.ids = ids } }

  /// Ends polling with the last wait.
  func remove(_ number: Int) {
    state.withLock { state in
      state.waits[number] = nil
      guard state.waits.isEmpty else { return }
      state.poller?.cancel()
      state.poller = nil
    }
  }

  private func poll(_ store: SyncStore) -> Task<Void, Never> {
    let wakeup = Wakeup()
    let watcher = StoreWatcher(store, queue: .global()) { wakeup.wake() }
    return Task {
      defer { _ = watcher }
      while !Task.isCancelled {
        // Without a watch of the system nothing reports writes.
        await wakeup.sleep(watcher == nil ? .milliseconds(250) : StoreWatcher.fallback)
        let waits = state.withLock { $0.waits }
        // Each wait reads the store itself to throw an error.
        let underWay = try? store.read { try $0.underWay(waits.values.flatMap(\.ids)) }
        for wait in waits.values where underWay?.isSuperset(of: wait.ids) != true { wait.wakeup.wake() }
      }
    }
  }
}
