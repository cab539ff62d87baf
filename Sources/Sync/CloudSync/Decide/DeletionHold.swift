import CloudKit
import Facts

/// Applies deletions that the server reports, unless there are too many at once, or a zone would be empty: then they
/// are put on hold.
///
/// Deleted records are only marked until the change feed has been fetched to its end, because each page of a purge
/// holds just a few deletions. Operations on a marked record are not sent.
struct DeletionHold {
  let reconciliation: Reconciliation

  private var ledger: Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  /// Whether a record that the server deleted is marked first. If a local delete of it is queued, the deletion is
  /// applied at once.
  static func marks(_ queued: QueuedOperation?, isKnown: Bool) -> Bool { isKnown && queued?.kind != .delete }

  /// Marks a record that the server deleted, or applies the deletion.
  func note(_ key: RecordKey) throws {
    let isMarked = Self.marks(try ledger.operation(for: key), isKnown: try ledger.changeTag(key) != nil)
    try isMarked ? ledger.touch(key, epoch: MirrorRecord.gone) : reconciliation.takeDeletion(of: key)
  }

  /// The deletions marked in a zone.
  struct Survey {
    let zone: ZoneKey
    var names: [String] = []
    /// The number of those that count against the guard.
    var own = 0
  }

  /// Reads what is marked in a zone that has nothing on hold. It decodes every marked record, so many are surveyed
  /// outside of the transaction that concludes.
  func survey(_ zone: ZoneKey) throws -> Survey {
    var survey = Survey(zone: zone)
    guard try ledger.zone(zone)?.heldSince == nil else { return survey }
    survey.names = try ledger.namesGone(zone)
    if reconciliation.policy.deletionGuard != nil { survey.own = try own(survey.names, zone) }
    return survey
  }

  /// Called at the end of a zone's change feed: decides about the marked deletions.
  ///
  /// - Returns: the records to delete now. If a crash ends that early, the rest is concluded alike: what is deleted by
  ///   then counts with it.
  func conclude(_ survey: Survey) throws -> [String] {
    guard var known = try ledger.zone(survey.zone), !survey.names.isEmpty else { return [] }
    guard let limit = reconciliation.policy.deletionGuard else { return survey.names }
    let event = known.decide(survey, records: try ledger.recordCount(of: known.key), limit, now: now)
    try ledger.put(known)
    guard let event else { return survey.names }
    try EventLog.add(event, in: known.key, now: now, ledger)
    return []
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

extension KnownZone {
  /// Puts the marked deletions on hold if there are too many, or if they are all that the zone has: a server that lost
  /// its data, or that is another one, reports the same. Otherwise counts them.
  ///
  /// - Returns: the event of a hold; nil if they are to be applied now.
  mutating func decide(_ survey: DeletionHold.Survey, records: Int, _ limit: DeletionGuard, now: Int64) -> Event? {
    // Recent deletions count too, for an hour from the first: a purge may arrive in many small parts.
    var recent = RecentLosses(since: now, records: records)
    if let recentLosses, (0..<SystemClock.hour).contains(now - recentLosses.since), recentLosses.records >= records {
      recent = recentLosses
    }
    let lost = min(recent.deleted, recent.records - records)
    let emptiesZone = survey.names.count == records && survey.own >= DeletionGuard.wholeZone
    if emptiesZone || limit.holds(lost + survey.own, of: recent.records) {
      heldSince = now
      return .deletionsOnHold(zone: key.title, deleted: lost + survey.names.count, of: recent.records)
    }
    recent.deleted += survey.own
    recentLosses = recent
    return nil
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
