import CloudService
import CloudSync

extension ViewData {
  /// The data that a frozen screen shows: these lists as far as the present data are of the same rows, and all else as it
  /// is now.
  func shown(over now: ViewData) -> ViewData {
    var shown = now
    shown.queue = Self.kept(queue, now.queue)
    shown.records = Self.kept(records, now.records)
    shown.events = Self.kept(events, now.events)
    shown.dropped = Self.kept(dropped, now.dropped)
    shown.zones = Self.kept(zones, now.zones)
    shown.causes = now.causes == nil ? nil : causes ?? now.causes
    shown.conflicts = now.conflicts == nil ? nil : conflicts ?? now.conflicts
    shown.throughput = now.throughput == nil ? nil : throughput ?? now.throughput
    shown.verdicts = now.verdicts == nil ? nil : verdicts ?? now.verdicts
    if let operation, operation.id == now.operation?.id { shown.operation = operation }
    if let record, record.id == now.record?.id { shown.record = record }
    return shown
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
