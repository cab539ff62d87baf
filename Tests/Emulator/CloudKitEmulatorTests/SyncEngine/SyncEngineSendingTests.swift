import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

struct SyncEngineSendingTests {
  @Test func `a send reports its start, the zones, each batch and its end`() async throws {
    let device = Device(try Emulator())
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    device.write("a", "one")
    device.write("b", "two")

    try await device.engine.sendChanges()

    #expect(device.events == ["sign in", "will send, manual", "sent zones +notes", "sent +a +b", "did send"])
    #expect(device.pending.isEmpty && device.state.pendingDatabaseChanges.isEmpty)
    let known = device.content.withLock { $0.known }
    #expect(known.count == 2 && known.values.allSatisfy { $0.recordChangeTag != nil })
    #expect(try await device.container.privateCloudDatabase.record(for: Device.id("a"))["text"] == "one")
  }

  @Test func `444 records are sent in batches of 200`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    for number in 0..<444 { device.write("n\(number)", "text") }

    try await device.engine.sendChanges()

    #expect(
      device.events.filter { $0.hasPrefix("sent ") }.map { $0.split(separator: "+").count - 1 } == [200, 200, 44]
    )
    let other = Device(emulator)
    try await other.engine.fetchChanges()
    #expect(other.notes == device.notes && other.notes.count == 444)
  }

  @Test func `a batch of the app's own that is too large for one request is split`() async throws {
    let records = (0..<450).map { CKRecord(recordType: "Note", recordID: Device.id("n\($0)")) }
    let app = BatchApp([.init(recordsToSave: records)])
    let engine = try app.engine(on: Emulator())

    try await engine.sendChanges()

    #expect(app.sent.map(\.savedRecords.count) == [450])
  }

  @Test func `an atomic batch of 201 changes fails before anything is sent`() async throws {
    let records = (0..<201).map { CKRecord(recordType: "Note", recordID: Device.id("n\($0)")) }
    let app = BatchApp([.init(recordsToSave: records, atomicByZone: true)])
    let emulator = try Emulator()
    let engine = try app.engine(on: emulator)
    engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
    emulator.fail("records/modify", .offline)

    #expect(await codeThrown { try await engine.sendChanges() } == .limitExceeded)

    #expect(app.sent.map { Set($0.failedRecordSaves.map(\.error.code)) } == [[.limitExceeded]])
    #expect(app.sent.map(\.failedRecordSaves.count) == [201] && engine.state.pendingRecordZoneChanges.isEmpty)
    #expect(emulator.faultCounts.first?.matched == 0)
  }

  @Test func `a batch ends before it is too large for one request`() async throws {
    let ids = (0..<3).map { Device.id("n\($0)") }
    let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: ids.map { .saveRecord($0) }) { id in
      let record = CKRecord(recordType: "Note", recordID: id)
      record["text"] = String(repeating: "x", count: 700_000)
      return record
    }

    #expect(batch?.recordsToSave.count == 2 && batch?.atomicByZone == false)
    let none = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: [.saveRecord(ids[0])]) { _ in nil }
    #expect(none == nil)
  }

  @Test func `a conflict reports the three records, leaves the pending changes and ends the send`() async throws {
    let emulator = try Emulator()
    let (first, second) = (Device(emulator), Device(emulator))
    try await first.setUp()
    first.write("a", "one")
    try await first.engine.sendChanges()
    try await second.engine.fetchChanges()
    second.write("a", "two")
    try await second.engine.sendChanges()
    first.write("a", "three")
    _ = first.takeEvents()

    #expect(await codeThrown { try await first.engine.sendChanges() } == .partialFailure)

    #expect(first.events == ["will send, manual", "sent failed +a serverRecordChanged", "did send"])
    let error = try #require(first.content.withLock { $0.errors[Device.id("a")] })
    #expect(error.serverRecord?["text"] == "two")
    #expect(error.clientRecord?["text"] == "three")
    #expect(error.ancestorRecord?["text"] == "one")
    #expect(error.userInfo[CKRecordChangedErrorServerRecordKey] is CKRecord)
    #expect(first.pending.isEmpty)
  }

  @Test func `a change that the app adds while it handles a failure is sent by the next send`() async throws {
    let emulator = try Emulator()
    let other = Device(emulator)
    try await other.setUp()
    other.write("a", "two")
    try await other.engine.sendChanges()
    let device = Device(emulator, react: Device.keepOwnVersion)
    device.write("a", "three")

    #expect(await codeThrown { try await device.engine.sendChanges() } == .partialFailure)
    #expect(device.pending == ["saveRecord(a)"])
    try await device.engine.sendChanges()

    #expect(device.pending.isEmpty)
    #expect(try await device.container.privateCloudDatabase.record(for: Device.id("a"))["text"] == "three")
  }

  @Test func `a record whose zone does not exist fails, and is sent again after its zone`() async throws {
    let device = Device(try Emulator()) { event, device in
      guard case .sentRecordZoneChanges(let event) = event else { return }
      for failure in event.failedRecordSaves where failure.error.code == .zoneNotFound {
        let id = failure.record.recordID
        device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        device.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
      }
    }
    device.write("a", "one")

    #expect(await codeThrown { try await device.engine.sendChanges() } == .partialFailure)
    try await device.engine.sendChanges()

    #expect(
      device.events == [
        "sign in", "will send, manual", "sent failed +a zoneNotFound", "did send",
        "will send, manual", "sent zones +notes", "sent +a", "did send",
      ]
    )
  }

  @Test func `a record that another device deleted fails as an unknown item`() async throws {
    let device = Device(try Emulator())
    try await device.setUp()
    device.write("a", "one")
    try await device.engine.sendChanges()
    try await device.container.privateCloudDatabase.deleteRecord(withID: Device.id("a"))
    device.write("a", "two")

    #expect(await codeThrown { try await device.engine.sendChanges() } == .partialFailure)

    #expect(device.content.withLock { $0.errors[Device.id("a")]?.code } == .unknownItem)
    #expect(device.pending.isEmpty)
  }

  @Test(arguments: [
    ("records/modify", FaultAction.offline, CKError.Code.networkUnavailable),
    ("records/modify", .throttled(retryAfter: 5), .requestRateLimited),
    ("records/modify", .tryAgainLater(retryAfter: 5), .serviceUnavailable),
    ("records/modify", .dropBeforeCommit, .serverResponseLost),
    ("records/modify", .authExpired, .notAuthenticated),
  ])
  func `a change that fails with an error that passes stays pending`(
    operation: String,
    fault: FaultAction,
    code: CKError.Code
  ) async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    device.delete("b")
    emulator.fail(operation, limit: 1, fault)

    #expect(await codeThrown { try await device.engine.sendChanges() } == code)

    #expect(device.events == ["will send, manual", "sent failed +a \(code) failed -b \(code)", "did send"])
    #expect(device.pending == ["saveRecord(a)", "deleteRecord(b)"])
  }

  @Test func `an error that only the app can solve removes the change, and the others are saved`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    device.write("b", "two")
    let condition = FaultCondition(operation: "records/modify", recordName: "a")
    emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .poison)])

    #expect(await codeThrown { try await device.engine.sendChanges() } == .partialFailure)

    #expect(device.events == ["will send, manual", "sent +b failed +a invalidArguments", "did send"])
    #expect(device.pending.isEmpty)
  }

  @Test func `a member of an atomic group that failed because of another stays pending`() async throws {
    let emulator = try Emulator()
    let other = Device(emulator)
    try await other.setUp()
    other.write("a", "one")
    try await other.engine.sendChanges()
    let device = Device(emulator)
    device.content.withLock { $0.isAtomic = true }
    device.write("a", "two")
    device.write("b", "two")

    #expect(await codeThrown { try await device.engine.sendChanges() } == .partialFailure)

    #expect(device.content.withLock { $0.errors[Device.id("a")]?.code } == .serverRecordChanged)
    #expect(device.content.withLock { $0.errors[Device.id("b")]?.code } == .batchRequestFailed)
    #expect(device.pending == ["saveRecord(b)"])
  }

  @Test func `a record that is edited while it is being sent stays pending`() async throws {
    let device = Device(try Emulator())
    try await device.setUp()
    device.write("a", "one")
    device.content.withLock { $0.onceBatchIsMade = { device.write("a", "two") } }

    try await device.engine.sendChanges()

    #expect(device.events == ["will send, manual", "sent +a", "sent +a", "did send"])
    #expect(try await device.container.privateCloudDatabase.record(for: Device.id("a"))["text"] == "two")
  }

  @Test func `only changes in the scope are sent`() async throws {
    let device = Device(try Emulator())
    try await device.setUp()
    let other = CKRecordZone(zoneName: "other")
    device.state.add(pendingDatabaseChanges: [.saveZone(other)])
    device.write("a", "one")
    device.write("b", "two")

    try await device.engine.sendChanges(.init(scope: .recordIDs([Device.id("b")])))
    #expect(device.pending == ["saveRecord(a)"] && device.state.pendingDatabaseChanges == [.saveZone(other)])
    try await device.engine.sendChanges(.init(scope: .allExcluding([Device.zoneID])))

    #expect(device.pending == ["saveRecord(a)"] && device.state.pendingDatabaseChanges.isEmpty)
  }

  @Test func `a batch outside the scope of the send is refused, and nothing of it is sent`() async throws {
    let record = CKRecord(recordType: "Note", recordID: Device.id("a"))
    let emulator = try Emulator()
    let app = BatchApp([.init(recordsToSave: [record])])
    let engine = try app.engine(on: emulator)
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
    emulator.fail("records/modify", .offline)

    let code = await codeThrown { try await engine.sendChanges(.init(scope: .recordIDs([Device.id("b")]))) }

    #expect(code == .invalidArguments && app.sent.isEmpty)
    #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(record.recordID)])
    #expect(emulator.faultCounts.first?.matched == 0)
  }

  @Test func `a deleted zone is reported, and its failure too`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    emulator.fail("zones/modify", limit: 1, .offline)
    device.state.add(pendingDatabaseChanges: [.deleteZone(Device.zoneID)])

    #expect(await codeThrown { try await device.engine.sendChanges() } == .networkUnavailable)
    #expect(device.state.pendingDatabaseChanges == [.deleteZone(Device.zoneID)])
    try await device.engine.sendChanges()

    #expect(
      device.events == [
        "will send, manual", "sent zones failed -notes networkUnavailable", "did send",
        "will send, manual", "sent zones -notes", "did send",
      ]
    )
  }

  @Test func `untracked changes are asked for until the delegate has no more`() async throws {
    let record = CKRecord(recordType: "Note", recordID: Device.id("a"))
    let app = BatchApp([.init(recordsToSave: [record])])
    let engine = try app.engine(on: Emulator())
    engine.state.hasPendingUntrackedChanges = true

    try await engine.sendChanges()

    #expect(app.sent.map(\.savedRecords.count) == [1])
    #expect(!engine.state.hasPendingUntrackedChanges)
  }

  @Test func `a call of the delegate is known in its own task, where a send would wait for ever, and in no other`()
    async throws
  {
    let findings = Mutex<[Bool]>([])
    let device = Device(try Emulator()) { event, device in
      guard case .willFetchChanges = event else { return }
      let engine = device.engine
      let found = [engine.isCallingDelegate, await Task { engine.isCallingDelegate }.value]
      findings.withLock { $0 = found }
    }

    try await device.engine.fetchChanges()

    #expect(findings.withLock { $0 } == [true, false] && !device.engine.isCallingDelegate)
  }

  @Test func `a delegate may start a send in a new task`() async throws {
    let sends = Mutex<[Task<Void, any Error>]>([])
    let device = Device(try Emulator()) { event, device in
      guard case .didFetchChanges = event else { return }
      let engine = device.engine
      sends.withLock { $0.append(Task { try await engine.sendChanges() }) }
    }
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])

    try await device.engine.fetchChanges()
    for send in sends.withLock({ $0 }) { try await send.value }

    #expect(device.state.pendingDatabaseChanges.isEmpty)
  }

  @Test func `a cancelled send says so and keeps the changes`() async throws {
    let device = Device(try Emulator()) { event, device in
      if case .willSendChanges = event { await device.engine.cancelOperations() }
    }
    device.write("a", "one")

    #expect(await codeThrown { try await device.engine.sendChanges() } == .operationCancelled)

    #expect(device.events == ["sign in", "will send, manual", "did send"])
    #expect(device.pending == ["saveRecord(a)"])
  }
}

