package import CloudSync

/// A part of a list to read: what it shows, and which rows.
package struct ListPart<Listing: Hashable & Sendable>: Hashable, Sendable {
  package var listing: Listing
  package var offset: Int
  package var limit: Int

  package init(_ listing: Listing, offset: Int = 0, limit: Int = 200) {
    (self.listing, self.offset, self.limit) = (listing, offset, limit)
  }
}

/// A part of a list as it was read.
package struct ListPage<Listing: Hashable & Sendable, Row: Hashable & Sendable>: Hashable, Sendable {
  package var listing: Listing
  package var window: Window<Row>
  /// Whether `window.total` is the number of all rows that match; while a search counts, it is the number found so far.
  package var isCounted = true
  /// Of the queue: how many of the matching operations failed or are retrying; nil until they are counted.
  package var retryable: Int?
  /// Of the queue: the zones that a retry of all creates again, because the server has deleted them.
  package var recreated: [String] = []

  package init(
    _ listing: Listing,
    _ window: Window<Row>,
    isCounted: Bool = true,
    retryable: Int? = nil,
    recreated: [String] = []
  ) {
    (self.listing, self.window) = (listing, window)
    (self.isCounted, self.retryable, self.recreated) = (isCounted, retryable, recreated)
  }

  package var total: Int { window.total }
  package var rows: [Row] { window.rows }

  /// The page if it is of this list; nil while another one was read.
  package func page(of listing: Listing) -> Self? { self.listing == listing ? self : nil }

  /// The row at an index of the whole list, if it has been read.
  package subscript(index: Int) -> Row? {
    window.rows.indices.contains(index - window.offset) ? window.rows[index - window.offset] : nil
  }
}

/// Everything that a screen may show besides the status; what is nil or false is not read.
package struct ViewScope: Hashable, Sendable {
  package var queue: ListPart<QueueListing>?
  package var records: ListPart<RecordListing>?
  /// Failed and retrying operations by cause.
  package var causes: QueueListing?
  /// The number of conflicts.
  package var conflicts: Int?
  package var zones: ListPart<ZoneListing>?
  /// The events, newest first.
  package var events: ListPart<EventListing>?
  /// The changes that can be undone.
  package var dropped: ListPart<DroppedListing>?
  package var throughput = false
  /// The verdicts of the last 24 hours.
  package var verdicts = false
  /// Everything about this operation.
  package var operation: Int64?
  /// Everything about this record.
  package var record: RecordKey?
  /// The types of the fields of this record type.
  package var fieldTypes: String?

  package init() {}
}

/// The data read for a scope in one transaction; results of searches follow in later ones.
package struct ViewData: Hashable, Sendable {
  /// Nil until the store was read for the first time.
  package var status: StoreStatus?
  package var queue: ListPage<QueueListing, QueueRow>?
  package var records: ListPage<RecordListing, RecordRow>?
  package var causes: [QueueCause]?
  /// The oldest.
  package var conflicts: Window<Conflict>?
  package var zones: ListPage<ZoneListing, ZoneRow>?
  /// The newest events.
  package var events: ListPage<EventListing, EventRow>?
  package var dropped: ListPage<DroppedListing, DroppedRow>?
  /// The minutes of the last 24 hours in which something happened, oldest first.
  package var throughput: [Throughput]?
  /// The verdicts of the last 24 hours and the times in which no process was syncing, oldest first.
  package var verdicts: [VerdictSpan]?
  /// Everything about one operation, with its number; the detail is nil if nothing knows it.
  package var operation: Read<Int64, OperationDetail>?
  package var record: Read<RecordKey, RecordDetail>?
  /// The wire types of a record type's fields, as its newest records have them.
  package var fieldTypes: Read<String, [String: String]>?

  package init() {}

  /// Something that was looked up, or that it does not exist.
  package struct Read<ID: Hashable & Sendable, Value: Hashable & Sendable>: Hashable, Sendable {
    package var id: ID
    package var value: Value?

    package init(_ id: ID, _ value: Value?) { (self.id, self.value) = (id, value) }

    /// The value if it is of this ID; nil while another one was read.
    package subscript(id: ID) -> Value?? { self.id == id ? .some(value) : nil }
  }
}

/// The progress of a long command.
package struct CommandProgress: Hashable, Sendable {
  package var command: ServiceCommand
  package var done: Int
  package var total: Int

  package init(_ command: ServiceCommand, done: Int, total: Int) {
    (self.command, self.done, self.total) = (command, done, total)
  }
}
