/// Parts of long lists, in the order and with the filter that a screen asks for.
extension StoreView {
  /// A window of the queue, and how many of the operations that the listing shows failed or are retrying.
  package func operations(_ listing: QueueListing, offset: Int = 0, limit: Int) throws
    -> (window: Window<QueueRow>, retryable: Int)
  {
    if listing.filter.isSearch {
      let search = try finished(QueueSearch(listing))
      return (try search.window(offset: offset, limit: limit, in: self), search.retryable ?? 0)
    }
    let counts = try ledger.counts(of: listing, now: now)
    let ids = try ledger.operationIDs(of: listing, counts, offset: offset, limit: limit, now: now)
    let window = Window(total: counts.values.reduce(0, +), offset: offset, rows: try queueRows(ids))
    return (window, (counts[.failed] ?? 0) + (counts[.waiting] ?? 0))
  }

  /// The operations that a listing shows, in its order.
  package func operationIDs(of listing: QueueListing) throws -> [Int64] {
    try ledger.operationIDs(of: listing, now: now)
  }

  /// The zones that a retry of all that a listing shows creates again, because the server has deleted them.
  package func recreatedZones(byRetrying listing: QueueListing) throws -> [String] {
    try ledger.recreatedZones(byRetrying: listing, now: now).map(\.zone)
  }

  /// The operations of these numbers that are in the queue, as lists show them.
  func queueRows(_ ids: [Int64]) throws -> [QueueRow] {
    guard !ids.isEmpty else { return [] }
    var holdUp = try holdUp()
    return try ledger.queueRows(ids) { try listed($0, &holdUp) }
  }

  /// A window of the records with pending edits applied, without those that are deleted here.
  package func records(_ listing: RecordListing, offset: Int = 0, limit: Int) throws -> Window<RecordRow> {
    if listing.isSearch {
      return try finished(RecordSearch(listing)).window(offset: offset, limit: limit, in: self)
    }
    switch listing.order {
    case .name: return try records(offset: offset, limit: limit)
    case .newest, .field:
      let (total, places) = try ledger.latestPlaces(offset: offset, limit: limit)
      return Window(total: total, offset: offset, rows: try ledger.records(at: places))
    }
  }

  /// Visits the records of a list in its order, some thousands at a time, with the number of all, until `visit` returns
  /// false.
  ///
  /// - Parameter searching: called again and again while the records of the list are looked for.
  package func eachRecords(
    of listing: RecordListing,
    searching: () -> Void = {},
    _ visit: ([RecordRow], _ total: Int) throws -> Bool
  ) throws {
    let page = 5000
    let search = listing.isSearch ? try finished(RecordSearch(listing, limit: .max), stepped: searching) : nil
    var offset = 0
    while true {
      let window =
        try search?.window(offset: offset, limit: page, in: self)
        ?? records(listing, offset: offset, limit: page)
      offset += page
      guard try visit(window.rows, window.total), offset < window.total else { return }
    }
  }

  private func finished<Search: ListSearch>(_ search: Search, stepped: () -> Void = {}) throws -> Search {
    var search = search
    while !search.isOver {
      try search.step(in: self)
      stepped()
    }
    return search
  }

  /// Failed and retrying operations that a listing shows, by cause, the most frequent first; failed ones before
  /// retrying ones.
  package func causes(of listing: QueueListing = QueueListing()) throws -> [QueueCause] {
    try ledger.causes(matching: ListQuery(listing.filter, now: now), in: listing.states).map(redaction.redact)
  }

  /// Everything about a record; nil if neither the local copy nor the queue has it.
  package func detail(of key: RecordKey) throws -> RecordDetail? {
    let local = try ledger.local(key)
    guard local.mirror != nil || local.queued != nil else { return nil }
    var holdUp = try holdUp()
    return RecordDetail(
      server: local.mirror,
      row: RecordRow(local),
      operation: try local.queued.flatMap { try detail(of: namingReferrers($0), &holdUp).operation }
    )
  }

  /// The minutes of the last 24 hours in which something was sent, fetched or failed, oldest first.
  package func throughput() throws -> [Throughput] { try ledger.throughput(now: now) }

  /// The verdicts of the last 24 hours and the times in which no process was syncing, oldest first.
  package func verdicts() throws -> [VerdictSpan] {
    try verdictHistory(from: now - Throughput.minutes * 60_000, to: now)
  }
}
