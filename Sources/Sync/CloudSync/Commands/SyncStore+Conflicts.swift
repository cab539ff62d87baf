import CloudKit
import Facts

/// Conflicts: listing and resolving them.
extension SyncStore {
  static func conflict(_ id: Int64, _ ledger: Ledger) throws -> Conflict? {
    guard let operation = try ledger.operation(id), operation.state == .conflict else { return nil }
    return Conflict(operation, server: try ledger.record(operation.key))
  }

  // MARK: - Resolving

  /// Returns what `resolve` would do, without changing anything.
  package func preview(
    _ id: Int64,
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    ifVersion version: String? = nil
  ) throws(StoreError) -> ConflictOutcome {
    try read { ledger in
      if let moved = try Self.moved(id, from: version, ledger) { return moved }
      let (_, conflict, resolution) = try Self.resolution(of: id, take, fields, ledger)
      return .resolved(resolution, of: conflict)
    }
  }

  /// Resolves a conflict. `fields` chooses the side for single fields; all others follow `take`.
  ///
  /// - Parameter version: the version that was decided on; a conflict that has changed since is left alone. Nil: the
  ///   current one.
  package func resolve(
    _ id: Int64,
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    ifVersion version: String? = nil,
    actor: String
  ) throws(StoreError) -> ConflictOutcome {
    let now = now()
    return try write { ledger in
      if let moved = try Self.moved(id, from: version, ledger) { return moved }
      var (operation, conflict, resolution) = try Self.resolution(of: id, take, fields, ledger)
      try carryOut(&operation, resolution, take, fields, actor, now: now, ledger)
      return .resolved(resolution, of: conflict)
    }
  }

  /// The versions of the conflicts that a filter selects, oldest first.
  package func conflictVersions(matching filter: QueueFilter? = nil) throws(StoreError) -> [(
    id: Int64, version: String
  )] {
    let now = now()
    return try read { ledger in
      try ledger.operationIDs(matching: filter, in: .conflict, now: now).compactMap { id in
        try Self.conflict(id, ledger).map { (id, $0.version) }
      }
    }
  }

  /// Resolves several conflicts alike, in transactions of at most 500. A conflict that changed since its version was
  /// read is left alone.
  ///
  /// - Parameters:
  ///   - versions: the version that each was decided on; nil: as it is now.
  ///   - dryRun: reports what would be done and does nothing.
  package func resolve(
    _ conflicts: [(id: Int64, version: String?)],
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    dryRun: Bool = false,
    actor: String
  ) throws(StoreError) -> ConflictsOutcome {
    let now = now()
    var outcome = ConflictsOutcome()
    var rest = conflicts[...]
    while !rest.isEmpty {
      let slice = rest.prefix(Self.slice)
      rest = rest.dropFirst(Self.slice)
      let body = { (ledger: Ledger) in
        var done = ConflictsOutcome()
        for (id, version) in slice {
          try self.resolve(id, version, take, fields, dryRun: dryRun, actor, now: now, into: &done, ledger)
        }
        return done
      }
      outcome.add(try dryRun ? read(body) : write(body))
      if !rest.isEmpty { storage.letOthersWrite() }
    }
    return outcome
  }

  private func resolve(
    _ id: Int64,
    _ version: String?,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    dryRun: Bool,
    _ actor: String,
    now: Int64,
    into outcome: inout ConflictsOutcome,
    _ ledger: Ledger
  ) throws {
    guard let conflict = try Self.conflict(id, ledger) else { return outcome.unknown.append(id) }
    guard version == nil || version == conflict.version else { return outcome.moved.append(conflict) }
    do {
      var (operation, _, resolution) = try Self.resolution(of: id, take, fields, ledger)
      if !dryRun { try carryOut(&operation, resolution, take, fields, actor, now: now, ledger) }
      outcome.resolved.append(id)
    } catch let error as StoreError where error.kind == .invalid {
      outcome.skipped[id] = error.message
    }
  }

  /// The outcome if the conflict has changed since the version that was decided on; nil if not.
  private static func moved(_ id: Int64, from version: String?, _ ledger: Ledger) throws -> ConflictOutcome? {
    guard let version, case let current = try conflict(id, ledger), current?.version != version else { return nil }
    return .moved(current)
  }

