import CloudKit
import Foundation

/// Deletions on the server that are held back, and what somebody decides about them.
extension SyncStore {
  /// So many records are decided about in one transaction: others write in between.
  private static let slice = 500

  /// What is held back, by zone.
  package func heldDeletions() throws(StoreError) -> [HeldDeletions] { try read { try Self.heldDeletions($0) } }

  static func heldDeletions(_ ledger: Ledger) throws -> [HeldDeletions] {
    try ledger.zones().compactMap { zone in
      guard let since = zone.heldSince, case let records = try ledger.goneCount(zone.key), records > 0 else {
        return nil
      }
      return HeldDeletions(
        zone: zone.key,
        records: records,
        isWholeZone: zone.state == .deleted,
        since: Date(timeIntervalSince1970: Double(since) / 1000)
      )
    }
  }

  /// What a decision about a zone's deletions concerns besides: how many of the records have edits that are queued, and how
  /// many have files that went with the server's records.
  package func heldContents(of zone: ZoneKey) throws(StoreError) -> (edits: Int, withFiles: Int) {
    try read { ledger in
      try ledger.namesGone(zone).reduce(into: (edits: 0, withFiles: 0)) { contents, name in
        let key = RecordKey(zone, name)
        if try ledger.operation(for: key) != nil { contents.edits += 1 }
        let fields = try ledger.record(key)?.fields.values
        if fields?.contains(where: { $0.assets?.isEmpty == false }) == true { contents.withFiles += 1 }
      }
    }
  }

  /// Lets come true what the server deleted in a zone. Queued edits of its records go by the store's policy, those of a zone that is
  /// gone become dead letters that `retry` makes anew.
  ///
  /// - Returns: how many records went.
  /// - Throws: `StoreError` of kind `invalid` where the zone holds nothing back.
  package func acceptDeletions(in zone: ZoneKey, actor: String) throws(StoreError) -> Int {
    try decide("accept deletions", zone, actor) { known, names, now, ledger in
      if known.state == .deleted {
        let records = try ledger.recordCount(of: zone)
        try ZoneLoss.accept(zone, now: now, ledger)
        // What is queued for it is a person's from now on.
        for var operation in try ledger.operations(of: zone) where operation.kind == .save && !operation.isHeldByPerson
        {
          guard operation.state != .inFlight, operation.state != .failed else { continue }
          operation.fail(
            ServerErrorCode.zoneNotFound.name,
            "zone \(zone.zone) was deleted on the server; retry makes it anew"
          )
          try ledger.update(operation)
        }
        return records
      }
      let policy = try ledger.settings().merging()
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger))
      try hold.carryOut(names, of: zone)
      return names.count
    }
  }

  /// Has the records that the server deleted in a zone made anew there, as they were last known here, with the queued edits
  /// in them; and the zone itself, if need be. The files of assets went with the server's records.
  ///
  /// A record whose change is on its way just now stays held back until that is answered. One in conflict stays on the desk,
  /// where its base is from now on what the server had.
  ///
  /// - Returns: how many records are to be made.
  /// - Throws: `StoreError` of kind `invalid` where the zone holds nothing back.
  package func restoreDeletions(in zone: ZoneKey, actor: String) throws(StoreError) -> Int {
    try decide("restore deletions", zone, actor) { known, names, now, ledger in
      if known.state == .deleted, scope.database == .shared {
        throw StoreError(
          .invalid,
          "zone \(zone.zone) is not ours to make anew; `cktop zones accept` lets its records go"
        )
      }
      var restored = 0
      for name in names where try Self.restore(RecordKey(zone, name), now: now, ledger) { restored += 1 }
      try DeletionHold.release(zone, ledger)
      return restored
    }
  }

  /// - Returns: whether it is to be made anew; one on its way is left to its answer.
  private static func restore(_ key: RecordKey, now: Int64, _ ledger: Ledger) throws -> Bool {
    guard let record = try ledger.record(key) else { return false }
    let queued = try ledger.operation(for: key)
    if queued?.state == .inFlight { return false }
    try ledger.removeRecord(key)
    guard var operation = queued else {
      var creation = QueuedOperation(
        saving: key,
        type: record.type,
        FieldChanges(),
        base: [:],
        baseTag: nil,
        group: nil,
        now: now
      )
      creation.outlive(record.fields, now: now)
      creation.bytes = creation.changes.requestBytes
      _ = try ledger.insert(creation)
      return true
    }
    guard operation.kind == .save else {
      try ledger.end(operation, .acknowledged, "the server does not hold it", now: now)
      return false
    }
    if operation.state == .conflict {
      operation.stayInConflict(withoutServer: record.fields, now: now)
    } else {
      operation.outlive(record.fields, now: now)
    }
    try ledger.update(operation)
    return true
  }

  private func decide(
    _ verb: String,
    _ zone: ZoneKey,
    _ actor: String,
    _ body: (KnownZone, _ names: [String], _ now: Int64, Ledger) throws -> Int
  ) throws(StoreError) -> Int {
    let now = now()
    var (count, left) = (0, Int.max)
    while true {
      let isFirst = left == .max
      let step = try write { ledger -> (done: Int, left: Int) in
        guard let known = try ledger.zone(zone), known.heldSince != nil, try ledger.goneCount(zone) > 0 else {
          guard isFirst else { return (0, 0) }
          throw StoreError(.invalid, "zone \(zone.zone) holds no deletions back; `cktop zones list` shows which do")
        }
        if isFirst { try DeletionHold.startOver(zone, ledger) }
        if isFirst { try audit(verb, "zone \(zone.zone)", ledger.goneCount(zone), actor, now: now, ledger) }
        let done = try body(known, ledger.namesGone(zone, limit: Self.slice), now, ledger)
        return (done, try ledger.goneCount(zone))
      }
      count += step.done
      // What is on its way stays: once nothing moves any more, that is all.
      guard step.left > 0, step.left < left else { return count }
      left = step.left
    }
  }
}
