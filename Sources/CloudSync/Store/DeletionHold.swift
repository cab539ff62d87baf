import CloudKit
import Facts

/// Applies deletions that the server reports, unless there are too many at once: then they are put on hold.
///
/// Deleted records are only marked until the change feed has been fetched to its end, because each page of a purge
/// holds just a few deletions. Operations on a marked record are not sent.
struct DeletionHold {
  let reconciliation: Reconciliation

  private var ledger: Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  /// Marks a record that the server deleted. If a local delete of it is queued, applies the deletion at once.
  func note(_ key: RecordKey) throws {
    let isWanted = try ledger.operation(for: key)?.kind == .delete
    guard !isWanted, try ledger.changeTag(key) != nil else { return try reconciliation.takeDeletion(of: key) }
    try ledger.touch(key, epoch: MirrorRecord.gone)
  }

  /// Called at the end of a zone's change feed: puts the marked deletions on hold if there are too many.
  ///
  /// - Returns: the records to delete now.
  func conclude(_ zone: ZoneKey) throws -> [String] {
    guard var known = try ledger.zone(zone) else { return [] }
    let count = try ledger.goneCount(zone)
    guard let limit = reconciliation.policy.deletionGuard, count > 0 else { return try ledger.namesGone(zone) }
    if known.heldSince != nil { return [] }
    let records = try ledger.recordCount(of: zone)
    let names = try ledger.namesGone(zone)
    let own = try own(names, zone)
    // Recent deletions count too: a purge may arrive in many small parts.
    var losses = losses(known, records)
    let lost = min(losses.deleted, losses.records - records)
    guard limit.holds(lost + own, of: losses.records) else {
      losses.deleted += own
      known.losses = losses
      try ledger.put(known)
      return names
    }
    known.heldSince = now
    try ledger.put(known)
    let event = Event.deletionsOnHold(zone: zone.zone, deleted: lost + count, of: losses.records)
    try EventLog.add(event, now: now, ledger)
    return []
  }

  /// The deletions applied since the current run of them began, at most an hour ago.
  private func losses(_ zone: KnownZone, _ records: Int) -> RecentLosses {
    guard let known = zone.losses, (0..<3_600_000).contains(now - known.since), known.records >= records else {
      return RecentLosses(since: now, records: records)
    }
    return known
  }

  /// Applies deletions, and ends the hold if no marked record is left.
  func carryOut(_ names: some Sequence<String>, of zone: ZoneKey) throws {
    for name in names { try reconciliation.takeDeletion(of: RecordKey(zone, name)) }
    try Self.release(zone, ledger)
  }

  /// Ends the hold of a zone that has no marked record left.
  static func release(_ zone: ZoneKey, _ ledger: Ledger) throws {
    guard var known = try ledger.zone(zone), known.heldSince != nil, try ledger.goneCount(zone) == 0 else { return }
    known.heldSince = nil
    if known.state == .deleted { known.state = .unconfirmed }
    try ledger.put(known)
  }

  /// Counts the records that were not deleted by a `DELETE_SELF` cascade from a record deleted locally.
  private func own(_ names: [String], _ zone: ZoneKey) throws -> Int {
    var owners: [RecordKey: [RecordKey]] = [:]
    for name in names { owners[RecordKey(zone, name)] = try ledger.record(RecordKey(zone, name))?.owners }
    var deletedHere: [RecordKey: Bool] = [:]
    for owner in Set(owners.values.joined()) where owners[owner] == nil {
      deletedHere[owner] = try ledger.changeTag(owner) == nil && ledger.wasDeleted(owner, since: 0)
    }
    var left = Set(names.map { RecordKey(zone, $0) })
    while true {
      let marked = left
      left = left.filter { key in !(owners[key] ?? []).contains { deletedHere[$0] ?? !marked.contains($0) } }
      if left.count == marked.count { return left.count }
    }
  }
}

extension MirrorRecord {
  /// Stored in place of the epoch: the server deleted the record, but the deletion has not been applied to the mirror.
  static let gone: Int64 = -1

  /// The records whose deletion also deletes this one.
  fileprivate var owners: [RecordKey] {
    fields.values.flatMap { $0.targets(in: key.zoneKey, action: "DELETE_SELF") }
  }
}
