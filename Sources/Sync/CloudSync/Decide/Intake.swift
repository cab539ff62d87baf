import CloudKit
import Facts

/// Decides what becomes of a requested change. Reads and writes nothing.
struct Intake {
  /// The effect on the record's operation. There is at most one: later edits merge into it.
  enum Decision: Hashable {
    case refused(String)
    case unchanged
    case insert(QueuedOperation)
    case update(QueuedOperation)
    case end(QueuedOperation, Ending, Cause)
  }

  /// The part of the store that decides about a change.
  struct Known {
    var queued: QueuedOperation?
    var mirror: MirrorRecord?
    /// Whether a zone delete is pending, which deletes all present records first.
    var hasZoneDelete = false
    /// Whether the store has no record, and the caller's version was deleted here, by itself or with its zone.
    var wasDeletedHere = false
    /// The encrypted fields of the record type, with their wire types.
    var encrypted: [String: String] = [:]
    /// The bytes of the other members of the queued operation's group; nil if there is none.
    var otherBytes: Int?
  }

  private(set) var decision = Decision.unchanged
  /// The queued save that a delete replaces, or a change that was lost with its row before this edit.
  private(set) var dropped: DroppedChange?
  private var change: Change
  private let assets: [QueuedAsset]
  private let group: String?
  private let known: Known
  /// The time of the edit.
  let now: Int64
  /// The record's fields now, with the queued change.
  private let current: [String: FieldValue]

  var queued: QueuedOperation? { known.queued }
  private var mirror: MirrorRecord? { known.mirror }

  /// - Parameters:
  ///   - assets: the assets of a save, with their places in the zone.
  ///   - attemptLimit: for a change that names none.
  init(
    _ change: Change,
    _ known: Known,
    assets: [QueuedAsset] = [],
    group: String? = nil,
    attemptLimit: Int = QueuedOperation.defaultAttemptLimit,
    now: Int64
  ) {
    let queued = known.queued
    self.now = change.editedAt.map { min(now, max($0, queued?.editedAt ?? 0)) } ?? now
    // After a queued delete the new record has only the fields named now.
    let local = LocalRecord(change.key, mirror: known.mirror, queued: queued, zoneIsGoing: known.hasZoneDelete)
    current = local.fields
    self.change = change.canonical(over: current)
    (self.assets, self.group, self.known) = (assets, group, known)
    switch self.change.kind {
    case .save(let type, let fields): decision = save(type, fields)
    case .delete: decision = delete()
    }
    if case .insert(var operation) = decision {
      operation.maxAttempts = change.attemptLimit ?? attemptLimit
      decision = .insert(operation)
    }
  }

  // MARK: - Save

  private mutating func save(_ type: String, _ requested: FieldChanges) -> Decision {
    let name = change.key.name
    let isHere = queued.map { $0.kind == .save } ?? (mirror != nil && !known.hasZoneDelete)
    switch change.presence {
    case .absent where isHere: return .refused("there is a record \(name) already")
    case .present where !isHere: return .refused("there is no record \(name) to update")
    case .absentOrKept where isHere: return .unchanged
    default: break
    }
    let isRecreation = queued?.kind == .delete
    if let problem = Self.typeProblem(of: name, as: type, queued, mirror) { return .refused(problem) }
    if let problem = EncryptedFields.problem(of: requested, known.encrypted) { return .refused(problem) }
    let fields = completed(requested)
    var changes = fields.effective(on: current)
    // A field missing in the mirror, or in its unreadable row, may exist on the server, so keep the clear.
    let isUnread = mirror?.changeTag.hasPrefix(MirrorRecord.unreadable) ?? true
    if isUnread || known.hasZoneDelete, !isRecreation {
      changes.apply(fields.only(fields.emptied.subtracting(queued?.changes.emptied ?? [])))
    }
    if changes.isEmpty, hasNothingToSend { return .unchanged }
    let size = RecordSize.bytes(of: changes.applied(to: current))
    if size > RecordSize.limit {
      return .refused("the record has \(size) bytes; the server takes at most \(RecordSize.limit)")
    }
    let base = change.base(beside: mirror)
    guard var operation = queued else { return insertion(type, changes, base) }
    operation.noteSentChanges()
    operation.assets.removeAll { fields.names.contains($0.field) }
    operation.assets += assets
    if isRecreation {
      recreate(&operation, type, changes)
    } else {
      operation.add(changes, base, mirror)
      if mirror != nil, !joins, !known.hasZoneDelete, operation.isChangedBack {
        return .end(operation, .superseded, .editedBack)
      }
    }
    if group == nil, let others = known.otherBytes {
      let bytes = others + operation.changes.requestBytes
      guard bytes <= Planner.byteLimit else {
        return .refused("its atomic group would have \(bytes) bytes; a request takes \(Planner.byteLimit)")
      }
    }
    // The dead letter ends with this edit, so the change that it stood for is reported as dropped.
    if queued?.errorCode == StoreError.unreadable, let queued {
      // Its readable part is sent with this edit.
      var lost = DroppedChange(FieldChanges(), of: queued, queued.cause.withoutNotes, at: now)
      lost.isOpen = false
      dropped = lost
    }
    return edited(operation)
  }

