import CloudService
import CloudSync

extension ViewData {
  /// The data that a frozen screen shows: these lists as far as the present data are of the same rows, and all else as
  /// it is now.
  func replacingLists(of now: ViewData) -> ViewData {
    var data = now
    data.queue = Self.kept(queue, now.queue)
    data.records = Self.kept(records, now.records)
    data.events = Self.kept(events, now.events)
    data.dropped = Self.kept(dropped, now.dropped)
    data.zones = Self.kept(zones, now.zones)
    data.causes = now.causes == nil ? nil : causes ?? now.causes
    data.conflicts = now.conflicts == nil ? nil : conflicts ?? now.conflicts
    data.throughput = now.throughput == nil ? nil : throughput ?? now.throughput
    data.verdicts = now.verdicts == nil ? nil : verdicts ?? now.verdicts
    if let operation, operation.id == now.operation?.id { data.operation = operation }
    if let record, record.id == now.record?.id { data.record = record }
    return data
  }

  /// The page of before if it is complete and of the same part of the same list, else the present one.
  private static func kept<Listing, Row>(_ before: ListPage<Listing, Row>?, _ now: ListPage<Listing, Row>?)
    -> ListPage<Listing, Row>?
  {
    guard let before, let now, before.isCounted, before.listing == now.listing,
      before.window.offset == now.window.offset
    else { return now }
    return before
  }
}
