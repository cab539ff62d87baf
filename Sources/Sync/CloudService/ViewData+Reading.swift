import CloudSync
import Facts

/// The results so far of the lists that are searched.
struct Found: Sendable {
  var queue: QueueSearch?
  var records: RecordSearch?
}

extension ViewData {
  /// Reads what a screen wants to see. Of a list that is searched, it reads what has been found; nil if that is not
  /// enough.
  init(_ view: StoreView, _ scope: ViewScope, _ found: Found) throws {
    self.init()
    status = try view.status()
    queue = try scope.queue.flatMap { part in
      if part.listing.filter.isSearch { return try found.queue?.page(ifFound: part, in: view) }
      let (window, retryable) = try view.operations(part.listing, offset: part.offset, limit: part.limit)
      let recreated = try view.recreatedZones(byRetrying: part.listing)
      return ListPage(part.listing, window, retryable: retryable, recreated: recreated)
    }
    records = try scope.records.flatMap { part in
      if part.listing.isSearch { return try found.records?.page(ifFound: part, in: view) }
      return ListPage(part.listing, try view.records(part.listing, offset: part.offset, limit: part.limit))
    }
    causes = try scope.causes.map(view.causes)
    conflicts = try scope.conflicts.map { try view.conflicts(limit: $0) }
    zones = try scope.zones.map { ListPage($0.listing, try view.zones($0.listing, limit: $0.limit)) }
    events = try scope.events.map { part in
      let rows = try view.events(part.listing, limit: part.limit)
      return ListPage(
        part.listing,
        Window(total: rows.count, offset: 0, rows: rows),
        isCounted: rows.count < part.limit
      )
    }
    dropped = try scope.dropped.map { part in
      ListPage(part.listing, try view.dropped(part.listing, offset: part.offset, limit: part.limit))
    }
    throughput = try scope.throughput ? view.throughput() : nil
    verdicts = try scope.verdicts ? view.verdicts() : nil
    operation = try scope.operation.map { Read($0, try view.detail(of: $0)) }
    record = try scope.record.map { Read($0, try view.detail(of: $0)) }
    fieldTypes = try scope.fieldTypes.map { Read($0, try view.fieldTypes(of: $0)) }
  }

  /// The data while there is no store: everything is empty.
  ///
  /// - Parameter trouble: Why no store can be created.
  init(withoutStore scope: ViewScope, _ trouble: StorageTrouble?) {
    self.init()
    status = StoreStatus(neverSyncedAt: 0)
    status?.storageTrouble = trouble
    queue = scope.queue.map { ListPage($0.listing, .empty, retryable: 0) }
    records = scope.records.map { ListPage($0.listing, .empty) }
    causes = scope.causes.map { _ in [] }
    conflicts = scope.conflicts.map { _ in .empty }
    zones = scope.zones.map { ListPage($0.listing, .empty) }
    events = scope.events.map { ListPage($0.listing, .empty) }
    dropped = scope.dropped.map { ListPage($0.listing, .empty) }
    throughput = scope.throughput ? [] : nil
    verdicts = scope.verdicts ? [] : nil
    operation = scope.operation.map { Read($0, nil) }
    record = scope.record.map { Read($0, nil) }
    fieldTypes = scope.fieldTypes.map { Read($0, nil) }
  }
}

extension ListSearch {
  fileprivate func page(ifFound part: ListPart<Listing>, in view: StoreView) throws -> ListPage<Listing, Row>? {
    part.listing == listing && has(part) ? try page(of: part, in: view) : nil
  }
}

extension ViewScope {
  /// The parts of lists that are searched.
  var searchedQueue: ListPart<QueueListing>? { queue.flatMap { $0.listing.filter.isSearch ? $0 : nil } }
  var searchedRecords: ListPart<RecordListing>? { records.flatMap { $0.listing.isSearch ? $0 : nil } }
}
