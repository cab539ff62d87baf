import CloudKit
import Facts
import Synchronization

/// Accepting changes: they are on disk when the caller gets the reply.
extension SyncStore {
  /// The size of the largest record the server accepts, without assets (reference 4).
  package static let largestRecord = 1_000_000

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
      if let group { try Self.check(group, changes, ledger) }
      var zones: Set<ZoneKey> = []
      let zoneDeletes = Set(try ledger.zoneDeletions().keys)
      let known = try ledger.knownPlaces(of: changes.map(\.key))
      var keys: Set<RecordKey> = []
      var accepted: [Accepted] = []
      /// Operations for records that the store does not know: one statement inserts many.
      var new: [(place: Int, operation: QueuedOperation)] = []
      func insertNew() throws {
        let ids = try ledger.insert(new.map(\.operation))
        for (id, (place, _)) in zip(ids, new) { accepted[place] = .enqueued(id) }
        new = []
      }
      for (place, change) in changes.enumerated() {
        if let refusal = try refusal(of: change, ledger) {
          accepted.append(.refused(refusal))
          continue
        }
        if case .failure(let refusal) = assets[place] {
          accepted.append(.refused(refusal.reason))
          continue
        }
        let zone = change.key.zoneKey
        if zones.insert(zone).inserted { try ledger.insertZone(zone, state: .unconfirmed) }
        let isNew = keys.insert(change.key).inserted && !known.contains(place)
        // Another change to a record has to find the operation of the first.
        if !isNew { try insertNew() }
        let (assets, hasZoneDelete) = (try assets[place].get(), zoneDeletes.contains(zone))
        accepted.append(
          try accept(change, assets, group: group, hasZoneDelete: hasZoneDelete, isNew: isNew, now: now, ledger) {
            operation in
            guard isNew else { return try ledger.insert(operation) }
            new.append((place, operation))
            return 0
          }
        )
      }
      try insertNew()
      if isWhole || group != nil {
        for case .refused(let reason) in accepted { throw StoreError(.invalid, reason) }
      }
      if let group { try Self.checkSize(of: group, ledger) }
      for (change, accepted) in zip(changes, accepted) {
        if let actor = change.pausedBy { try Self.pause([accepted], by: actor, now: now, ledger) }
      }
      if accepted.contains(where: { if case .enqueued = $0 { true } else { false } }) {
        try ledger.changeActivity { $0.lastEnqueueAt = now }
      }
      return accepted
    }
  }

  /// Pauses accepted operations that were paused before.
  static func pause(_ accepted: [Accepted], by actor: String, now: Int64, _ ledger: Ledger) throws {
    for case .enqueued(let id) in accepted {
      guard let operation = try ledger.operation(id), QueueVerb.pause.states.contains(operation.state) else { continue }
      try apply(.pause, to: [operation], isFinal: false, actor, now: now, ledger)
    }
  }

  /// Accepts one change to a record of a known zone.
  ///
  /// - Parameter hasZoneDelete: whether a zone delete is pending, which deletes all present records first.
  func accept(
    _ change: Change,
    _ assets: [QueuedAsset],
    group: String?,
    hasZoneDelete: Bool,
    now: Int64,
    _ ledger: Ledger
  ) throws -> Accepted {
    try accept(
      change,
      assets,
      group: group,
      hasZoneDelete: hasZoneDelete,
      isNew: false,
      now: now,
      ledger,
      insert: ledger.insert
    )
  }

  /// - Parameters:
  ///   - isNew: whether the store knows nothing about the record, so that there is nothing to read.
  ///   - insert: adds a new operation; returns its identifier.
  private func accept(
    _ change: Change,
    _ assets: [QueuedAsset],
    group: String?,
    hasZoneDelete: Bool,
    isNew: Bool,
    now: Int64,
    _ ledger: Ledger,
    insert: (QueuedOperation) throws -> Int64
  ) throws -> Accepted {
    var queued = isNew ? nil : try ledger.operation(for: change.key)
    let now = change.editedAt.map { min(now, max($0, queued?.editedAt ?? 0)) } ?? now
    if hasZoneDelete, let old = queued, try old.id <= ledger.zone(change.key.zoneKey)?.supersededThrough ?? 0 {
      try Self.supersede(old, now: now, ledger)
      queued = nil
    }
    let mirror = isNew ? nil : try ledger.record(change.key)
    let limit = change.attemptLimit ?? attemptLimit.withLock { $0 }
    let insert = { (operation: QueuedOperation) in
      var operation = operation
      operation.maxAttempts = limit
      return try insert(operation)
    }
    let remains = hasZoneDelete ? [:] : mirror?.fields ?? [:]
    // After a queued delete the new record has only the fields named now.
    let current = queued?.kind == .delete ? [:] : queued?.changes.applied(to: remains) ?? remains
    var change = change.canonical(over: current)
    let accepted: Accepted
    var dropsSave = false
    switch change.kind {
    case .save(let type, var fields):
      let zone = change.key.zoneKey
      let isHere = queued.map { $0.kind == .save } ?? (mirror != nil && !hasZoneDelete)
      switch change.presence {
      case .absent where isHere: return .refused("there is a record \(change.key.name) already")
      case .present where !isHere: return .refused("there is no record \(change.key.name) to update")
      case .absentOrKept where isHere: return .unchanged
      case .absent, .absentOrKept: fields.isInsert = queued == nil && !hasZoneDelete
      case .present, nil: break
      }
      fields.yields = fields.isInsert && change.presence == .absentOrKept
      // The record is new to the server, so unchanged fields must be sent as well.
      if hasZoneDelete || (queued.map { $0.kind == .delete } ?? (mirror == nil)) {
        let named = fields.names.union(queued?.changes.names ?? [])
        for (name, value) in change.unchanged where !named.contains(name) {
          fields[name] = value
          change.base?[name] = value
        }
      }
      // The caller's version was deleted here, so it is not the base of the recreated record.
      if queued == nil, mirror == nil, try Self.wasDeletedHere(change, ledger) {
        (change.base, change.baseTag) = (nil, nil)
      }
      let assets = try Self.recognized(Self.adopted(assets, in: zone, ledger), in: zone, ledger)
      for (field, own) in Dictionary(grouping: assets, by: \.field) {
        let descriptors = own.map(\.value)
        fields[field] = fields[field]?.replacingAssets(with: descriptors) ?? descriptors.first.map(FieldValue.asset)
      }
      let saving = Saving(
        change: change,
        type: type,
        fields: fields,
        assets: assets,
        current: current,
        group: group,
        hasZoneDelete: hasZoneDelete
      )
      accepted = try accept(saving, queued, mirror, now: now, ledger, insert: insert)
    case .delete:
      if let queued, queued.kind == .save, queued.errorCode != StoreError.unreadable {
        dropsSave = true
        try ledger.closeDropped(of: change.key)
        let server = hasZoneDelete ? nil : mirror
        let overwritten = server.map { Overwritten.record($0.fields) }
        let cause = Cause.deletedBeforeSent
        try ledger.add(
          DroppedChange(queued.changes, of: queued, cause, overwriting: overwritten, of: server, at: now)
        )
      }
      accepted = try acceptDelete(change, queued, mirror, group: group, now: now, ledger, insert: insert)
    }
    // A dropped change can be undone until the next edit.
    if !isNew, !dropsSave, case .enqueued = accepted { try ledger.closeDropped(of: change.key) }
    return accepted
  }

  /// Whether the version of the record that the caller has was deleted here, by itself or with its zone.
  private static func wasDeletedHere(_ change: Change, _ ledger: Ledger) throws -> Bool {
    guard change.baseTag != nil else { return false }
    // Allow a month of difference between the server's clock and ours.
    let since = max(0, change.readAt ?? 0) - 30 * 86_400_000
    return try ledger.wasDeleted(change.key, since: since) || ledger.wasDeleted(change.key.zoneKey, since: since)
  }

  /// Checks that a group is in one custom zone and has no more changes than a request allows.
  private static func check(_ group: String, _ changes: [Change], _ ledger: Ledger) throws {
    let queued = try ledger.keys(inGroup: group)
    let keys = Set(changes.map(\.key)).union(queued)
    if Set(keys.map(\.zoneKey)).count > 1 || keys.contains(where: \.zoneKey.isDefaultZone) {
      throw StoreError(.invalid, "the changes of one group have to be in one custom zone")
    }
    if keys.count > Planner.requestLimit {
      throw StoreError(.invalid, "a group has \(keys.count) changes; a request takes \(Planner.requestLimit)")
    }
  }

  /// Checks the group's size again, because a record of another group brings that group along.
  static func checkSize(of group: String, _ ledger: Ledger) throws {
    let members = try ledger.operations(inGroup: group)
    if members.count > Planner.requestLimit {
      throw StoreError(.invalid, "a group has \(members.count) changes; a request takes \(Planner.requestLimit)")
    }
    let bytes = members.reduce(0) { $0 + $1.bytes }
    if bytes > Planner.byteLimit {
      throw StoreError(.invalid, "a group has \(bytes) bytes; a request takes \(Planner.byteLimit)")
    }
  }

  /// The reason why a member of a group cannot be edited like this; nil if it can.
  private static func refusal(ofEdited operation: QueuedOperation, _ ledger: Ledger) throws -> String? {
    guard let group = operation.group else { return nil }
    let others = try ledger.operations(inGroup: group).filter { $0.id != operation.id }
    guard !others.isEmpty else { return nil }
    let bytes = others.reduce(operation.changes.requestBytes) { $0 + $1.bytes }
    guard bytes > Planner.byteLimit else { return nil }
    return "its atomic group would have \(bytes) bytes; a request takes \(Planner.byteLimit)"
  }

  private func refusal(of change: Change, _ ledger: Ledger) throws -> String? {
    let (key, names) = (change.key, names)
    let mayBeUser: Bool
    if case .save(let type, let fields) = change.kind {
      if let problem = try Self.referenceProblem(of: fields, in: key.zoneKey, names, ledger) { return problem }
      mayBeUser = type == CKRecord.SystemType.userRecord
    } else {
      mayBeUser = true
    }
    if let problem = try Self.nameProblem(of: key, names, mayBeUser: mayBeUser, ledger) { return problem }
    if scope.database == .public, !key.zoneKey.isDefaultZone {
      return "the public database has no zone but \(WireZoneID.defaultZoneName)"
    }
    return nil
  }

  /// The problem of a field that refers to a record by a name that none has; nil if there is no such field.
  static func referenceProblem(of fields: FieldChanges, in zone: ZoneKey, _ names: NameRule, _ ledger: Ledger) throws
    -> String?
  {
    guard fields.values.hasReferences else { return nil }
    for (field, target) in fields.targets(in: zone) {
      if let problem = try nameProblem(of: target, names, mayBeUser: true, ledger) {
        return NameRule.error(ofReference: FieldChanges.shown(field), problem).message
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

  // MARK: - Save

  /// A requested save.
  private struct Saving {
    var change: Change
    var type: String
    var fields: FieldChanges
    var assets: [QueuedAsset]
    /// The record's fields now, with the queued change.
    var current: [String: FieldValue]
    var group: String?
    /// Whether a delete of its zone is pending.
    var hasZoneDelete: Bool
  }

  private func accept(
    _ saving: Saving,
    _ queued: QueuedOperation?,
    _ mirror: MirrorRecord?,
    now: Int64,
    _ ledger: Ledger,
    insert: (QueuedOperation) throws -> Int64
  ) throws -> Accepted {
    let (change, type, assets, group) = (saving.change, saving.type, saving.assets, saving.group)
    let key = change.key
    if let known = queued?.type ?? mirror?.type, known != type {
      let next = queued?.kind == .delete ? "; cktop sync sends its deletion, then it can be created again" : ""
      return .refused("\(key.name) is a record of type \(known), not \(type)\(next)")
    }
    let (onServer, current) = (mirror?.fields ?? [:], saving.current)
    let isRecreation = queued?.kind == .delete
    let fields = queued.map { saving.fields.counted(from: change, onto: $0, current) } ?? saving.fields
    var changes = fields.effective(on: current)
    // A field missing in the mirror may exist on the server, so keep the clear.
    if mirror == nil || saving.hasZoneDelete, !isRecreation {
      changes.apply(fields.only(fields.emptied.subtracting(queued?.changes.emptied ?? [])))
    }
    if queued == nil, mirror != nil, changes.isEmpty, !saving.hasZoneDelete { return .unchanged }
    let joins = group != nil && queued?.group != group
    let yielded = queued?.changes.yields == true
    let isFailed = queued?.state == .failed && queued?.changes.isEmpty == false
    if let queued, queued.kind == .save, changes.isEmpty, !joins, !yielded, !isFailed {
      return .unchanged
    }
    let size = changes.applied(to: current).reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount + 30 }
    if size > Self.largestRecord {
      return .refused("the record has \(size) bytes; the server takes at most \(Self.largestRecord)")
    }

    let base = change.base(beside: mirror)
    guard var operation = queued else {
      var operation = QueuedOperation(
        saving: key,
        type: type,
        changes,
        base: base.filter { changes.names.contains($0.key) },
        baseTag: mirror?.changeTag ?? change.baseTag,
        group: group,
        now: now
      )
      operation.assets = assets
      operation.compareWhereStale(changes.names, base, mirror)
      return .enqueued(try insert(operation))
    }
    operation.noteSentChanges()
    operation.assets.removeAll { fields.names.contains($0.field) }
    operation.assets += assets
    if isRecreation {
      // Edits by others after the local delete still have to be compared with the deleted version.
      let isStale = operation.baseTag != nil && mirror.map { $0.changeTag != operation.baseTag } ?? false
      let deleted = isStale ? operation.base : onServer
      // Also clear fields that an unconfirmed save may have written: the new record has nothing of the old one.
      let old = operation.sentChanges.names.union(deleted.keys).union(onServer.keys)
      for name in old where !changes.names.contains(name) { changes[name] = nil }
      operation.isRecreation = true
      operation.kind = .save
      operation.type = type
      operation.changes = changes
      operation.base = deleted.filter { changes.names.contains($0.key) }
      if isStale { operation.apply(.stale) } else { operation.baseTag = mirror?.changeTag }
    } else {
      let added = changes.names.subtracting(operation.changes.names)
      for name in added { operation.base[name] = base[name] }
      operation.compareWhereStale(added, base, mirror)
      // An insert that found a record is not one any more once it is edited.
      if operation.state == .failed || yielded { operation.changes.isInsert = false }
      operation.changes.yields = false
      operation.changes.apply(changes)
      if mirror != nil, !joins, !saving.hasZoneDelete, operation.isChangedBack {
        try ledger.end(operation, .superseded, .editedBack, now: now)
        return .enqueued(operation.id)
      }
    }
    if group == nil, let refusal = try Self.refusal(ofEdited: operation, ledger) { return .refused(refusal) }
    try edited(&operation, group: group, now: now, ledger)
    return .enqueued(operation.id)
  }

  // MARK: - Delete

  private func acceptDelete(
    _ change: Change,
    _ queued: QueuedOperation?,
    _ mirror: MirrorRecord?,
    group: String?,
    now: Int64,
    _ ledger: Ledger,
    insert: (QueuedOperation) throws -> Int64
  ) throws -> Accepted {
    // If the caller read another version than the store, delete that version: the server knows which one is later.
    let isOther = change.baseTag != nil && change.baseTag != mirror?.changeTag
    let base = isOther ? (change.base ?? [:]).compactMapValues { $0 } : mirror?.fields ?? [:]
    let baseTag = change.baseTag ?? mirror?.changeTag
    guard var operation = queued else {
      var operation = QueuedOperation(
        deleting: change.key,
        type: mirror?.type,
        base: base,
        baseTag: baseTag,
        group: group,
        now: now
      )
      // Without a tag, the delete would hit a record recreated before the request arrives.
      if baseTag == nil { operation.apply(.stale) }
      return .enqueued(try insert(operation))
    }
    // Deleting again retries a dead letter.
    if operation.kind == .delete, operation.state != .failed {
      guard let group, operation.group != group else { return .unchanged }
      try edited(&operation, group: group, now: now, ledger)
      return .enqueued(operation.id)
    }
    let neverLeft =
      operation.kind == .save && operation.errorCode != StoreError.unreadable
      && mirror == nil && baseTag == nil && operation.baseTag == nil && operation.state != .inFlight
      && !operation.needsReadBack && !operation.isUnanswered && operation.attempts == 0
    if neverLeft {
      try ledger.end(operation, .superseded, .deletedBeforeSent, now: now)
      return .enqueued(operation.id)
    }
    operation.noteSentChanges()
    operation.kind = .delete
    operation.isRecreation = false
    operation.changes = FieldChanges()
    // If neither side has a version, keep the base of the save.
    if mirror != nil || change.baseTag != nil { (operation.base, operation.baseTag) = (base, baseTag) }
    let isLeaving = operation.state == .inFlight || operation.isUnanswered
    if operation.baseTag == nil, !isLeaving { operation.apply(.stale) }
    try edited(&operation, group: group, now: now, ledger)
    return .enqueued(operation.id)
  }

  /// Makes an edited operation pending again, unless it is paused or in conflict.
  func edited(_ operation: inout QueuedOperation, group: String?, now: Int64, _ ledger: Ledger) throws {
    // A delete resolves a conflict about fields, and so does an edit that matches the server's values.
    let server = operation.state == .conflict ? try ledger.record(operation.key) : nil
    let isSettled = operation.state == .conflict && operation.isSettled(on: server)
    operation.apply(.edited(settlesConflict: isSettled, now: now))
    if isSettled, operation.kind == .save, let server {
      operation.changes = operation.changes.effective(on: server.fields)
      operation.base = server.fields.filter { operation.changes.names.contains($0.key) }
      operation.baseTag = server.changeTag
      guard !operation.changes.isEmpty else {
        return try ledger.end(operation, .acknowledged, .onServer(), now: now)
      }
    }
    if let group {
      // The members of the old group join the new one.
      if let old = operation.group, old != group { try ledger.join(old, to: group) }
      operation.group = group
    }
    try ledger.update(operation)
  }
}

extension Change {
  /// The base of the change: the fields that the caller read, if it read a version other than the store's.
  fileprivate func base(beside mirror: MirrorRecord?) -> [String: FieldValue] {
    var result = mirror?.fields ?? [:]
    guard let base, mirror == nil || baseTag != mirror?.changeTag else { return result }
    for (name, value) in base { result[name] = value }
    return result
  }
}

extension FieldChanges {
  /// Applies the counters and sets of an edit relative to the values its author read, so that it does not revert what
  /// has been merged into the queued operation since.
  fileprivate func counted(from change: Change, onto queued: QueuedOperation, _ current: [String: FieldValue])
    -> FieldChanges
  {
    guard queued.kind == .save, let read = change.base else { return self }
    var result = self
    for name in names.intersection(queued.changes.names) {
      let rule = rules[name] ?? queued.changes.rules[name] ?? .value
      guard let read = read[name], !read.isSame(as: current[name]),
        let joined = rule.joined(base: read, local: self[name], server: current[name])
      else { continue }
      result.merge(name, joined, rules[name])
    }
    return result
  }
}

extension QueuedOperation {
  /// Requests a comparison with the server's record before sending, if the edit was made on outdated values.
  fileprivate mutating func compareWhereStale(
    _ names: Set<String>,
    _ base: [String: FieldValue],
    _ mirror: MirrorRecord?
  ) {
    guard let mirror, names.contains(where: { !base[$0].isSame(as: mirror.fields[$0]) }) else { return }
    apply(.stale)
    if state == .pending { cause = .basedOnOldVersion }
  }

  /// Whether the edit resolves the conflict. A conflict that recurs without end still needs a person.
  fileprivate func isSettled(on server: MirrorRecord?) -> Bool {
    guard kind == .save else { return true }
    guard let server, !conflictsEndlessly else { return false }
    return !Conflict(self, server: server).isContested
  }

  /// Whether nothing is left to send: the operation was never sent and every field has its old value again.
  fileprivate var isChangedBack: Bool {
    guard kind == .save, !isRecreation, baseTag != nil, errorCode != StoreError.unreadable else { return false }
    guard state != .inFlight, state != .conflict, !isUnanswered, sentChanges.isEmpty else { return false }
    return changes.effective(on: base).isEmpty
  }

  /// Called before an edit: remembers the fields that a request in flight may have written.
  fileprivate mutating func noteSentChanges() {
    guard state == .inFlight, sentKind == .save, kind == .save, generation == sentGeneration else { return }
    apply(.mayBeCarriedOut(changes))
  }
}