  /// The reason why a record cannot be saved with a type: it has another; nil if there is none.
  static func typeProblem(of name: String, as type: String, _ queued: QueuedOperation?, _ mirror: MirrorRecord?)
    -> String?
  {
    guard let known = queued?.type ?? mirror?.type, known != type else { return nil }
    let next = queued?.kind == .delete ? "; cktop sync sends its deletion, then it can be created again" : ""
    return "\(name) is a record of type \(known), not \(type)\(next)"
  }

  private var joins: Bool { group != nil && queued?.group != group }

  /// Whether a save without effective changes has no effect.
  private var hasNothingToSend: Bool {
    guard let queued else { return mirror != nil && !known.hasZoneDelete }
    let isFailed = queued.state == .failed && !queued.changes.isEmpty
    return queued.kind == .save && !joins && !queued.changes.yields && !isFailed
  }

  /// The requested fields with the conditions of an insert, with the others of a new record, and with their assets.
  private mutating func completed(_ requested: FieldChanges) -> FieldChanges {
    var fields = requested
    if change.presence == .absent || change.presence == .absentOrKept {
      fields.isInsert = queued == nil && !known.hasZoneDelete
    }
    fields.yields = fields.isInsert && change.presence == .absentOrKept
    // The record is new to the server, so unchanged fields must be sent as well.
    if known.hasZoneDelete || (queued.map { $0.kind == .delete } ?? (mirror == nil)) {
      let named = fields.names.union(queued?.changes.names ?? [])
      for (name, value) in change.unchanged where !named.contains(name) {
        fields[name] = value
        change.base?[name] = value
      }
    }
    // The caller's version was deleted here, so it is not the base of the recreated record.
    if known.wasDeletedHere { (change.base, change.baseTag) = (nil, nil) }
    for (field, own) in Dictionary(grouping: assets, by: \.field) {
      let descriptors = own.map(\.value)
      fields[field] = fields[field]?.replacingAssets(with: descriptors) ?? descriptors.first.map(FieldValue.asset)
    }
    return queued.map { fields.joined(from: change, onto: $0, current) } ?? fields
  }

  private func insertion(_ type: String, _ changes: FieldChanges, _ base: [String: FieldValue]) -> Decision {
    var operation = QueuedOperation(
      .save,
      change.key,
      type: type,
      changes,
      base: base.filter { changes.names.contains($0.key) },
      baseTag: mirror?.changeTag ?? change.baseTag,
      group: group,
      now: now
    )
    operation.assets = assets
    operation.compareWhereStale(changes.names, base, mirror)
    return .insert(operation)
  }

  /// Makes a queued delete the save of a new record.
  private func recreate(_ operation: inout QueuedOperation, _ type: String, _ requested: FieldChanges) {
    let onServer = mirror?.fields ?? [:]
    // Edits by others after the local delete still have to be compared with the deleted version.
    let isStale = operation.baseTag != nil && mirror.map { $0.changeTag != operation.baseTag } ?? false
    let deleted = isStale ? operation.base : onServer
    var changes = requested
    // Also clear fields that an unconfirmed save may have written: the new record has nothing of the old one.
    let old = operation.sentChanges.names.union(deleted.keys).union(onServer.keys)
    for name in old where !requested.names.contains(name) { changes[name] = nil }
    (operation.kind, operation.isRecreation) = (.save, true)
    (operation.type, operation.changes) = (type, changes)
    operation.base = deleted.filter { changes.names.contains($0.key) }
    if isStale { operation.apply(.stale) } else { operation.baseTag = mirror?.changeTag }
  }

  // MARK: - Delete

