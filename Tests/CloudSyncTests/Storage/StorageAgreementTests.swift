import CloudKit
import Testing

@testable import CloudSync

/// Whatever is done to them, all storages say the same: every primitive, in random histories of transactions that
/// end well or are taken back.
@Suite(.serialized) struct StorageAgreementTests {
  @Test(arguments: 1...12)
  func `any history of transactions leaves the same rows in every storage`(seed: Int) throws {
    let folder = TestFolder()
    let storages = try StorageKind.allCases.map { try TestStorages($0).open("store", in: folder) }
    var random = SplitMix64(seed: UInt64(seed))
    for step in 1...15 {
      let seed = random.next()
      let isAbandoned = random.below(4) == 0
      let dumps = try storages.map { storage in
        let before = isAbandoned ? try storage.read { try StoreDump($0) } : nil
        var random = SplitMix64(seed: seed)
        let change = { () throws in
          try storage.write { ledger in
            for _ in 0...random.below(6) { try Self.change(ledger, &random) }
            if isAbandoned { throw StoreError(.invalid, "abandoned") }
          }
        }
        if isAbandoned {
          #expect(throws: StoreError(.invalid, "abandoned")) { try change() }
          #expect(try storage.read { try StoreDump($0) } == before)
        } else {
          try change()
        }
        return try storage.read { try StoreDump($0) }
      }
      try #require(dumps[0] == dumps[1], "step \(step)")
    }
  }

  private static func change(_ ledger: any Ledger, _ random: inout SplitMix64) throws {
    let zone = StoreDump.zones[random.below(StoreDump.zones.count)]
    let key = RecordKey(zone, StoreDump.names[random.below(StoreDump.names.count)])
    let ids = try ledger.operationIDs(matching: nil, now: 0)
    let id = ids.isEmpty ? 1 : ids[random.below(ids.count)]
    let time = Int64(random.below(9)) * 100
    switch random.below(28) {
    case 0...5:
      if try ledger.operation(for: key) == nil { _ = try ledger.insert(operation(key, &random)) }
    case 6:
      let kind: OperationKind = random.below(2) == 0 ? .zoneSave : .zoneDelete
      if try !ledger.operations(of: zone).contains(where: { $0.key.name.isEmpty }) {
        var operation = operation(RecordKey(zone, ""), &random)
        operation.kind = kind
        _ = try ledger.insert(operation)
      }
    case 7...10:
      if let known = try ledger.operation(id) {
        var operation = operation(known.key, &random)
        operation.id = id
        if known.key.name.isEmpty { operation.kind = known.kind }
        try ledger.update(operation)
      }
    case 11:
      guard let known = try ledger.operation(id) else { return }
      try ledger.end(known, .merged, "so it was", now: time)
      if !known.key.name.isEmpty { try ledger.add(DroppedChange(known.changes, of: known, "dropped", at: time)) }
      guard random.below(3) == 0 else { return }
      // Not in their order.
      let some = ids.reversed().filter { _ in random.below(4) == 0 }
      try ledger.end(try ledger.operations(some), .acknowledged, "all at once", now: time)
    case 12:
      let sendable = try ledger.operations(ids).filter { $0.state == .pending || $0.state == .waiting }
      try ledger.markInFlight(sendable.map(\.id).filter { _ in random.below(3) == 0 }, reason: "on its way")
    case 13: _ = try ledger.recoverInFlight(reason: "record", zoneReason: "zone")
    case 14: _ = try ledger.endBackOffs(now: time, reason: "flushed")
    case 15: try ledger.join("g", to: "h")
    case 16, 17: try ledger.put(record(key, &random), epoch: Int64(random.below(4)))
    case 18:
      try ledger.touch(key, epoch: Int64(random.below(5)) - 1)
      if random.below(6) == 0 { try ledger.touchRecords(of: zone, epoch: Int64(random.below(2)) - 1) }
    case 19: random.below(5) == 0 ? try ledger.removeRecords(of: zone) : try ledger.removeRecord(key)
    case 20:
      random.below(3) == 0 ? try ledger.forgetContents(zone) : try ledger.insertZone(zone, state: .unconfirmed)
      if random.below(5) == 0 { try ledger.removeZone(zone) }
      if random.below(3) == 0 { try ledger.forgetFeed(zone, heldSince: random.below(2) == 0 ? nil : time) }
    case 21:
      try ledger.restart(zone)
      try ledger.setToken(zone, random.below(2) == 0 ? nil : "token", atEnd: random.below(2) == 0, now: time)
      var pull = Pull(zone: zone, type: "Note")
      pull.watermark = time
      try ledger.put(pull)
    case 22:
      let wait = WebServicesError(.throttled, "slowly", retryAfter: Double(random.below(3)))
      let scope: WaitScope = random.below(2) == 0 ? .zone(zone) : .feed(zone.zone)
      try Throttles.set(scope, wait, now: time, random: 0, ledger)
      if random.below(3) == 0 { try Throttles.clear(scope, ledger) }
    case 23:
      try ledger.setValue("k", random.below(2) == 0 ? nil : "\(time)")
      try ledger.put(LeaseHolder(fence: time, pid: 1, host: "here", expiresAt: nil))
      _ = try ledger.extendLease(fence: Int64(random.below(9)) * 100, until: 7)
      try ledger.changeActivity { $0.done += 1 }
    case 24:
      let id = try ledger.insertPass(requestedAt: time, types: ["Note", "Task"])
      try ledger.replace(RequestedPass(id: id - 1, types: [], startedAt: time, finishedAt: time, summary: "{}"))
      try ledger.removePasses(finishedBefore: time - 300)
    case 25: try ledger.startDelivering()
    case 26:
      if random.below(3) == 0 { try ledger.noteGone(zone) }
      if let delivery = try ledger.delivery(of: key) { try ledger.removeDeliveries([delivery.number]) }
    default:
      try ledger.add(
        Attempt(number: 1, at: time, seconds: 0.5, code: "BUSY", message: "later", response: "{}"),
        of: id
      )
      try EventLog.add("test", "at \(time)", now: time, ledger)
      try ledger.closeDropped(of: key)
      _ = try ledger.removeHistory(endedBefore: time - 500, keeping: 9, limit: 2)
      _ = try ledger.removeCommands(before: time - 500, keeping: 3, limit: 2)
      try ledger.add(AuditedCommand(at: time, actor: "ana", verb: "retry", selection: "1", count: 1))
    }
  }

