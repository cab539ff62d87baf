import CloudService
import CloudSync
import Foundation

/// Writes a store's journal to standard error, whichever process syncs.
final class JournalWriter: Sendable {
  private let task: Task<Void, Never>
  private let changes: AsyncStream<Void>.Continuation

  /// Starts with the store's current state.
  init(_ reader: StoreReader) {
    let store = reader.store
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
    let commits = store.commits()
    let relay = Task { for await _ in commits { continuation.yield() } }
    changes = continuation
    let holder = (try? store.status())?.syncingProcess
    Self.write("start", Journal.start(Int64(getpid()), store.path, holder))
    task = Task {
      defer { relay.cancel() }
      var journal = Journal(after: (try? store.view { try $0.lastEvent() }) ?? 0, process: Int64(getpid()))
      for await _ in stream {
        // A read that fails is repeated after the next change.
        let lines = try? journal.lines(reader)
        OutputFile.error.lines(lines?.map(\.visible) ?? [])
        // A busy store commits many times a second: it is read at most four times.
        try? await Task.sleep(for: .milliseconds(250))
      }
    }
  }

  static func write(_ kind: String, _ message: String) {
    OutputFile.error.line(Journal.line(SyncStore.currentTime, kind, message).visible)
  }

  /// Logs what is new, then stops.
  func stop() async {
    changes.yield()
    changes.finish()
    await task.value
    Self.write("end", "process \(getpid()) stopped syncing")
  }
}
