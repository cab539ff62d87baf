package import CloudSync

/// Everything that a screen shows, read in one transaction.
package struct Snapshot: Sendable, Hashable {
  package var status: StoreStatus
  package var queue: Page<QueueRow>
  package var records: Page<RecordRow>
  package var zones: [ZoneRow]
  /// The oldest.
  package var conflicts: Window<Conflict>
  /// Newest first.
  package var events: [EventRow]
  /// The number of operations with the queue's text that failed or wait to be retried, read or not.
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
    self.queue = Page(window: queue)
    self.records = Page(window: records)
    self.zones = zones
    self.conflicts = Window(total: conflicts.count, offset: 0, rows: conflicts)
    self.events = events
  }

  /// Reads what a screen wants to see.
  init(_ view: StoreView, _ scope: SnapshotScope) throws {
    let (queue, records) = (scope.queue, scope.records)
    status = try view.status()
    self.queue = Page(
      text: queue.text,
      window: try view.operations(text: queue.text, offset: queue.offset, limit: queue.limit)
    )
    self.records = Page(
      text: records.text,
      window: try view.records(text: records.text, offset: records.offset, limit: records.limit)
    )
    zones = try view.zones()
    conflicts = try view.conflicts(limit: scope.conflicts)
    events = try view.events(limit: scope.events)
    retryable =
      queue.text.isEmpty
      ? status.queue.retryable : try view.operations(matching: .retryable, text: queue.text, limit: 0).total
  }

  /// The snapshot while there is no store.
  static var withoutStore: Snapshot {
    var snapshot = Snapshot(status: StoreStatus(generatedAt: 0))
    snapshot.status.reason = "no store yet"
    snapshot.status.hasStore = false
    return snapshot
  }
}

/// A part of a list, as it was read for a text that its rows contain.
package struct Page<Row: Sendable & Hashable>: Sendable, Hashable {
  /// The text that the rows contain.
  package var text: String
  package var window: Window<Row>

  package init(text: String = "", window: Window<Row>) { (self.text, self.window) = (text, window) }

  /// The state of some rows of a list.
  package enum State: Hashable, Sendable {
    /// Not all of them have been read yet.
    case loading
    /// The list has no rows.
    case empty
    case loaded
  }

  /// The state of these rows of the list of a text.
  package func state(of text: String, rows: Range<Int>) -> State {
    guard text == self.text else { return .loading }
    if window.total == 0 { return .empty }
    let wanted = rows.clamped(to: 0..<window.total)
    return wanted.isEmpty || (window.offset..<window.offset + window.rows.count).contains(wanted) ? .loaded : .loading
  }

  package var total: Int { window.total }
  package var rows: [Row] { window.rows }

  /// The row at an index of the whole list, if it has been read.
  package subscript(index: Int) -> Row? {
    window.rows.indices.contains(index - window.offset) ? window.rows[index - window.offset] : nil
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
  /// The number of conflicts and of events.
  package var conflicts = 500
  package var events = 100

  package init() {}
}
