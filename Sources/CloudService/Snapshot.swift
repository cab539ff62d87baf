package import CloudSync

/// Everything that a screen shows, read at one time, as an immutable value.
package struct Snapshot: Sendable, Hashable {
  package var status: StoreStatus
  package var queue: Window<QueueRow>
  package var records: Window<RecordRow>
  package var zones: [ZoneRow]
  package var conflicts: [Conflict]
  /// Newest first.
  package var events: [EventRow]
  /// The text by which the rows of the queue are filtered.
  package var queueText = ""
  /// The number of operations with that text that failed or wait to be retried, whether loaded or not.
  package var retryable = 0
  /// Whether there is a store.
  package var hasStore: Bool { status.hasStore }

  package init(
    status: StoreStatus,
    queue: Window<QueueRow> = .empty,
    records: Window<RecordRow> = .empty,
    zones: [ZoneRow] = [],
    conflicts: [Conflict] = [],
    events: [EventRow] = []
  ) {
    self.status = status
    self.queue = queue
    self.records = records
    self.zones = zones
    self.conflicts = conflicts
    self.events = events
  }

  /// The snapshot while there is no store.
  static var withoutStore: Snapshot {
    var snapshot = Snapshot(status: StoreStatus(generatedAt: 0))
    snapshot.status.reason = "no store yet"
    snapshot.status.hasStore = false
    return snapshot
  }
}

/// The part of the long lists that a screen needs.
package struct SnapshotScope: Sendable, Hashable {
  /// A part of one list.
  package struct Part: Sendable, Hashable {
    package var text: String
    package var offset: Int
    package var limit: Int

    package init(text: String = "", offset: Int = 0, limit: Int = 200) {
      self.text = text
      self.offset = offset
      self.limit = limit
    }
  }

  package var queue = Part()
  package var records = Part()

  package init() {}
}
