package import CloudSync

/// Everything a screen shows, read in one go: a value that never changes under the one who draws it.
package struct Snapshot: Sendable, Hashable {
  package var status: StoreStatus
  package var queue: Window<QueueRow>
  package var records: Window<RecordRow>
  package var zones: [ZoneRow]
  package var conflicts: [Conflict]
  /// Newest first.
  package var events: [EventRow]

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
}

/// Which part of the long lists a screen needs.
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
