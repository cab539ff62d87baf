import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

struct SyncEngineFetchingTests {
  /// An emulator with the zones, each with the record `a`.
  private static func emulator(_ zones: String...) async throws -> (Emulator, CKDatabase) {
    let emulator = try Emulator()
    let database = Device(emulator).container.privateCloudDatabase
    for name in zones {
      let zone = try await database.save(CKRecordZone(zoneName: name))
      _ = try await database.save(
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zone.zoneID))
      )
    }
    return (emulator, database)
  }

  @Test func `a fetch reports its start, the zones, the records of each zone and its end`() async throws {
    let (emulator, database) = try await Self.emulator("notes")
    let device = Device(emulator)

    try await device.engine.fetchChanges()
    #expect(
      device.takeEvents() == [
        "sign in", "will fetch, manual", "fetched zones +notes", "will fetch notes", "fetched +a", "did fetch notes",
        "did fetch",
      ]
    )
    try await database.deleteRecord(withID: Device.id("a"))
    try await device.engine.fetchChanges()

    #expect(
      device.takeEvents() == [
        "will fetch, manual", "fetched zones +notes", "will fetch notes", "fetched -a", "did fetch notes", "did fetch",
      ]
    )
    try await device.engine.fetchChanges()
    #expect(device.events == ["will fetch, manual", "did fetch"])
  }

  @Test func `a deleted zone is reported with its reason`() async throws {
    let (emulator, database) = try await Self.emulator("notes")
    let reasons = Mutex<[CKDatabase.DatabaseChange.Deletion.Reason]>([])
    let device = Device(emulator) { event, _ in
      guard case .fetchedDatabaseChanges(let event) = event else { return }
      reasons.withLock { $0 += event.deletions.map(\.reason) }
    }
    try await device.engine.fetchChanges()
    try await database.deleteRecordZone(withID: Device.zoneID)
    _ = device.takeEvents()

    try await device.engine.fetchChanges()

    #expect(device.events == ["will fetch, manual", "fetched zones -notes", "did fetch"])
    #expect(reasons.withLock { $0 } == [.deleted] && device.notes.isEmpty)
  }

  @Test func `zones outside the scope stay to be fetched`() async throws {
    let (emulator, _) = try await Self.emulator("notes", "other")
    let device = Device(emulator)

    try await device.engine.fetchChanges(.init(scope: .zoneIDs([Device.zoneID])))
    #expect(device.state.zoneIDsWithUnfetchedServerChanges.map(\.zoneName) == ["other"])
    #expect(device.takeEvents().contains("did fetch notes"))
    device.start()
    try await device.engine.fetchChanges(.init(scope: .allExcluding([Device.zoneID])))

    #expect(device.events == ["will fetch, manual", "will fetch other", "fetched +a", "did fetch other", "did fetch"])
    #expect(device.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
  }

  @Test func `the delegate's options decide which zone comes first`() async throws {
    let (emulator, _) = try await Self.emulator("notes", "other", "third")
    let device = Device(
      emulator,
      options: { context in
        var options = context.options
        options.prioritizedZoneIDs = [CKRecordZone.ID(zoneName: "none"), CKRecordZone.ID(zoneName: "third")]
        return options
      }
    )

    try await device.engine.fetchChanges()

    let order = device.events.filter { $0.hasPrefix("did fetch ") }
    #expect(order == ["did fetch third", "did fetch notes", "did fetch other"])
  }

  @Test func `a page at a time is fetched and saved with its token`() async throws {
    let (emulator, _) = try await Self.emulator("notes")
    let writer = Device(emulator)
    for number in 0..<450 { writer.write("n\(number)", "text") }
    try await writer.engine.sendChanges()
    let device = Device(emulator) { event, device in
      // The process ends in the second page, after the first was saved.
      guard case .fetchedRecordZoneChanges = event else { return }
      if device.content.withLock({ $0.notes.count }) > 250 { await device.engine.cancelOperations() }
    }

    #expect(await codeThrown { try await device.engine.fetchChanges() } == .operationCancelled)
    let before = device.notes.count
    #expect(before > 250 && before < 451 && device.events.last == "did fetch")
    device.start()
    try await device.engine.fetchChanges(.init(scope: .allExcluding([])))

    #expect(device.content.withLock { $0.known.count } == 451)
  }

  @Test func `a failed fetch reports the zone's error and its end, and the next one continues`() async throws {
    let (emulator, _) = try await Self.emulator("notes")
    let device = Device(emulator)
    emulator.fail("changes/zone", limit: 1, .offline)

    #expect(await codeThrown { try await device.engine.fetchChanges() } == .networkUnavailable)
    #expect(
      device.takeEvents() == [
        "sign in", "will fetch, manual", "fetched zones +notes", "will fetch notes",
        "did fetch notes networkUnavailable", "did fetch",
      ]
    )
    try await device.engine.fetchChanges()

    #expect(device.events == ["will fetch, manual", "will fetch notes", "fetched +a", "did fetch notes", "did fetch"])
  }

  @Test(arguments: ["changes/database", "changes/zone"])
  func `an expired token starts again from the beginning`(operation: String) async throws {
    let (emulator, database) = try await Self.emulator("notes", "gone")
    let device = Device(emulator)
    try await device.engine.fetchChanges()
    try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "gone"))
    _ = try await database.save(CKRecord(recordType: "Note", recordID: Device.id("b")))
    emulator.fail(operation, limit: 1, .expiredToken)
    _ = device.takeEvents()

    try await device.engine.fetchChanges()

    #expect(device.content.withLock { Set($0.known.keys) } == [Device.id("a"), Device.id("b")])
    #expect(device.events.contains { $0.hasPrefix("fetched zones") && $0.contains("-gone") })
    #expect(device.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
  }

  /// An emulator with the zones `notes`, which changed first and has a file, and `other`.
  private static func emulatorWithFile() async throws -> Emulator {
    let (emulator, database) = try await emulator("notes")
    let record = CKRecord(recordType: "Note", recordID: Device.id("file"))
    record["photo"] = try CKAsset(contents: Data("photo".utf8))
    try await database.save(record)
    let other = try await database.save(CKRecordZone(zoneName: "other"))
    try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: other.zoneID)))
    return emulator
  }

  @Test func `a record whose file is gone is reported once, and all others are fetched`() async throws {
    let emulator = try await Self.emulatorWithFile()
    let errors = Mutex<[CKError]>([])
    let device = Device(emulator) { event, _ in
      guard case .didFetchRecordZoneChanges(let event) = event, let error = event.error else { return }
      errors.withLock { $0.append(error) }
    }
    emulator.fail("download", .badGateway(status: 410))

    #expect(await codeThrown { try await device.engine.fetchChanges() } == .partialFailure)
    #expect(
      device.takeEvents() == [
        "sign in", "will fetch, manual", "fetched zones +notes +other", "will fetch notes", "fetched +a",
        "did fetch notes partialFailure", "will fetch other", "fetched +a", "did fetch other", "did fetch",
      ]
    )
    let causes = errors.withLock { $0 }.map { $0.partialErrorsByItemID?[Device.id("file")] as? CKError }
    #expect(causes.map { $0?.code } == [.assetNotAvailable])
    try await device.engine.fetchChanges()

    #expect(device.events == ["will fetch, manual", "did fetch"])
  }

  @Test func `a file that cannot be downloaded now holds up its zone only`() async throws {
    let emulator = try await Self.emulatorWithFile()
    let device = Device(emulator)
    emulator.fail("download", limit: 1, .offline)

    #expect(await codeThrown { try await device.engine.fetchChanges() } == .partialFailure)
    #expect(
      device.takeEvents().suffix(5) == [
        "did fetch notes networkUnavailable", "will fetch other", "fetched +a", "did fetch other", "did fetch",
      ]
    )
    try await device.engine.fetchChanges()

    #expect(
      device.events == ["will fetch, manual", "will fetch notes", "fetched +a +file", "did fetch notes", "did fetch"]
    )
  }
}
