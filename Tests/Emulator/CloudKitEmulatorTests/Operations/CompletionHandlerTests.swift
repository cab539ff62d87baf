import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct CompletionHandlerTests {
  private let bench: OperationBench

  init() throws { bench = try OperationBench() }

  /// Starts a call and waits until its handler has run; a second run would trap.
  private func once<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
    await withCheckedContinuation { continuation in start { continuation.resume(returning: $0) } }
  }

  private func once<Value: Sendable>(
    _ start: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
  ) async -> String {
    await withCheckedContinuation { continuation in
      start { value, error in
        continuation.resume(returning: (value == nil) == (error == nil) ? "both or neither" : told(error))
      }
    }
  }

  @Test func `records are saved, read, changed and deleted`() async throws {
    let database = bench.database
    let (a, id, gone) = (bench.note("a", 1), bench.id("a"), bench.id("gone"))

    #expect(await once { database.save(a, completionHandler: $0) } == "ok")
    #expect(await once { database.save(bench.note("a"), completionHandler: $0) } == "serverRecordChanged")
    #expect(await once { database.fetch(withRecordID: id, completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withRecordID: gone, completionHandler: $0) } == "unknownItem")
    let found = await once { database.fetch(withRecordIDs: [id, gone], completionHandler: $0) }
    #expect(try found.get().mapValues { told($0) } == [id: "ok", gone: "unknownItem"])
    let modified = await once {
      database.modifyRecords(saving: [bench.note("b")], deleting: [gone], atomically: false, completionHandler: $0)
    }
    #expect(try modified.get().saveResults.values.map { told($0) } == ["ok"])
    #expect(try modified.get().deleteResults.count == 1)
    #expect(await once { database.delete(withRecordID: id, completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withRecordID: id, completionHandler: $0) } == "unknownItem")
  }

  @Test func `zones are made, read and deleted`() async throws {
    let database = bench.database
    let (zone, gone) = (CKRecordZone(zoneName: "new"), CKRecordZone.ID(zoneName: "gone"))

    #expect(await once { database.save(zone, completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withRecordZoneID: zone.zoneID, completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withRecordZoneID: gone, completionHandler: $0) } == "zoneNotFound")
    let found = await once { database.fetch(withRecordZoneIDs: [zone.zoneID, gone], completionHandler: $0) }
    #expect(try found.get().mapValues { told($0) } == [zone.zoneID: "ok", gone: "zoneNotFound"])
    let all: [String] = await withCheckedContinuation { continuation in
      database.fetchAllRecordZones { zones, _ in continuation.resume(returning: zones?.map(\.zoneID.zoneName) ?? []) }
    }
    #expect(all.sorted() == ["_defaultZone", "new", "notes"])
    let modified = await once { database.modifyRecordZones(saving: [], deleting: [gone], completionHandler: $0) }
    #expect(try modified.get().deleteResults.mapValues { told($0) } == [gone: "zoneNotFound"])
    #expect(await once { database.delete(withRecordZoneID: zone.zoneID, completionHandler: $0) } == "ok")
  }

  @Test func `queries and changes are read page by page`() async throws {
    let database = bench.database
    try await database.modifyRecords(saving: (0..<3).map { bench.note("n\($0)", $0) }, deleting: [])
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

    let first = try await once {
      database.fetch(withQuery: query, inZoneWith: bench.zoneID, resultsLimit: 2, completionHandler: $0)
    }.get()
    let cursor = try #require(first.queryCursor)
    let second = try await once { database.fetch(withCursor: cursor, completionHandler: $0) }.get()
    #expect(first.matchResults.count == 2 && second.matchResults.count == 1 && second.queryCursor == nil)
    #expect(await once { database.perform(query, inZoneWith: bench.zoneID, completionHandler: $0) } == "ok")
    #expect(
      await once { database.perform(query, inZoneWith: .init(zoneName: "gone"), completionHandler: $0) }
        == "zoneNotFound"
    )

    let zones = try await once { database.fetchDatabaseChanges(since: nil, completionHandler: $0) }.get()
    #expect(zones.modifications.map(\.zoneID.zoneName) == ["notes"] && !zones.moreComing)
    let records = try await once {
      database.fetchRecordZoneChanges(inZoneWith: bench.zoneID, since: nil, resultsLimit: 2, completionHandler: $0)
    }.get()
    #expect(records.modificationResultsByID.count == 2 && records.moreComing)
  }

  @Test func `subscriptions are saved, read and deleted`() async throws {
    let database = bench.database
    let subscription = CKDatabaseSubscription(subscriptionID: "news")

    #expect(await once { database.save(subscription, completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withSubscriptionID: "news", completionHandler: $0) } == "ok")
    #expect(await once { database.fetchAllSubscriptions(completionHandler: $0) } == "ok")
    let found = await once { database.fetch(withSubscriptionIDs: ["news", "gone"], completionHandler: $0) }
    #expect(try found.get().mapValues { told($0) } == ["news": "ok", "gone": "unknownItem"])
    let modified = await once { database.modifySubscriptions(saving: [], deleting: ["gone"], completionHandler: $0) }
    #expect(try modified.get().deleteResults.mapValues { told($0) } == ["gone": "unknownItem"])
    #expect(await once { database.delete(withSubscriptionID: "news", completionHandler: $0) } == "ok")
    #expect(await once { database.fetch(withSubscriptionID: "news", completionHandler: $0) } == "unknownItem")
  }

  @Test func `the account is told`() async throws {
    #expect(await once { bench.container.fetchUserRecordID(completionHandler: $0) } == "ok")
    let known: CKAccountStatus = await withCheckedContinuation { continuation in
      bench.container.accountStatus { status, _ in continuation.resume(returning: status) }
    }
    bench.emulator.isOffline = true
    let unknown: (CKAccountStatus, String) = await withCheckedContinuation { continuation in
      bench.container.accountStatus { status, error in continuation.resume(returning: (status, told(error))) }
    }

    #expect(known == .available)
    #expect(unknown == (.couldNotDetermine, "networkUnavailable"))
    let ids: [CKOperation.ID]? = await withCheckedContinuation { continuation in
      bench.container.fetchAllLongLivedOperationIDs { ids, _ in continuation.resume(returning: ids) }
    }
    #expect(ids == [])
  }
}
