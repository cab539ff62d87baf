import CloudKit
import Foundation
import Testing

/// What a program may rely on, whichever way its requests go.
@Suite(.serialized) struct ContractTests {
  /// A zone of the test's own, gone afterwards.
  private func inZone(
    _ name: String,
    by route: ContractRoute,
    _ body: (CKDatabase, CKRecordZone.ID) async throws -> Void
  ) async throws {
    try await route.run { container in
      let database = container.privateCloudDatabase
      let zone = try await database.save(CKRecordZone(zoneName: name)).zoneID
      try await body(database, zone)
      try await database.deleteRecordZone(withID: zone)
      await #expect(throws: CKError.self) { try await database.recordZone(for: zone) }
    }
  }

  private func record(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
    CKRecord(recordType: "ContractNote", recordID: CKRecord.ID(recordName: name, zoneID: zone))
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `every type of field comes back as it was saved`(route: ContractRoute) async throws {
    try await inZone("contract-fields", by: route) { database, zone in
      let note = record("all", in: zone)
      note["text"] = "Åse said \"hi\"\n\u{1F600}"
      note["whole"] = Int64.max
      note["negative"] = -(1 << 53) - 1
      note["fraction"] = 0.1
      note["integral"] = 3.0
      note["flag"] = true
      note["when"] = Date(timeIntervalSince1970: -1_000_000.125)
      note["bytes"] = Data([0, 255, 10])
      note["place"] = CLLocation(
        coordinate: CLLocationCoordinate2D(latitude: 59.9, longitude: 10.7),
        altitude: 12,
        horizontalAccuracy: 5,
        verticalAccuracy: 5,
        timestamp: Date(timeIntervalSince1970: 1)
      )
      note["other"] = CKRecord.Reference(record: record("target", in: zone), action: .none)
      note["texts"] = ["a", "b"]
      note["numbers"] = [1, 2, 3]
      try await database.save(note)

      let read = try await database.record(for: note.recordID)

      #expect(read["text"] as? String == "Åse said \"hi\"\n\u{1F600}")
      #expect(read["whole"] as? Int64 == .max)
      #expect(read["negative"] as? Int == -(1 << 53) - 1)
      #expect(read["fraction"] as? Double == 0.1)
      #expect(read["integral"] as? Double == 3)
      #expect(read["flag"] as? Bool == true)
      #expect(read["when"] as? Date == Date(timeIntervalSince1970: -1_000_000.125))
      #expect(read["bytes"] as? Data == Data([0, 255, 10]))
      #expect((read["place"] as? CLLocation)?.coordinate.latitude == 59.9)
      #expect((read["other"] as? CKRecord.Reference)?.recordID.recordName == "target")
      #expect(read["texts"] as? [String] == ["a", "b"])
      #expect(read["numbers"] as? [Int] == [1, 2, 3])
      #expect(read.recordChangeTag == note.recordChangeTag)
      #expect(read.creationDate != nil)
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `encrypted values come back as such, and no filter may name them`(route: ContractRoute) async throws {
    try await inZone("contract-encrypted", by: route) { database, zone in
      let note = record("secret", in: zone)
      note["title"] = "open"
      note.encryptedValues["diary"] = "Åse"
      note.encryptedValues["pin"] = 1234
      note.encryptedValues["days"] = ["mon", "tue"]
      try await database.save(note)

      let read = try await database.record(for: note.recordID)
      read.encryptedValues["pin"] = nil
      let saved = try await database.save(read)
      let again = try await database.record(for: note.recordID)

      #expect(read.encryptedValues["diary"] as? String == "Åse" && read["diary"] == nil)
      #expect(again.encryptedValues.allKeys() == ["days", "diary"] && again.allKeys() == ["title"])
      #expect(again.encryptedValues["days"] as? [String] == ["mon", "tue"])
      #expect(saved.recordChangeTag == again.recordChangeTag)
      let query = CKQuery(recordType: "ContractNote", predicate: NSPredicate(format: "diary == %@", "Åse"))
      await #expect(throws: CKError.self) { try await database.records(matching: query, inZoneWith: zone) }
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `a save over a newer version is refused with all three records`(route: ContractRoute) async throws {
    try await inZone("contract-conflict", by: route) { database, zone in
      let mine = record("n", in: zone)
      mine["title"] = "first"
      try await database.save(mine)
      let theirs = try await database.record(for: mine.recordID)
      theirs["title"] = "theirs"
      try await database.save(theirs)

      mine["title"] = "mine"
      let error = await #expect(throws: CKError.self) { try await database.save(mine) }

      #expect(error?.code == .serverRecordChanged)
      #expect(error?.ancestorRecord?["title"] as? String == "first")
      #expect(error?.serverRecord?["title"] as? String == "theirs")
      #expect(error?.clientRecord?["title"] as? String == "mine")
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `one bad record fails alone, or with its whole group`(route: ContractRoute) async throws {
    try await inZone("contract-groups", by: route) { database, zone in
      let stale = record("stale", in: zone)
      try await database.save(stale)
      let newer = try await database.record(for: stale.recordID)
      newer["n"] = 1
      try await database.save(newer)
      stale["n"] = 2

      let alone = try await database.modifyRecords(
        saving: [record("a", in: zone), stale],
        deleting: [],
        atomically: false
      )
      #expect((try? alone.saveResults[record("a", in: zone).recordID]?.get()) != nil)
      #expect((try? alone.saveResults[stale.recordID]?.get()) == nil)

      let group = try await database.modifyRecords(
        saving: [record("b", in: zone), stale],
        deleting: [],
        atomically: true
      )
      let innocent = #expect(throws: CKError.self) {
        try group.saveResults[record("b", in: zone).recordID]?.get()
      }
      #expect(innocent?.code == .batchRequestFailed)
      await #expect(throws: CKError.self) { try await database.record(for: record("b", in: zone).recordID) }
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `changes are read page by page, deletions too, and a token goes on where it ended`(
    route: ContractRoute
  ) async throws {
    try await inZone("contract-changes", by: route) { database, zone in
      let notes = (0..<7).map { record("n\($0)", in: zone) }
      _ = try await database.modifyRecords(saving: notes, deleting: [])
      var token: CKServerChangeToken?
      var seen: Set<String> = []
      var more = true
      while more {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: 3)
        seen.formUnion(page.modificationResultsByID.keys.map(\.recordName))
        (token, more) = (page.changeToken, page.moreComing)
      }
      #expect(seen == Set(notes.map(\.recordID.recordName)))

      try await database.deleteRecord(withID: notes[3].recordID)
      let last = try await database.recordZoneChanges(inZoneWith: zone, since: token)
      #expect(last.deletions.map(\.recordID) == [notes[3].recordID])
      #expect(last.modificationResultsByID.isEmpty)
      let zones = try await database.databaseChanges(since: nil).modifications.map(\.zoneID)
      #expect(zones.contains(zone))
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `a query filters, sorts and follows its cursor to the end`(route: ContractRoute) async throws {
    try await inZone("contract-query", by: route) { database, zone in
      let notes = (0..<9).map { number in
        let note = record("n\(number)", in: zone)
        note["rank"] = number
        return note
      }
      _ = try await database.modifyRecords(saving: notes, deleting: [])
      let query = CKQuery(recordType: "ContractNote", predicate: NSPredicate(format: "rank >= %d", 2))
      query.sortDescriptors = [NSSortDescriptor(key: "rank", ascending: false)]

      var page = try await database.records(matching: query, inZoneWith: zone, desiredKeys: ["rank"], resultsLimit: 3)
      var ranks = try page.matchResults.map { try $0.1.get()["rank"] as? Int }
      while let cursor = page.queryCursor {
        page = try await database.records(continuingMatchFrom: cursor, desiredKeys: ["rank"], resultsLimit: 3)
        ranks += try page.matchResults.map { try $0.1.get()["rank"] as? Int }
      }

      #expect(ranks == [8, 7, 6, 5, 4, 3, 2])
    }
  }

  @Test(arguments: ContractRoute.openAndAssuming)
  func `what is not there is an unknown item, and a zone that is not there a missing zone`(
    route: ContractRoute
  ) async throws {
    try await inZone("contract-missing", by: route) { database, zone in
      let missing = await #expect(throws: CKError.self) {
        try await database.record(for: CKRecord.ID(recordName: "missing", zoneID: zone))
      }
      let nowhere = await #expect(throws: CKError.self) {
        try await database.record(
          for: CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "contract-nowhere"))
        )
      }
      #expect(missing?.code == .unknownItem)
      #expect(nowhere?.code == .zoneNotFound)
    }
  }
}
