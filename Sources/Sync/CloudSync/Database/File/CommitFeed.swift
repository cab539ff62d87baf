import Dispatch
import Synchronization

/// The commits of all processes to a store, for all listeners in this process: one watch of the system, which lasts as
/// long as a listener.
final class CommitFeed: Sendable {
  fileprivate let commits = Broadcast<Void>()
  private let watcher: Mutex<StoreWatcher?>
  private let polling = Mutex<Task<Void, Never>?>(nil)

  fileprivate init(_ store: SyncStore) {
    let commits = commits
    let watch: @Sendable () -> StoreWatcher? = {
      StoreWatcher(store, queue: .global(), locks: true) { commits.send(()) }
    }
    let first = watch()
    watcher = Mutex(first)
    guard first == nil else { return }
    // The system has no watches left, or there is no file to watch yet.
    let task = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(1))) != nil {
        let later = watch()
        self?.watcher.withLock { $0 = later }
        commits.send(())
        if later != nil { return }
      }
    }
    polling.withLock { $0 = task }
  }

  deinit { polling.withLock { $0?.cancel() } }

  /// A feed that others keep.
  struct Shared { weak var feed: CommitFeed? }
}

extension SyncStore {
  /// Signals after commits of any process from now on, and when a process may have stopped syncing the store, until the
  /// stream is released. Several commits in a row may cause only one signal.
  package func commits() -> AsyncStream<Void> {
    let feed = commitFeed.withLock { shared in
      let feed = shared.feed ?? CommitFeed(self)
      shared.feed = feed
      return feed
    }
    return feed.commits.listen(keeping: 1, holding: feed)
  }
}
