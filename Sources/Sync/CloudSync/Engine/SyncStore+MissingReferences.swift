import CloudKit
import Facts

/// Writing the results of verifying referenced records.
extension SyncStore {
  /// Applies the result of looking for the records to which rejected saves refer.
  ///
  /// - Returns: the number of saves that became dead letters, because no queued operation creates the missing record.
  func finishTargets(
    _ absent: Set<RecordKey>,
    of ids: [Int64],
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> Int {
    return try write(lease) { ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      // These may be some of many deletions: decide at the end of the change feed.
      for key in absent.sorted() where try ledger.changeTag(key) != nil {
        try DeletionHold(reconciliation: reconciliation).note(key)
        try Self.fetchSoon([key.zoneKey], ledger)
      }
      var failed = 0
      for id in ids {
        guard var operation = try ledger.operation(id), operation.state == .waiting else { continue }
        let lost = try operation.changes.targets(in: operation.key.zoneKey, validated: true).first { _, key in
          try absent.contains(key) && ledger.operation(for: key)?.kind != .save
        }
        guard let lost else { continue }
        let code = ServerErrorCode.validatingReferenceError.name
        operation.apply(.failed(.referenceMissing(field: lost.field, name: lost.key.name, code: code)))
        try ledger.update(operation)
        failed += 1
      }
      return failed
    }
  }
}
