extension StoreView {
  /// The operations that a listing shows, in its order.
  package func operationIDs(of listing: QueueListing) throws -> [Int64] {
    try ledger.operationIDs(of: listing, now: now)
  }
}
