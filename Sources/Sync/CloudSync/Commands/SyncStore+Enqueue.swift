import CloudKit
import Facts
import Synchronization

/// Accepting changes: they are on disk when the caller gets the reply.
extension SyncStore {
  /// Accepts changes in one transaction. When this returns, the accepted changes survive a power failure.
  ///
  /// - Parameters:
  ///   - group: a name for sending all of them in one atomic request (custom zones only).
  ///   - isWhole: whether one rejected change rejects all, by an error. A group always does.
  ///   - keeping: whether asset bytes are copied now or read from their place when sent.
  /// - Returns: one element for each change, in order.
  package func enqueue(
    _ changes: [Change],
    group: String? = nil,
    isWhole: Bool = false,
    assets keeping: AssetKeeping = .copied
  ) throws(StoreError) -> [Accepted] {
    try whileKeepingAssets(of: changes, keeping) { assets throws(StoreError) in
      try accept(changes, assets, group: group, isWhole: isWhole)
    }
  }

  private func accept(
    _ changes: [Change],
    _ assets: [Result<[QueuedAsset], Refusal>],
    group: String?,
    isWhole: Bool
  ) throws(StoreError) -> [Accepted] {
    let now = now()
    return try write { ledger in
      try claimQueue(ledger)
      var changes = changes
      for place in changes.indices where !changes[place].key.owner.isEmpty {
        let key = changes[place].key
        changes[place].key = RecordKey(try own(key.zoneKey, ledger), key.name)
      }
      let accepted = try accept(changes, assets, group: group, now: now, ledger)
      if isWhole || group != nil {
        for case .refused(let reason) in accepted { throw StoreError(.invalid, reason) }
      }
      if let group { try Self.check(group, ledger) }
      for (change, accepted) in zip(changes, accepted) {
        if let actor = change.pausedBy { try Self.pause([accepted], by: actor, now: now, ledger) }
      }
      if accepted.contains(where: { if case .enqueued = $0 { true } else { false } }) {
        try ledger.changeActivity { $0.lastEnqueueAt = now }
      }
      return accepted
    }
  }

  private func accept(
    _ changes: [Change],
    _ assets: [Result<[QueuedAsset], Refusal>],
    group: String?,
    now: Int64,
    _ ledger: Ledger
  ) throws -> [Accepted] {
    var (zones, keys): (Set<ZoneKey>, Set<RecordKey>) = ([], [])
    var gone = Set(try ledger.goneZones())
    let zoneDeletes = try ledger.deletedZones()
    let known = try ledger.knownPlaces(of: changes.map(\.key))
    var encrypted = EncryptedFields()
    var accepted: [Accepted] = []
    /// Operations for records that the store does not know: one statement inserts many.
    var new: [(place: Int, operation: QueuedOperation)] = []
    func insertNew() throws {
      let ids = try ledger.insert(new.map(\.operation))
      for (id, (place, _)) in zip(ids, new) { accepted[place] = .enqueued(id) }
      new = []
    }
    for (place, change) in changes.enumerated() {
      if let refusal = try refusal(of: change, assets[place], ledger) {
        accepted.append(.refused(refusal))
        continue
      }
      let zone = change.key.zoneKey
      if zones.insert(zone).inserted { try ledger.insertZone(zone, state: .unconfirmed) }
      let isNew = keys.insert(change.key).inserted && !known.contains(place)
      // Another change to a record has to find the operation of the first.
      if !isNew { try insertNew() }
      let known = Intake.Known(
        hasZoneDelete: zoneDeletes.contains(zone),
        encrypted: try encrypted.concerned(by: change, ledger)
      )
      let intake = try decide(change, known, assets[place].get(), group, isNew: isNew, now: now, ledger)
      if isNew, case .insert(let operation) = intake.decision {
        new.append((place, operation))
        accepted.append(.enqueued(0))
      } else {
        accepted.append(try Self.write(intake, ledger))
      }
      if case .enqueued? = accepted.last { encrypted.note(change) }
      if case .save = change.kind, case .enqueued? = accepted.last, gone.remove(zone) != nil {
        try ledger.recreate(zone)
      }
    }
    try insertNew()
    return accepted
  }

  /// The reason why a record cannot be saved with a type: it has another; nil if there is none.
  package func typeProblem(of key: RecordKey, as type: String) throws(StoreError) -> String? {
    try read { try Intake.typeProblem(of: key.name, as: type, $0.operation(for: key), $0.record(key)) }
  }

  /// Pauses accepted operations that were paused before.
  static func pause(_ accepted: [Accepted], by actor: String, now: Int64, _ ledger: Ledger) throws {
    for case .enqueued(let id) in accepted {
      guard let operation = try ledger.operation(id), QueueVerb.pause.states.contains(operation.state) else { continue }
      try apply(.pause, to: [operation], isFinal: false, actor, now: now, ledger)
    }
  }

  /// Accepts one change to a record of a known zone.
  func accept(_ change: Change, _ assets: [QueuedAsset], now: Int64, _ ledger: Ledger) throws -> Accepted {
    var encrypted = EncryptedFields()
    let known = Intake.Known(
      hasZoneDelete: try ledger.hasZoneDelete(change.key.zoneKey),
      encrypted: try encrypted.concerned(by: change, ledger)
    )
    let accepted = try Self.write(decide(change, known, assets, nil, now: now, ledger), ledger)
    if case .save = change.kind, case .enqueued = accepted { try ledger.recreate(change.key.zoneKey) }
    return accepted
  }

