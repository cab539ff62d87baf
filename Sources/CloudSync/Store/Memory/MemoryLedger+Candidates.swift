/// Choosing among the operations.
extension MemoryLedger {
  func candidates(_ query: CandidateQuery) throws -> [Workload.Candidate] {
    var choice = Choice(self, query)
    switch query.kind {
    case .zoneOperations:
      return choice.first(of: queue.ofZones) { choice, row in choice.isSendable(row) }
    case .readBacks:
      return choice.first(of: queue.readBacks) { choice, row in
        !row.operation.key.name.isEmpty && choice.isSendable(row)
      }
    case .uploads:
      return choice.first(of: queue.uploads) { choice, row in
        !row.operation.needsReadBack && choice.isSendable(row)
      }
    case .free(let zone):
      let isFree = { (choice: inout Choice, row: Operation) in
        choice.isReady(row) && choice.isWhole(row) && !choice.ledger.isBlocked(row)
          && !choice.ledger.groupIsBlocked(row)
      }
      let ids = queue.byZone[zone] ?? SortedElements()
      guard !query.typeOrder.types.isEmpty else { return choice.first(of: ids, where: isFree) }
      let ranked = ids.map { id in
        (rank: operations[id].map { query.typeOrder.rank($0.operation.kind, $0.operation.type) } ?? 0, id: id)
      }
      return choice.first(of: ranked.sorted { $0 < $1 }.map(\.id), where: isFree)
    case .suspects(let zone):
      return choice.first(of: queue.byZone[zone] ?? SortedElements()) { choice, row in
        row.operation.suspicion != nil && choice.isReady(row)
      }
    case .waitingFor(let zone, let ids):
      var waiting: Set<Int64> = []
      for id in ids { eachWaiting(for: id) { waiting.insert($0) } }
      return choice.first(of: waiting.sorted()) { choice, row in
        row.operation.key.zoneKey == zone && choice.isReady(row)
      }
    case .members(let groups):
      let ids = groups.flatMap { Array(queue.byGroup[$0] ?? SortedElements()) }.sorted()
      return choice.first(of: ids) { choice, row in choice.isReady(row) }
    case .entangled:
      return choice.first(of: sendable(query.now)) { choice, row in
        guard choice.isReady(row), choice.isWhole(row) else { return false }
        return row.operation.group != nil || (choice.ledger.isBlocked(row) && choice.ledger.blocksOthers(row))
      }
    }
  }

  /// Operations that are sendable as far as their state goes, oldest first.
  private func sendable(_ now: Int64) -> SortedElements<Int64> {
    var ids = queue.byState[.pending] ?? SortedElements()
    for due in queue.dues {
      if due.time > now { break }
      ids.insert(due.id)
    }
    return ids
  }

  func zonesToServe(now: Int64, savesAreHeld: Bool) throws -> [ZoneKey] {
    var choice = Choice(self, CandidateQuery(kind: .entangled, now: now, savesAreHeld: savesAreHeld))
    return zoneRows.rows.values.filter { zone in
      queue.byZone[zone.key]?.contains { id in operations[id].map { choice.isReady($0) } ?? false } ?? false
    }.sorted { ($0.served, $0.key.owner, $0.key.zone) < ($1.served, $1.key.owner, $1.key.zone) }.map(\.key)
  }

  func zonesToMake(now: Int64) throws -> [ZoneKey] {
    var choice = Choice(self, CandidateQuery(kind: .entangled, now: now))
    return zoneRows.rows.values.filter { zone in
      guard zone.state == .unconfirmed, let ids = queue.byZone[zone.key] else { return false }
      return ids.contains { id in
        guard let row = operations[id], !row.operation.key.name.isEmpty else { return false }
        return choice.isSendable(row)
      }
    }.map(\.key).sorted { ($0.owner, $0.zone) < ($1.owner, $1.zone) }
  }

  func blockers(of id: Int64) throws -> [Int64] {
    guard let row = operations[id] else { return [] }
    var blockers: Set<Int64> = []
    eachBlocker(of: row) { blockers.insert($0) }
    return blockers.sorted()
  }

  private func isBlocked(_ row: Operation) -> Bool {
    var isBlocked = false
    eachBlocker(of: row) { _ in isBlocked = true }
    return isBlocked
  }

  private func blocksOthers(_ row: Operation) -> Bool {
    var blocks = false
    eachWaiting(for: row.operation.id) { _ in blocks = true }
    return blocks
  }

  /// Whether a member of its group waits for something outside of the group.
  private func groupIsBlocked(_ row: Operation) -> Bool {
    guard let group = row.operation.group else { return false }
    var isBlocked = false
    for id in queue.byGroup[group] ?? SortedElements() {
      guard let member = operations[id] else { continue }
      eachBlocker(of: member) { if operations[$0]?.operation.group != group { isBlocked = true } }
    }
    return isBlocked
  }