  private mutating func delete() -> Decision {
    // If the caller read another version than the store, delete that version: the server knows which one is later.
    let isOther = change.baseTag != nil && change.baseTag != mirror?.changeTag
    let base = isOther ? (change.base ?? [:]).compactMapValues { $0 } : mirror?.fields ?? [:]
    let baseTag = change.baseTag ?? mirror?.changeTag
    guard var operation = queued else {
      let (key, type) = (change.key, mirror?.type)
      var operation = QueuedOperation(.delete, key, type: type, base: base, baseTag: baseTag, group: group, now: now)
      // Without a tag, the delete would hit a record recreated before the request arrives.
      if baseTag == nil { operation.apply(.stale) }
      return .insert(operation)
    }
    // Deleting again retries a dead letter.
    if operation.kind == .delete, operation.state != .failed { return joins ? edited(operation) : .unchanged }
    if operation.kind == .save, operation.errorCode != StoreError.unreadable {
      let server = known.hasZoneDelete ? nil : mirror
      let overwritten = server.map { Overwritten.record($0.fields) }
      let cause = Cause.deletedBeforeSent
      dropped = DroppedChange(operation.changes, of: operation, cause, overwriting: overwritten, of: server, at: now)
      if mirror == nil, baseTag == nil, operation.neverLeft { return .end(operation, .superseded, cause) }
    }
    operation.noteSentChanges()
    (operation.kind, operation.isRecreation, operation.changes) = (.delete, false, FieldChanges())
    // If neither side has a version, keep the base of the save.
    if mirror != nil || change.baseTag != nil { (operation.base, operation.baseTag) = (base, baseTag) }
    let isLeaving = operation.state == .inFlight || operation.isUnconfirmed
    if operation.baseTag == nil, !isLeaving { operation.apply(.stale) }
    return edited(operation)
  }

  /// Makes an edited operation pending again, unless it is paused or in conflict.
  private func edited(_ edited: QueuedOperation) -> Decision {
    var operation = edited
    // A delete resolves a conflict about fields, and so does an edit that matches the server's values.
    let isResolved = operation.state == .conflict && operation.isResolved(on: mirror)
    operation.apply(.edited(resolvesConflict: isResolved, now: now))
    if isResolved, operation.kind == .save, let mirror {
      operation.changes = operation.changes.effective(on: mirror.fields)
      operation.base = mirror.fields.filter { operation.changes.names.contains($0.key) }
      operation.baseTag = mirror.changeTag
      if operation.changes.isEmpty { return .end(operation, .acknowledged, .onServer()) }
    }
    operation.group = group ?? operation.group
    return .update(operation)
  }
}

extension FieldChanges {
  /// Applies the fields of an edit that have a merge rule relative to the values its author read, so that it does not
  /// revert what has been merged into the queued operation since.
  fileprivate func joined(from change: Change, onto queued: QueuedOperation, _ current: [String: FieldValue])
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
  /// Adds a later edit to a save.
  fileprivate mutating func add(_ edit: FieldChanges, _ base: [String: FieldValue], _ mirror: MirrorRecord?) {
    let added = edit.names.subtracting(changes.names)
    for name in added { self.base[name] = base[name] }
    // The local copy of that version has been damaged since: the server has the base of the added fields.
    if !added.isEmpty, let tag = baseTag, mirror?.changeTag == MirrorRecord.unreadable + tag {
      baseTag = mirror?.changeTag
    }
    compareWhereStale(added, base, mirror)
    // An insert that found a record is not one any more once it is edited.
    if state == .failed || changes.yields { changes.isInsert = false }
    changes.yields = false
    changes.apply(edit)
  }

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

  /// Whether no request with it may have reached the server.
  fileprivate var neverLeft: Bool {
    baseTag == nil && state != .inFlight && !needsVerification && !isUnconfirmed && attempts == 0
  }

  /// Whether the edit resolves the conflict. A conflict that recurs without end still needs a person.
  fileprivate func isResolved(on server: MirrorRecord?) -> Bool {
    guard kind == .save else { return true }
    guard let server, !conflictsEndlessly else { return false }
    return !Conflict(self, server: server).isContested
  }

  /// Whether nothing is left to send: the operation was never sent and every field has its old value again.
  fileprivate var isChangedBack: Bool {
    guard kind == .save, !isRecreation, baseTag != nil, errorCode != StoreError.unreadable else { return false }
    guard state != .inFlight, state != .conflict, !isUnconfirmed, sentChanges.isEmpty else { return false }
    // The base is not known before the record is fetched again.
    if baseTag?.hasPrefix(MirrorRecord.unreadable) == true { return false }
    return changes.effective(on: base).isEmpty
  }

  /// Called before an edit: remembers the fields that a request in flight may have written.
  fileprivate mutating func noteSentChanges() {
    guard state == .inFlight, sentKind == .save, kind == .save, generation == sentGeneration else { return }
    apply(.mayBeCarriedOut(changes))
  }
}
