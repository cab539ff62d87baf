import CloudKit

/// Deletions that the server tells of, which come true here only where they are not too many at once.
///
/// Until the feed that tells of them has been read to its end their records are marked: as a page alone would show it, a
/// purge is a few deletions, and then a few more.
struct DeletionHold {
  let reconciliation: Reconciliation

  private var ledger: any Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  /// A feed says that a record is gone.
  func note(_ key: RecordKey) throws {
    guard try ledger.changeTag(key) != nil else { return try reconciliation.takeDeletion(of: key) }
    try ledger.touch(key, epoch: MirrorRecord.gone)
  }

  /// A feed of the zone has been read to its end: what is marked comes true, or is held back.
  ///
  /// - Returns: how many deletions came true.
  func conclude(_ zone: ZoneKey) throws -> Int {
    guard var known = try ledger.zone(zone) else { return 0 }
    let names = try ledger.namesGone(zone)
    guard let limit = reconciliation.policy.deletionGuard, !names.isEmpty else {
      return try carryOut(names, known)
    }
    let records = try ledger.recordCount(of: zone)
    let isMass = try limit.holds(names.count, of: records) && limit.holds(own(names, zone), of: records)
    guard known.heldSince != nil || isMass else { return try carryOut(names, known) }
    if known.heldSince == nil {
      known.heldSince = now
      try ledger.put(known)
      let deleted = "the server deleted \(names.count) of the \(records) records of zone \(zone.zone)"
      try EventLog.add("zone", "\(deleted); they are kept here until somebody decides", now: now, ledger)
    }
    return 0
  }

  /// Lets deletions come true. Where none is left, nothing is held back any more.
  func carryOut(_ names: [String], _ known: KnownZone) throws -> Int {
    for name in names { try reconciliation.takeDeletion(of: RecordKey(known.key, name)) }
    try release(known.key)
    return names.count
  }

  /// Ends the hold of a zone where none of its records is marked any more.
  func release(_ zone: ZoneKey) throws {
    guard var known = try ledger.zone(zone), known.heldSince != nil, try ledger.namesGone(zone).isEmpty else { return }
    known.heldSince = nil
    try ledger.put(known)
  }

  /// How many of these records did not merely go along, by `DELETE_SELF`, with one whose deletion has come true here.
  private func own(_ names: [String], _ zone: ZoneKey) throws -> Int {
    var owners: [String: [RecordKey]] = [:]
    for name in names { owners[name] = try ledger.record(RecordKey(zone, name))?.owners }
    var left = names
    while true {
      let marked = Set(left)
      left = try left.filter { name in
        try !(owners[name] ?? []).contains { owner in
          let isKnown = owner.zoneKey == zone && owners[owner.name] != nil
          return try isKnown ? !marked.contains(owner.name) : ledger.changeTag(owner) == nil
        }
      }
      if left.count == marked.count { return left.count }
    }
  }
}

extension MirrorRecord {
  /// In place of the reading that saw a record last: the server has deleted it, and that has not come true here.
  static let gone: Int64 = -1

  /// The records that this one is deleted with.
  fileprivate var owners: [RecordKey] {
    fields.values.flatMap { $0.targets(in: key.zoneKey, action: "DELETE_SELF") }
  }
}
