import CloudKit
import Facts

/// Deletions that the server tells of, which come true here only where they are not too many at once.
///
/// Until the feed that tells of them has been read to its end their records are marked: as a page alone would show it, a
/// purge is a few deletions, and then a few more. Nothing is sent about a record that is marked.
struct DeletionHold {
  let reconciliation: Reconciliation

  private var ledger: Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  /// A feed says that a record is gone. Where it is to be deleted here as well, that has come true.
  func note(_ key: RecordKey) throws {
    let isWanted = try ledger.operation(for: key)?.kind == .delete
    guard !isWanted, try ledger.changeTag(key) != nil else { return try reconciliation.takeDeletion(of: key) }
    try ledger.touch(key, epoch: MirrorRecord.gone)
  }

  /// A feed of the zone has been read to its end: what is marked comes true, or is held back.
  ///
  /// - Returns: the records whose deletion is to come true now.
  func conclude(_ zone: ZoneKey) throws -> [String] {
    guard var known = try ledger.zone(zone) else { return [] }
    let count = try ledger.goneCount(zone)
    guard let limit = reconciliation.policy.deletionGuard, count > 0 else { return try ledger.namesGone(zone) }
    if known.heldSince != nil { return [] }
    let records = try ledger.recordCount(of: zone)
    let names = try ledger.namesGone(zone)
    let own = try own(names, zone)
    // What went a moment ago counts, too: a purge may come in many small parts.
    var losses = try losses(zone, records)
    let lost = min(losses.deleted, losses.records - records)
    guard limit.holds(lost + own, of: losses.records) else {
      losses.deleted += own
      try ledger.setValue(Self.lossesKey(zone), "\(losses.since) \(losses.records) \(losses.deleted)")
      return names
    }
    known.heldSince = now
    try ledger.put(known)
    let event = Event.deletionsOnHold(zone: zone.zone, deleted: lost + count, of: losses.records)
    try EventLog.add(event, now: now, ledger)
    return []
  }

  private static func lossesKey(_ zone: ZoneKey) -> String { "losses \(zone.owner)/\(zone.zone)" }

  /// How many records the zone had when deletions began to come, an hour ago at most, and how many have come true since.
  private func losses(_ zone: ZoneKey, _ records: Int) throws -> (since: Int64, records: Int, deleted: Int) {
    let noted = try ledger.value(Self.lossesKey(zone))?.split(separator: " ").compactMap { Int64($0) } ?? []
    guard noted.count == 3, noted[0] <= now, now - noted[0] < 3_600_000, noted[1] >= records else {
      return (now, records, 0)
    }
    return (noted[0], Int(noted[1]), Int(noted[2]))
  }

  /// Forgets what was lost, once somebody has decided about it.
  static func startOver(_ zone: ZoneKey, _ ledger: Ledger) throws {
    if try ledger.value(lossesKey(zone)) != nil { try ledger.setValue(lossesKey(zone), nil) }
  }

  /// Lets deletions come true. Where none is left, nothing is held back any more.
  func carryOut(_ names: some Sequence<String>, of zone: ZoneKey) throws {
    for name in names { try reconciliation.takeDeletion(of: RecordKey(zone, name)) }
    try Self.release(zone, ledger)
  }

  /// Ends the hold of a zone where none of its records is marked any more.
  static func release(_ zone: ZoneKey, _ ledger: Ledger) throws {
    guard var known = try ledger.zone(zone), known.heldSince != nil, try ledger.goneCount(zone) == 0 else { return }
    known.heldSince = nil
    if known.state == .deleted { known.state = .unconfirmed }
    try ledger.put(known)
  }

  /// How many of these records did not merely go along, by `DELETE_SELF`, with one that was deleted from here, nor with
  /// one that went along so.
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
  /// In place of the reading that saw a record last: the server has deleted it, and that has not come true here.
  static let gone: Int64 = -1

  /// The records that this one is deleted with.
  fileprivate var owners: [RecordKey] {
    fields.values.flatMap { $0.targets(in: key.zoneKey, action: "DELETE_SELF") }
  }
}