  /// Decides about a change. A queued change that a pending zone delete supersedes ends first.
  ///
  /// - Parameter isNew: whether the store knows nothing about the record, so that there is nothing to read.
  private func decide(
    _ change: Change,
    _ known: Intake.Known,
    _ assets: [QueuedAsset],
    _ group: String?,
    isNew: Bool = false,
    now: Int64,
    _ ledger: Ledger
  ) throws -> Intake {
    let (key, zone) = (change.key, change.key.zoneKey)
    var known = known
    if !isNew { (known.queued, known.mirror) = (try ledger.operation(for: key), try ledger.record(key)) }
    if known.hasZoneDelete, let old = known.queued, try old.id <= ledger.superseded(in: zone) ?? 0 {
      try Self.supersede(old, now: now, ledger)
      known.queued = nil
    }
    if group == nil, let queued = known.queued, let group = queued.group {
      let others = try ledger.operations(inGroup: group).filter { $0.id != queued.id }
      if !others.isEmpty { known.otherBytes = others.reduce(0) { $0 + $1.bytes } }
    }
    if known.queued == nil, known.mirror == nil { known.wasDeletedHere = try Self.wasDeletedHere(change, ledger) }
    let assets = try Self.recognized(Self.adopted(assets, in: zone, ledger), in: zone, ledger)
    return Intake(change, known, assets: assets, group: group, attemptLimit: attemptLimit.withLock { $0 }, now: now)
  }

  /// Writes what was decided. A dropped change can be undone until the next edit.
  private static func write(_ intake: Intake, _ ledger: Ledger) throws -> Accepted {
    let operation: QueuedOperation
    switch intake.decision {
    case .refused(let reason): return .refused(reason)
    case .unchanged: return .unchanged
    case .insert(let new), .update(let new), .end(let new, _, _): operation = new
    }
    try ledger.closeDropped(of: operation.key)
    if let dropped = intake.dropped { try ledger.add(dropped) }
    switch intake.decision {
    case .insert: return .enqueued(try ledger.insert(operation))
    case .end(_, let ending, let cause): try ledger.end(operation, ending, cause, now: intake.now)
    default:
      // The members of the old group join the new one.
      if let old = intake.queued?.group, let group = operation.group, old != group { try ledger.join(old, to: group) }
      try ledger.update(operation)
    }
    return .enqueued(operation.id)
  }

  /// Whether the version of the record that the caller has was deleted here, by itself or with its zone.
  private static func wasDeletedHere(_ change: Change, _ ledger: Ledger) throws -> Bool {
    guard change.baseTag != nil else { return false }
    // Allow a month of difference between the server's clock and ours.
    let since = max(0, change.readAt ?? 0) - 30 * SystemClock.day
    return try ledger.wasDeleted(change.key, since: since) || ledger.wasDeleted(change.key.zoneKey, since: since)
  }

  /// Checks that a group is in one custom zone and fits one request. A record of another group brings that group along.
  static func check(_ group: String, _ ledger: Ledger) throws {
    let members = try ledger.operations(inGroup: group)
    if Set(members.map(\.key.zoneKey)).count > 1 || members.contains(where: \.key.zoneKey.isDefaultZone) {
      throw StoreError(.invalid, "the changes of one group have to be in one custom zone")
    }
    if members.count > Planner.requestLimit {
      throw StoreError(.invalid, "a group has \(members.count) changes; a request takes \(Planner.requestLimit)")
    }
    let bytes = members.reduce(0) { $0 + $1.bytes }
    if bytes > Planner.byteLimit {
      throw StoreError(.invalid, "a group has \(bytes) bytes; a request takes \(Planner.byteLimit)")
    }
  }

  private func refusal(of change: Change, _ assets: Result<[QueuedAsset], Refusal>, _ ledger: Ledger) throws -> String?
  {
    let (key, names) = (change.key, names)
    let mayBeUser: Bool
    if case .save(let type, let fields) = change.kind {
      if let problem = try Self.referenceProblem(of: fields, in: key.zoneKey, names, ledger) { return problem }
      if scope.database == .public, let field = fields.encrypted.min() {
        return "\(field) is encrypted, and the public database has no encrypted fields"
      }
      mayBeUser = type == CKRecord.SystemType.userRecord
    } else {
      mayBeUser = true
    }
    if let problem = try Self.nameProblem(of: key, names, mayBeUser: mayBeUser, ledger) { return problem }
    if let problem = scope.problem(of: key.zoneKey) { return problem }
    if case .failure(let refusal) = assets { return refusal.reason }
    return nil
  }

  /// The problem of a field that refers to a record by a name that none has; nil if there is no such field.
  static func referenceProblem(of fields: FieldChanges, in zone: ZoneKey, _ names: NameRule, _ ledger: Ledger) throws
    -> String?
  {
    guard fields.values.hasReferences else { return nil }
    for (field, target) in fields.targets(in: zone) {
      if let problem = try nameProblem(of: target, names, mayBeUser: true, ledger) {
        return NameRule.error(ofReference: FieldChanges.displayName(field), problem).message
      }
    }
    return nil
  }

  /// The reason why no server takes a record of this name; nil if one may, or the store knows the record.
  private static func nameProblem(of key: RecordKey, _ names: NameRule, mayBeUser: Bool, _ ledger: Ledger) throws
    -> String?
  {
    if let problem = try nameProblem(of: key.zoneKey, names, ledger) { return problem }
    guard let problem = names.recordNameProblem(key.name, mayBeUser: mayBeUser) else { return nil }
    let isKnown = try ledger.changeTag(key) != nil || ledger.operation(for: key) != nil
    return isKnown ? nil : problem
  }

  /// The reason why no server takes a zone of this name; nil if one may, or is known to have it.
  static func nameProblem(of zone: ZoneKey, _ names: NameRule, _ ledger: Ledger) throws -> String? {
    guard let problem = names.zoneNameProblem(zone.zone) else { return nil }
    return try ledger.zone(zone)?.state == .ready ? nil : problem
  }
}
