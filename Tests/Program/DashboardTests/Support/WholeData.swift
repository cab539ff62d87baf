@testable import CloudService
@testable import CloudSync
@testable import Dashboard

extension ViewData {
  /// The data of a scope, read with its lists at once: searches run beside the other readings in the program.
  static func whole(of store: SyncStore, _ scope: ViewScope) throws -> ViewData {
    try store.view { view in
      var data = try ViewData(view, scope, Found())
      if let part = scope.queue, data.queue == nil {
        let (window, retryable) = try view.operations(part.listing, offset: part.offset, limit: part.limit)
        data.queue = ListPage(part.listing, window, retryable: retryable)
      }
      if let part = scope.records, data.records == nil {
        data.records = ListPage(part.listing, try view.records(part.listing, offset: part.offset, limit: part.limit))
      }
      return data
    }
  }
}
