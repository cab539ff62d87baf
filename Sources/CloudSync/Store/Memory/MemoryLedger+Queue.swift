/// Operations.
extension MemoryLedger {
  func operation(_ id: Int64) throws -> QueuedOperation? { operations[id]?.operation }

  func operations(_ ids: [Int64]) throws -> [QueuedOperation] { ids.compactMap { operations[$0]?.operation } }

  func isInFlight(_ id: Int64, generation: Int64) throws -> Bool {
    try operation(id).map { $0.state == .inFlight && $0.generation == generation } ?? false
  }

  func operation(for key: RecordKey) throws -> QueuedOperation? {
    queue.byKey[key].flatMap { operations[$0]?.operation }
  }

  func operations(of zone: ZoneKey) throws -> [QueuedOperation] { all(queue.byZone[zone]) }

  func dependentOperations(of zone: ZoneKey) throws -> [Int64] {
    try operations(of: zone).filter { !$0.key.name.isEmpty && ($0.kind == .delete || $0.baseTag != nil) }.map(\.id)
  }

  func operations(in state: OperationState) throws -> [QueuedOperation] { all(queue.byState[state]) }

  func deadLettersToOffer(limit: Int) throws -> [QueuedOperation] {
    let letters = try operations(in: .failed).lazy.filter { operation in
      operation.kind == .save && operation.errorCode != StoreError.unreadable && !operation.isOffered
    }
    return Array(letters.prefix(limit))
  }

  func operations(of zone: ZoneKey, underSuspicion number: Int64) throws -> [QueuedOperation] {
    all(queue.byZone[zone]).filter { $0.suspicion == number }
  }

  func keys(inGroup group: String) throws -> [RecordKey] { all(queue.byGroup[group]).map(\.key) }

  private func all(_ ids: SortedElements<Int64>?) -> [QueuedOperation] {
    ids?.compactMap { operations[$0]?.operation } ?? []
  }

  func insert(_ operation: QueuedOperation, _ links: RecordLinks) throws -> Int64 {
    try check(operation)
    if queue.byKey[operation.key] != nil {
      throw StoreError(.invalid, "\(operation.key.name) has an operation in the queue already")
    }
    singles.counters.operation += 1
    var operation = operation
    operation.id = singles.counters.operation
    operation.blockedBy = []
    set(operation.id, Operation(operation: operation, links: links))
    return operation.id
  }

  func replace(_ operation: QueuedOperation, _ links: RecordLinks) throws {
    guard let known = operations[operation.id]?.operation else { return }
    try check(operation)
    var operation = operation
    operation.key = known.key
    operation.enqueuedAt = known.enqueuedAt
    operation.maxAttempts = known.maxAttempts
    operation.blockedBy = []
    set(operation.id, Operation(operation: operation, links: links))
  }

  func removeOperations(_ ids: [Int64]) throws { for id in ids.sorted() { removeOperation(id) } }

  private func removeOperation(_ id: Int64) {
    let operation = operations[id]?.operation
    set(id, nil)
    // An edit that was given up leaves the app with what nobody else has.
    guard let operation, !operation.key.name.isEmpty else { return }
    // With a new number: what is being taken just now has the edit in it.
    let known = deliveryRows[operation.key]
    noteDelivery(operation.key, type: known?.type ?? operation.type ?? "", lastFields: known?.lastFields)
  }

  func markInFlight(_ ids: [Int64], reason: String) throws {
    for id in ids {
      change(id) { operation in
        operation.state = .inFlight
        operation.reason = reason
        operation.nextAttemptAt = nil
        operation.isServersWait = false
        operation.sentGeneration = operation.generation
        operation.sentKind = operation.kind
      }
    }
  }

  func join(_ old: String, to group: String) throws {
    for id in queue.byGroup[old] ?? SortedElements() { change(id) { $0.group = group } }
  }

  func zoneDeletions() throws -> [ZoneKey: Int64] {
    var deletions: [ZoneKey: Int64] = [:]
    for id in queue.ofZones {
      if let operation = operations[id]?.operation, operation.kind == .zoneDelete {
        deletions[operation.key.zoneKey] = id
      }
    }
    return deletions
  }

  func recoverInFlight(reason: String, zoneReason: String) throws -> Int {
    let ids = queue.byState[.inFlight] ?? SortedElements()
    for id in ids {
      change(id) { operation in
        let isRecord = !operation.key.name.isEmpty
        if operation.sentKind == .save, operation.kind == .save, operation.generation == operation.sentGeneration {
          operation.sentChanges.append(operation.changes)
        }
        operation.state = .pending
        operation.sentGeneration = nil
        operation.sentKind = nil
        operation.needsReadBack = operation.kind != .zoneSave
        operation.isUnanswered = isRecord
        operation.reason = operation.kind == .zoneSave ? zoneReason : reason
      }
    }
    return ids.count
  }

  func endBackOffs(now: Int64, reason: String) throws -> Int {
    var count = 0
    for id in queue.byState[.waiting] ?? SortedElements() {
      guard let operation = operations[id]?.operation else { continue }
      if operation.isServersWait, let end = operation.nextAttemptAt, end > now { continue }
      count += 1
      change(id) { operation in
        operation.state = .pending
        operation.nextAttemptAt = nil
        operation.reason = reason
      }
    }
    return count
  }

  func operationCount(in state: OperationState) throws -> Int { queue.byState[state]?.count ?? 0 }

  private func change(_ id: Int64, _ body: (inout QueuedOperation) -> Void) {
    guard var row = operations[id] else { return }
    body(&row.operation)
    set(id, row)
  }

  private func set(_ id: Int64, _ row: Operation?) { queue.move(id, from: operations.replace(id, row), to: row) }

  /// What a file's constraints refuse.
  private func check(_ operation: QueuedOperation) throws {
    let isSound =
      (operation.state == .inFlight) == (operation.sentGeneration != nil)
      && (operation.state == .inFlight) == (operation.sentKind != nil)
      && (operation.state == .waiting) == (operation.nextAttemptAt != nil)
      && (operation.state == .conflict) == (operation.conflictAt != nil)
      && operation.key.name.isEmpty == (operation.kind == .zoneSave || operation.kind == .zoneDelete)
    if !isSound { throw StoreError(.invalid, "an operation cannot be like this: \(operation.state.rawValue)") }
  }
}
