import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

struct SyncEngineStateTests {
  private typealias Change = CKSyncEngine.PendingRecordZoneChange
  private let a = Device.id("a")
  private let b = Device.id("b")

  @Test func `changes added twice are one, and the later of a save and a deletion wins`() throws {
    let state = Device(try Emulator()).state

    state.add(pendingRecordZoneChanges: [.saveRecord(a), .saveRecord(b), .saveRecord(a)])
    #expect(state.pendingRecordZoneChanges == [.saveRecord(a), .saveRecord(b)])
    state.add(pendingRecordZoneChanges: [.deleteRecord(a)])
    #expect(state.pendingRecordZoneChanges == [.deleteRecord(a), .saveRecord(b)])
    state.remove(pendingRecordZoneChanges: [.saveRecord(a), .saveRecord(b)])
    #expect(state.pendingRecordZoneChanges == [.deleteRecord(a)])

    let zone = CKRecordZone(zoneID: Device.zoneID)
    state.add(pendingDatabaseChanges: [.saveZone(zone), .saveZone(CKRecordZone(zoneID: Device.zoneID))])
    #expect(state.pendingDatabaseChanges == [.saveZone(zone)])
    state.add(pendingDatabaseChanges: [.deleteZone(Device.zoneID)])
    #expect(state.pendingDatabaseChanges == [.deleteZone(Device.zoneID)])
    state.remove(pendingDatabaseChanges: [.deleteZone(Device.zoneID)])
    #expect(state.pendingDatabaseChanges.isEmpty)
  }

  @Test func `each change of the state is reported, also when the app made it`() async throws {
    let device = Device(try Emulator())
    await device.engine.waitForTurn()
    device.content.withLock { $0.states = [] }
    device.write("a", "one")

    _ = await codeThrown { try await device.engine.sendChanges() }

    let states = device.content.withLock { $0.states }
    #expect(states.first == "<StateUpdate 1 pending record changes, 0 pending database changes>")
    #expect(states.last == "<StateUpdate 0 pending record changes, 0 pending database changes>")
  }

  @Test func `an engine that starts from a saved state continues where it was`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    try await device.engine.sendChanges()
    try await device.engine.fetchChanges()
    device.write("a", "two")
    device.delete("b")
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "other"))])
    device.state.hasPendingUntrackedChanges = true
    // A fetch reports the state before it begins.
    try await device.engine.fetchChanges()
    _ = device.takeEvents()

    device.start()
    #expect(device.pending == ["saveRecord(a)", "deleteRecord(b)"])
    #expect(device.state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneName: "other"))])
    #expect(device.state.hasPendingUntrackedChanges)
    try await device.engine.fetchChanges()
    try await device.engine.sendChanges()

    #expect(
      device.events == [
        "will fetch, manual", "did fetch", "will send, manual", "sent zones +other", "sent +a -b", "did send",
      ]
    )
    #expect(!device.state.hasPendingUntrackedChanges)
  }

  @Test func `a state in UserDefaults is on disk once the delegate has handled its update`() async throws {
    let suite = "cktop-tests-\(UUID().uuidString)"
    let configuration = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? "\(NSHomeDirectory())/.config"
    let folder = URL(filePath: configuration)
    let file = folder.appending(path: "\(suite).plist")
    defer { try? FileManager.default.removeItem(at: file) }
    let emulator = try Emulator()
    let device = Device(
      emulator,
      react: { event, _ in
        guard case .stateUpdate(let event) = event else { return }
        UserDefaults(suiteName: suite)?.set(try? JSONEncoder().encode(event.stateSerialization), forKey: "state")
      }
    )
    try await device.setUp()
    emulator.isOffline = true
    device.write("a", "one")
    // A send reports the state before it fails.
    #expect(await codeThrown { try await device.engine.sendChanges() } != nil)

    // A process that is killed here leaves only the file.
    let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil) as? [String: Any]
    let next = Device(emulator)
    let saved = try #require(list?["state"] as? Data)
    next.content.withLock { content in
      content.serialization = saved
      content.notes = [a: "one"]
    }
    next.start()
    emulator.isOffline = false
    try await next.engine.sendChanges()

    #expect(next.events == ["will send, manual", "sent +a", "did send"])
  }

  @Test func `a saved state survives property lists`() async throws {
    let device = Device(try Emulator())
    device.write("a", "one")
    _ = await codeThrown { try await device.engine.fetchChanges() }
    let data = try #require(device.content.withLock { $0.serialization })
    let state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)

    let list = try PropertyListEncoder().encode(state)
    let again = try PropertyListDecoder().decode(CKSyncEngine.State.Serialization.self, from: list)

    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(try encoder.encode(again) == encoder.encode(state))
  }

  @Test func `a damaged saved state is refused, and places that do not exist are ignored`() throws {
    let decoder = JSONDecoder()
    #expect(throws: DecodingError.self) {
      try decoder.decode(CKSyncEngine.State.Serialization.self, from: Data(#"{"zones":3}"#.utf8))
    }
    let text = #"""
      {"zones":[],"unfetched":[7],"recordChanges":[{"name":"a","zone":-1}],"databaseChanges":[{"zone":1}],
      "hasUntracked":false}
      """#
    let state = try decoder.decode(CKSyncEngine.State.Serialization.self, from: Data(text.utf8))
    let device = Device(try Emulator())
    let configuration = CKSyncEngine.Configuration(
      database: device.container.privateCloudDatabase,
      stateSerialization: state,
      delegate: device
    )

    #expect(CKSyncEngine(configuration).state.pendingRecordZoneChanges.isEmpty)
  }

  @Test func `a scope contains its zones and records`() {
    let other = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "other"))
    typealias Send = CKSyncEngine.SendChangesOptions.Scope
    typealias Fetch = CKSyncEngine.FetchChangesOptions.Scope
    let sends: [(Send, [Bool])] = [
      (.all, [true, true, true]), (.zoneIDs([Device.zoneID]), [true, true, false]),
      (.allExcluding([Device.zoneID]), [false, false, true]), (.recordIDs([a]), [true, false, false]),
    ]
    for (scope, contained) in sends {
      #expect([a, b, other].map { scope.contains($0) } == contained)
      #expect([a, b, other].map { scope.contains(.deleteRecord($0)) } == contained)
    }
    let fetches: [(Fetch, [Bool])] = [
      (.all, [true, true]), (.zoneIDs([Device.zoneID]), [true, false]),
      (.allExcluding([Device.zoneID]), [false, true]),
    ]
    for (scope, contained) in fetches {
      #expect([Device.zoneID, other.zoneID].map { scope.contains($0) } == contained)
    }
  }
}