  private static func operation(_ key: RecordKey, _ random: inout SplitMix64) -> QueuedOperation {
    let target = StoreDump.names[random.below(StoreDump.names.count)]
    let state = OperationState.allCases[random.below(OperationState.allCases.count)]
    let isSave = random.below(3) > 0
    let fields = fields(target, &random)
    return QueuedOperation(
      id: 0,
      kind: isSave ? .save : .delete,
      key: key,
      type: key.name.isEmpty ? nil : StoreDump.types[random.below(2)],
      changes: isSave ? FieldChanges(values: fields, cleared: ["gone"]) : FieldChanges(),
      base: random.below(2) == 0 ? fields : [:],
      baseTag: random.below(2) == 0 ? nil : "tag",
      state: state,
      reason: "because",
      generation: Int64(1 + random.below(3)),
      sentGeneration: state == .inFlight ? 1 : nil,
      sentKind: state == .inFlight ? .save : nil,
      sentChanges: random.below(3) == 0 ? [FieldChanges(values: ["x": .int64(1)])] : [],
      isRecreation: random.below(4) == 0,
      needsReadBack: !key.name.isEmpty && random.below(4) == 0,
      conflictRounds: random.below(3),
      attempts: random.below(4),
      maxAttempts: 8,
      nextAttemptAt: state == .waiting ? Int64(random.below(10)) * 100 : nil,
      isServersWait: random.below(2) == 0,
      errorCode: random.below(2) == 0 ? nil : "BUSY",
      errorMessage: random.below(2) == 0 ? nil : "come again",
      enqueuedAt: Int64(random.below(1000)),
      editedAt: Int64(random.below(1000)),
      conflictAt: state == .conflict ? 3 : nil,
      bytes: random.below(1000),
      group: key.name.isEmpty || random.below(3) > 0 ? nil : StoreDump.groupNames[random.below(2)]
    )
  }

  private static func fields(_ target: String, _ random: inout SplitMix64) -> [String: FieldValue] {
    var fields: [String: FieldValue] = ["title": .string("Hello value \(random.below(9))")]
    if random.below(2) == 0 { fields["link"] = .reference(WireReference(recordName: target)) }
    if random.below(3) == 0 { fields["count"] = .int64(Int64(random.below(99))) }
    return fields
  }

  private static func record(_ key: RecordKey, _ random: inout SplitMix64) -> MirrorRecord {
    MirrorRecord(
      key: key,
      type: StoreDump.types[random.below(2)],
      changeTag: "tag\(random.below(5))",
      fields: fields(key.name, &random),
      createdAt: 1,
      modifiedAt: random.below(2) == 0 ? nil : 2,
      modifiedBy: "ana"
    )
  }
}

extension SplitMix64 {
  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