  private func eachBlocker(of row: Operation, _ body: (Int64) -> Void) {
    switch row.operation.kind {
    case .save:
      for target in row.links.targets {
        guard let id = queue.byKey[target], id != row.operation.id, let other = operations[id]?.operation else {
          continue
        }
        if other.kind == .save, other.baseTag == nil { body(id) }
      }
    case .delete:
      for id in queue.byReference[row.operation.key] ?? SortedElements() where id != row.operation.id {
        if operations[id]?.operation.kind == .delete { body(id) }
      }
      for id in queue.byRelease[row.operation.key] ?? SortedElements() where id != row.operation.id { body(id) }
    case .zoneSave, .zoneDelete: return
    }
  }

  /// The other way round.
  private func eachWaiting(for id: Int64, _ body: (Int64) -> Void) {
    guard let row = operations[id] else { return }
    if row.operation.kind == .save, row.operation.baseTag == nil {
      for other in queue.byReference[row.operation.key] ?? SortedElements() where other != id {
        if operations[other]?.operation.kind == .save { body(other) }
      }
    }
    for target in row.links.released {
      if let other = queue.byKey[target], other != id, operations[other]?.operation.kind == .delete { body(other) }
    }
    if row.operation.kind == .delete {
      for target in row.links.targets {
        if let other = queue.byKey[target], other != id, operations[other]?.operation.kind == .delete { body(other) }
      }
    }
  }

  func groupSize(_ group: String) throws -> Int { queue.byGroup[group]?.count ?? 0 }

  func nextBackOffEnd(after time: Int64) throws -> Int64? {
    queue.dues.first(above: QueueIndex.Due(time: time, id: .max))?.time
  }
}

/// What one query has found out of zones and groups.
private struct Choice {
  let ledger: MemoryLedger
  private let query: CandidateQuery
  /// Zones whose deletion is queued, and those that are gone and kept here.
  private let leaving: Set<ZoneKey>
  private var closed: [ZoneKey: Bool] = [:]
  private var whole: [String: Bool] = [:]

  init(_ ledger: MemoryLedger, _ query: CandidateQuery) {
    self.ledger = ledger
    self.query = query
    let held = ledger.zoneRows.rows.values.filter { $0.state == .deleted && $0.heldSince != nil }
    leaving = Set(((try? ledger.zoneDeletions()) ?? [:]).keys).union(held.map(\.key))
  }

  mutating func first(
    of ids: some Sequence<Int64>,
    where isMeant: (inout Choice, MemoryLedger.Operation) -> Bool
  ) -> [Workload.Candidate] {
    var found: [Workload.Candidate] = []
    for id in ids {
      guard found.count < query.limit else { break }
      guard let row = ledger.operations[id], isMeant(&self, row) else { continue }
      let operation = row.operation
      found.append(
        Workload.Candidate(
          id: id,
          kind: operation.kind,
          zone: operation.key.zoneKey,
          bytes: operation.bytes,
          references: operation.kind == .save ? row.links.targets.count : 0,
          assets: operation.assets.count,
          group: operation.group,
          suspicion: operation.suspicion
        )
      )
    }
    return found
  }

  mutating func isSendable(_ row: MemoryLedger.Operation) -> Bool {
    let operation = row.operation
    switch operation.state {
    case .pending: break
    case .waiting where operation.nextAttemptAt ?? .max <= query.now: break
    case .waiting, .inFlight, .failed, .paused, .conflict: return false
    }
    let zone = operation.key.zoneKey
    if isClosed(zone) { return false }
    if operation.key.name.isEmpty { return true }
    return !leaving.contains(zone) && (try? ledger.isGone(operation.key)) != true
  }

  mutating func isReady(_ row: MemoryLedger.Operation) -> Bool {
    let operation = row.operation
    if operation.needsReadBack || operation.needsUpload || operation.key.name.isEmpty { return false }
    if query.savesAreHeld, operation.kind == .save { return false }
    return isSendable(row)
  }

  /// Every member of a group has to be ready, or none of it can go.
  mutating func isWhole(_ row: MemoryLedger.Operation) -> Bool {
    guard let group = row.operation.group else { return true }
    if let known = whole[group] { return known }
    var isWhole = true
    for id in ledger.queue.byGroup[group] ?? SortedElements() {
      if let member = ledger.operations[id], !isReady(member) { isWhole = false }
    }
    whole[group] = isWhole
    return isWhole
  }

  private mutating func isClosed(_ zone: ZoneKey) -> Bool {
    if let known = closed[zone] { return known }
    let isClosed = ledger.waitRows[WaitScope.zone(zone).name].map { $0.until > query.now } ?? false
    closed[zone] = isClosed
    return isClosed
  }
}
