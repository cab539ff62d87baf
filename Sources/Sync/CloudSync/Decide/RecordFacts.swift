/// The facts of the store about an operation's record and its zone.
struct RecordFacts: Hashable {
  var record: MirrorRecord?
  /// Whether the mirror has the record, even in an unreadable row.
  var isKnown = false
  /// Whether the server deleted it, and that has not been applied.
  var isGone = false
  var epoch: Int64 = 0
  var zone: KnownZone?
  /// The number of the zone's records in the mirror.
  var records = 0
  /// Whether a delete of the zone is queued.
  var hasZoneDelete = false
  /// Whether deletions may be put on hold.
  var isGuarded = false
}

extension RecordFacts {
  /// - Parameter zoneIsMissing: whether to read what decides about a missing zone; else about a missing record.
  init(of operation: QueuedOperation, zoneIsMissing: Bool, _ policy: MergePolicy, _ ledger: Ledger) throws {
    self.init()
    let (key, zone) = (operation.key, operation.key.zoneKey)
    record = operation.kind == .save ? try ledger.record(key) : nil
    isKnown = try record != nil || ledger.changeTag(key) != nil
    isGone = try ledger.isGone(key)
    self.zone = try ledger.zone(zone)
    epoch = self.zone?.epoch ?? 0
    records = try zoneIsMissing && self.zone?.state == .ready ? ledger.recordCount(of: zone) : 0
    hasZoneDelete = try ledger.isDeleteQueued(zone)
    isGuarded = policy.deletionGuard != nil
  }
}
