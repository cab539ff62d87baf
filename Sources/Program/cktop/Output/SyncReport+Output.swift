import CloudKit
import CloudService
import CloudSync

extension SyncReport: PrintedObject {
  /// The summary for scripts.
  static let jsonFields: JSONFields<Self> = [
    "sent": .integer(\.summary.sent), "fetched": .integer(\.summary.fetched), "deleted": .integer(\.summary.deleted),
    "failed": .integer(\.state.queue.failed), "waiting": .integer(\.state.queue.waiting),
    "conflicts": .integer(\.state.queue.conflicts), "queued": .integer(\.state.queue.total),
    "requests": .integer(\.summary.requests), "waitForApp": .integer { $0.summary.waitForApp ?? 0 },
    "reachedEnd": .bool(\.summary.reachedEnd), "inSync": .bool(\.state.isInSync),
    "error": .error(\.error?.code.name, \.error?.reason),
  ]
}

extension SyncReport {
  /// Prints on standard error what the sync dropped and what it leaves, one line each.
  func reportRest(_ reader: StoreReader, since startedAt: Int64) throws {
    for note in try Self.dropped(in: reader.store, since: startedAt) { OutputFile.error.line("cktop: \(note)") }
    for failure in try failures(reader) { failure.report() }
  }
}
