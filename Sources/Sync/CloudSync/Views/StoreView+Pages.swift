import Facts

/// Long lists page by page. Each page is one transaction and begins after the last row of the page before, so that rows
/// added or removed meanwhile do not shift the others. Rows with values are visited one by one, because a page of them
/// can be large.
extension StoreView {
  /// Visits queued operations with everything about them; one that is no longer queued is left out.
  package func details(of ids: [Int64], _ visit: (_ id: Int64, OperationDetail) throws -> Void) throws {
    var holdUp = try holdUp()
    for id in ids {
      guard let operation = try ledger.operation(id) else { continue }
      try visit(id, detail(of: operation, &holdUp))
    }
  }

  /// Visits the next conflicts, oldest first, until `visit` returns false.
  package func conflicts(after id: Int64, limit: Int, _ visit: (Conflict) throws -> Bool) throws {
    for id in try ledger.operationIDs(in: .conflict, after: id, limit: limit) {
      guard var conflict = try conflict(id) else { continue }
      conflict.cause = conflict.cause.listed
      guard try visit(conflict) else { return }
    }
  }

  /// Visits the next dropped changes that can be undone, newest first, until `visit` returns false.
  ///
  /// - Parameters:
  ///   - id: the number of a dropped change, which is not that of its operation.
  ///   - unseenToo: whether to visit also those that can no longer be undone and that no person has seen.
  package func dropped(
    before id: Int64,
    limit: Int,
    unseenToo: Bool,
    _ visit: (_ id: Int64, DroppedChange) throws -> Bool
  ) throws {
    try ledger.dropped(before: id, limit: limit, unseenToo: unseenToo) { id, change in
      var change = redaction.redact(change)
      change.cause = change.cause.listed
      return try visit(id, change)
    }
  }
}
