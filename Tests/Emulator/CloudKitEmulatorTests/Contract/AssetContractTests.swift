import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

/// What holds for assets on every way to a server that carries them.
@Suite(.serialized, .timeLimit(.minutes(40))) struct AssetContractTests {
  private static let routes: [ContractRoute] = [.inProcess, .http]

  private let zone = CKRecordZone(zoneName: "notes")

  private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  private func note(_ name: String, _ photo: CKAsset?) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: id(name))
    record["photo"] = photo
    return record
  }

  private func bytes(_ value: (any CKRecordValue)?) throws -> Data {
    try Data(contentsOf: try #require((value as? CKAsset)?.fileURL))
  }

  @Test(arguments: routes)
  func `a file comes back with the bytes it went with, by every way of reading`(route: ContractRoute) async throws {
    let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try await route.run { container in
      let database = container.privateCloudDatabase
      try await database.save(zone)
      try await database.save(note("a", try CKAsset(contents: photo)))
      let several = note("b", nil)
      several["photos"] = [try CKAsset(contents: Data()), try CKAsset(contents: Data("two".utf8))]
      try await database.save(several)

      let read = try await database.record(for: id("a"))
      let list = try await database.record(for: id("b"))["photos"] as? [CKAsset]
      let query = CKQuery(
        recordType: "Note",
        predicate: NSPredicate(format: "recordID = %@", CKRecord.Reference(recordID: id("a"), action: .none))
      )
      let found = try await database.records(matching: query, inZoneWith: zone.zoneID).matchResults.first?.1.get()
      let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).modificationResultsByID
      let sparse = try await database.records(for: [id("a")], desiredKeys: ["title"])[id("a")]?.get()

      #expect(try bytes(read["photo"]) == photo)
      #expect(try list?.map { try bytes($0) } == [Data(), Data("two".utf8)])
      #expect(try bytes(found?["photo"]) == photo)
      #expect(try bytes(changes[id("a")]?.get().record["photo"]) == photo)
      #expect(sparse?.allKeys() == [])
    }
  }

  @Test(arguments: routes)
  func `an asset stays with other edits, moves to other records, and goes with nil`(route: ContractRoute) async throws {
    try await route.run { container in
      let database = container.privateCloudDatabase
      let other = CKRecordZone(zoneName: "other")
      _ = try await database.modifyRecordZones(saving: [zone, other], deleting: [])
      try await database.save(note("a", try CKAsset(contents: Data("milk".utf8))))
      let record = try await database.record(for: id("a"))
      let photo = record["photo"] as? CKAsset

      record["title"] = "Milk"
      try await database.save(record)
      let moved = note("b", photo)
      let far = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "c", zoneID: other.zoneID))
      far["photo"] = photo
      let saves = try await database.modifyRecords(saving: [moved, far], deleting: []).saveResults
      record["photo"] = nil
      try await database.save(record)

      #expect(try saves.values.allSatisfy { try $0.get().recordChangeTag != nil })
      #expect(try await database.record(for: id("a")).allKeys() == ["title"])
      #expect(try bytes(await database.record(for: moved.recordID)["photo"]) == Data("milk".utf8))
      #expect(try bytes(await database.record(for: far.recordID)["photo"]) == Data("milk".utf8))
    }
  }

  @Test(arguments: routes)
  func `operations report how much of a record's assets has been transferred`(route: ContractRoute) async throws {
    try await route.run { container in
      let database = container.privateCloudDatabase
      try await database.save(zone)
      let album = note("album", nil)
      album["photos"] = [try CKAsset(contents: Data(count: 300_000)), try CKAsset(contents: Data(count: 700_000))]
      let uploaded = Mutex<[String: [Double]]>([:])
      let downloaded = Mutex<[String: [Double]]>([:])
      let save = CKModifyRecordsOperation(recordsToSave: [album, note("plain", nil)])
      save.perRecordProgressBlock = { record, fraction in
        uploaded.withLock { $0[record.recordID.recordName, default: []].append(fraction) }
      }
      let fetch = CKFetchRecordsOperation(recordIDs: [id("album"), id("plain"), id("missing")])
      fetch.perRecordProgressBlock = { id, fraction in
        downloaded.withLock { $0[id.recordName, default: []].append(fraction) }
      }

      for operation in [save, fetch] {
        await withCheckedContinuation { continuation in
          operation.completionBlock = { continuation.resume() }
          database.add(operation)
        }
      }

      for fractions in [uploaded.withLock { $0 }, downloaded.withLock { $0 }] {
        #expect(fractions["plain"] == [1])
        #expect(fractions["missing"] == nil)
        let album = try #require(fractions["album"])
        #expect((2...20).contains(album.count))
        #expect(zip(album, album.dropFirst()).allSatisfy(<))
        #expect(album.last == 1)
      }
    }
  }

  @Test func `an address that expired is replaced when the file is asked for`() async throws {
    let now = Mutex(Date())
    let clock: @Sendable () -> Date = { now.withLock { $0 } }
    let emulator = try Emulator()
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
      transport: EmulatorTransport(emulator, now: clock)
    )
    configuration.assetDownloads = .onDemand
    let database = CKContainer(configuration: configuration).privateCloudDatabase
    try await database.save(zone)
    try await database.save(note("a", try CKAsset(contents: Data("milk".utf8))))
    let asset = try #require(try await database.record(for: id("a"))["photo"] as? CKAsset)
    let lost = try #require(try await database.record(for: id("a"))["photo"] as? CKAsset)
    now.withLock { $0 += 7200 }

    #expect(try Data(contentsOf: await asset.download()) == Data("milk".utf8))

    try await database.deleteRecord(withID: id("a"))
    now.withLock { $0 += 7200 }
    let error = await #expect(throws: CKError.self) { try await lost.download() }
    #expect(error?.code == .assetNotAvailable)
  }

  @Test func `a save without the network leaves the record as it was, to be saved again`() async throws {
    let emulator = try Emulator()
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
      transport: EmulatorTransport(emulator)
    )
    let database = container.privateCloudDatabase
    try await database.save(zone)
    let record = note("a", try CKAsset(contents: Data("milk".utf8)))
    emulator.isOffline = true
    let error = await #expect(throws: CKError.self) { try await database.save(record) }
    #expect(error?.code == .networkUnavailable)
    #expect(record.changedKeys() == ["photo"])

    emulator.isOffline = false
    try await database.save(record)

    #expect(try bytes(await database.record(for: id("a"))["photo"]) == Data("milk".utf8))
  }
}
