import CloudKit
import Facts

/// Writing the results of verifying zones and referenced records.
extension SyncStore {
  /// Applies the verification of a zone whose delete is unconfirmed.
  ///
  /// A zone of that name may be the old one or a recreated one. It is known to be the old one only if nothing in it has
  /// changed since the delete was sent; otherwise a person decides.
  func finishZoneLookUp(
    _ id: Int64,
    _ result: WireZoneResult?,
    policy: MergePolicy,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    return try write(lease) { ledger, now in
      var counts = OutcomeCounts()
      guard var operation = try ledger.operation(id), operation.needsReadBack else { return counts }
      let name = operation.key.zone
      switch result {
      case .zone(let zone) where zone.deleted != true:
        operation.apply(.compared)
        if let token = operation.zoneToken, token == zone.syncToken {
          operation.apply(.ready(.readyAgain(.zoneStillThere), now: now))
        } else {
          operation.apply(.failed(.zoneChanged(zone: name)))
          counts.failed += 1
        }
        try ledger.update(operation)
      case .failure(_, let error) where result?.isMissing == false:
        counts.error = error
        let disposition = Disposition(of: error, during: .verifying(isWhole: false))
        if let scope = disposition.scope(in: operation.key.zoneKey) {
          try Throttles.set(scope, error, now: now, random: random, ledger)
          break
        }
        operation.apply(.attempted)
        operation.apply(.backedOff(error, now: now, random: random))
        if operation.attempts >= operation.maxAttempts {
          operation.apply(.failed(.cannotVerifyZone(zone: name, code: error.code.name, message: error.reason)))
          counts.failed += 1
        }
        try ledger.update(operation)
      case nil:
        let error = WebServicesError(.unexpectedServerResponse, "the answer does not mention zone \(name)")
        try Throttles.set(.zone(operation.key.zoneKey), error, now: now, random: random, ledger)
        counts.error = error
      case .zone, .failure:
        try Self.acknowledgeZone(operation, now: now, ledger)
        counts.acknowledged += 1
      }
      try ledger.count(sent: counts.acknowledged, now: now)
      return counts
    }
  }

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
        try Self.readSoon([key.zoneKey], ledger)
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