  private static func resolution(
    of id: Int64,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    _ ledger: Ledger
  ) throws -> (operation: QueuedOperation, conflict: Conflict, resolution: Resolution) {
    guard let operation = try ledger.operation(id), operation.state == .conflict else {
      throw StoreError(.invalid, "\(id) is not a conflict; `cktop conflicts list` shows them all")
    }
    let conflict = Conflict(operation, server: try ledger.record(operation.key))
    if let unknown = fields.keys.sorted().first(where: { name in !conflict.fields.contains { $0.name == name } }) {
      let names = conflict.fields.map(\.name).joined(separator: ", ")
      throw StoreError(.invalid, "field \(unknown) is not in conflict \(id); its fields are \(names)")
    }
    if conflict.tears(take, fields) {
      throw StoreError(
        .invalid,
        "conflict \(id) is a deletion, which is taken whole: choose local for all fields, to delete, or for none"
      )
    }
    if let file = conflict.fileNobodyHas(take, fields) {
      throw StoreError(
        .invalid,
        "the file that \(file) had before is no longer on this machine; take local or server for it"
      )
    }
    return (operation, conflict, conflict.resolution(take, fields))
  }

  /// Carries out a person's decision and logs it.
  private func carryOut(
    _ operation: inout QueuedOperation,
    _ resolution: Resolution,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let command = Event.Command.resolve(
      operation: operation.id,
      take: take.rawValue,
      fields: fields.mapValues(\.rawValue)
    )
    let (id, zone) = (operation.id, operation.key.zone)
    try audit(command, 1, actor, operation: id, zone: zone, now: now, ledger)
    try Self.carryOut(&operation, resolution, by: .person, now: now, ledger)
  }

  private static func carryOut(
    _ operation: inout QueuedOperation,
    _ resolution: Resolution,
    by decider: Cause.Decider,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let server = try ledger.record(operation.key)
    if resolution.dropped != nil || resolution.left != nil {
      let (dropped, overwritten) = (resolution.dropped, resolution.overwritten)
      try ledger.add(
        DroppedChange(dropped, of: operation, .resolved(by: decider), overwriting: overwritten, of: server, at: now)
      )
    }
    guard let left = resolution.left else {
      return try ledger.end(operation, .merged, .resolved(by: decider), now: now)
    }
    operation.kind = resolution.kind
    // A create that the server does not show may still be carried out.
    if server != nil { operation.apply(.confirmed()) }
    operation.changes = left
    operation.base = server?.fields.filter { left.names.contains($0.key) || operation.kind == .delete } ?? [:]
    operation.baseTag = server?.changeTag
    operation.apply(.resolved(by: decider, now: now))
    try ledger.update(operation)
  }

  // MARK: - Asking the app

  /// The app's decision.
  enum ConflictAnswer: Hashable, Sendable {
    case take(ConflictSide)
    /// The whole merged record, with the names of the fields that were set or cleared in it.
    case merged([String: FieldValue], touched: Set<String>)
    /// The app did not decide, so it stays a conflict.
    case none(ConflictCause.AppFailure)
  }

  /// The next conflict after this one about which the app is still to be asked.
  func conflictToAsk(after id: Int64) throws(StoreError) -> OpenConflict? {
    try read { ledger in
      try ledger.conflictForApp(after: id).map { OpenConflict($0, try ledger.record($0.key)) }
    }
  }

  /// Applies the app's decision, unless the conflict has changed meanwhile: then the app is asked again.
  ///
  /// - Parameter decider: the one who decided, for the log.
  func take(_ answer: ConflictAnswer, to open: OpenConflict, by decider: Cause.Decider = .app, _ lease: Lease)
    throws(StoreError)
  {
    try write(lease) { ledger, now in
      guard var operation = try ledger.operation(open.id), operation.state == .conflict else { return }
      let server = try ledger.record(operation.key)
      let conflict = Conflict(operation, server: server)
      guard conflict.version == open.version else { return }
      let resolution: Resolution
      switch answer {
      case .take(let side): resolution = conflict.resolution(side)
      case .merged(let record, let touched):
        let fields = record.mapValues { $0.canonical(in: operation.key.zoneKey) }
        resolution = conflict.resolution(merged: fields, touched: touched)
      case .none(let failure):
        operation.asked = .conflict(version: open.version)
        operation.cause = .conflict(.undecidedByApp(failure))
        return try ledger.update(operation)
      }
      try EventLog.add(.conflictResolved(record: operation.key.name, by: decider), of: operation, now: now, ledger)
      try Self.carryOut(&operation, resolution, by: decider, now: now, ledger)
    }
  }
}