extension Device {
  /// Takes the server's version as the base of the app's own, and sends that again.
  static let keepOwnVersion: @Sendable (CKSyncEngine.Event, Device) async -> Void = { event, device in
    guard case .sentRecordZoneChanges(let event) = event else { return }
    for failure in event.failedRecordSaves {
      guard let server = failure.error.serverRecord else { continue }
      device.content.withLock { $0.known[server.recordID] = server }
      device.state.add(pendingRecordZoneChanges: [.saveRecord(server.recordID)])
    }
  }
}

/// An app that makes its batches itself.
final class BatchApp: CKSyncEngineDelegate {
  private let batches: Mutex<[CKSyncEngine.RecordZoneChangeBatch]>
  private let answers = Mutex<[CKSyncEngine.Event.SentRecordZoneChanges]>([])

  init(_ batches: [CKSyncEngine.RecordZoneChangeBatch]) { self.batches = Mutex(batches) }

  var sent: [CKSyncEngine.Event.SentRecordZoneChanges] { answers.withLock { $0 } }

  func engine(on emulator: Emulator) throws -> CKSyncEngine {
    let transport = EmulatorTransport(emulator)
    let credential = CKCredential.webAuth(apiToken: "token", webAuthToken: "ana")
    let container = CKContainer(identifier: "iCloud.test", credential: credential, transport: transport)
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase,
      stateSerialization: nil,
      delegate: self
    )
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    return engine
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    if case .sentRecordZoneChanges(let event) = event { answers.withLock { $0.append(event) } }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    batches.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}
