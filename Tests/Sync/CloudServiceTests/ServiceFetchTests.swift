import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import CloudSyncModels
import Foundation
import Synchronization
import Testing

@testable import CloudService
@testable import CloudSync

/// Reading records through a service.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ServiceFetchTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  @Test func `what has not been fetched is looked up on the server, and only if that is possible`() async throws {
    let (mine, theirs) = (try cloud.service(), try cloud.service("theirs"))
    try await theirs.save(cloud.note("a", "theirs"))
    try await theirs.sync()

    #expect(try await mine.fetch(recordID: cloud.id("a"))?["text"] as? String == "theirs")
    #expect(try await mine.fetch(recordID: cloud.id("unknown")) == nil)
    cloud.emulator.isOffline = true
    let error = await #expect(throws: CloudKitServiceError.self) { try await mine.fetch(recordID: cloud.id("a")) }
    #expect(error?.ckError?.code == .networkUnavailable)
    cloud.emulator.isOffline = false
    try await mine.sync()
    cloud.emulator.isOffline = true
    #expect(try await mine.fetch(recordID: cloud.id("a"))?["text"] as? String == "theirs")
    #expect(try await mine.fetch(recordID: cloud.id("unknown")) == nil)
    try await mine.delete(cloud.id("a"))
    #expect(try await mine.fetch(recordID: cloud.id("a")) == nil)
  }

  @Test func `a service without an engine says that it does not know`() async throws {
    let mine = try cloud.service()
    let watching = try CloudKitService(store: #require(mine.store), engine: nil)
    let error = await #expect(throws: CloudKitServiceError.self) { try await watching.fetch(recordID: cloud.id("a")) }
    guard case .notFetchedYet? = error else { Issue.record("\(String(describing: error))"); return }

    try await watching.save(cloud.note("a"))
    #expect(try await watching.fetch(recordID: cloud.id("a")) != nil)
    try await mine.sync()
    #expect(try await watching.fetch(recordID: cloud.id("b")) == nil)
  }

  @Test func `an asset of a fetched record can be downloaded`() async throws {
    let (mine, theirs) = (try cloud.service(), try cloud.service("theirs"))
    let record = cloud.note("a")
    record["file"] = try CKAsset(contents: Data("hello".utf8))
    let change = try await theirs.save(record)
    try await theirs.sync()
    try await mine.sync()

    let asset = try #require(try await mine.fetch(recordID: cloud.id("a"))?["file"] as? CKAsset)
    #expect(try await Data(contentsOf: asset.download()) == Data("hello".utf8))
    guard case .sent(let sent?) = try await change.outcome, let own = sent["file"] as? CKAsset else {
      Issue.record("not sent")
      return
    }
    #expect(try await Data(contentsOf: own.download()) == Data("hello".utf8))
  }

  @Test func `a query gives the records of all pages`() async throws {
    let service = try cloud.service()
    try await service.save((0..<450).map { cloud.note("r\($0)", $0.isMultiple(of: 2) ? "even" : "odd") })
    try await service.sync()
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "even"))

    let found = try await service.query(query, inZoneWith: cloud.zone)
    #expect(Set(found.map(\.recordID.recordName)) == Set((0..<225).map { "r\(2 * $0)" }))
    cloud.emulator.isOffline = true
    let error = await #expect(throws: CloudKitServiceError.self) { try await service.query(query) }
    #expect(error?.ckError?.code == .networkUnavailable)
  }

  @Test func `a refused change token is reported, and everything is fetched again`() async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    try await service.sync()
    cloud.emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken)]
    )
    var events = service.events.makeAsyncIterator()
    try await service.save(cloud.note("b"))
    try await service.sync()

    while let event = await events.next() {
      if case .refetching(let zone) = event {
        #expect(zone == cloud.zone)
        break
      }
      if case .syncEnded = event { Issue.record("not reported"); break }
    }
    #expect(service.isInSync)
  }

  @Test func `a zone that fails alone is an item's failure, and no success`() async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    try await service.sync()
    let success = service.status.lastSuccess
    let other = try cloud.service("other")
    try await other.save(cloud.note("b"))
    try await other.sync()
    cloud.emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: "changes/zone"), then: .internalError)]
    )

    let summary = try await service.engine?.sync()
    #expect(summary?.failure == nil && summary?.itemFailure != nil && summary?.reachedEnd == false)
    try await service.sync()
    #expect(service.status.lastSuccess == success && service.status.lastFailure?.isCurrent == true)
    #expect(service.lastError != nil && !service.isInSync)
  }

  @Test func `a query finds what was saved just now, and not what was changed away or deleted`() async throws {
    let service = try cloud.service()
    try await service.save([
      cloud.note("a", "tea"), cloud.note("b", "tea"), cloud.note("c", "milk"), cloud.note("d", "tea"),
    ])
    try await service.sync()
    let away = try #require(try await service.fetch(recordID: cloud.id("b")))
    away["text"] = "milk"
    let into = try #require(try await service.fetch(recordID: cloud.id("c")))
    into["text"] = "tea"
    let stranger = CKRecord(recordType: "Other", recordID: cloud.id("o"))
    stranger["text"] = "tea"
    try await service.save([away, into, stranger, cloud.note("new", "tea"), cloud.note("0", "tea")])
    try await service.delete(cloud.id("d"))

    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "tea"))
    let found = try await service.query(query, inZoneWith: cloud.zone).map(\.recordID.recordName)
    #expect(found == ["a", "c", "new", "0"])
    let parts = try await service.query(query, inZoneWith: cloud.zone, desiredKeys: ["other"])
    #expect(parts.map(\.recordID.recordName) == found && parts.allSatisfy { $0["text"] == nil })
    let other = CKRecordZone.ID(zoneName: "o'ther")
    try await service.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "new", zoneID: other)))
    let all = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    #expect(try await service.query(all, inZoneWith: other).map(\.recordID.recordName) == ["new"])
    let before = Set(found)
    try await service.sync()
    #expect(Set(try await service.query(query, inZoneWith: cloud.zone).map(\.recordID.recordName)) == before)
  }

  @Test func `a query without a zone finds the queued changes of all zones`() async throws {
    let service = try cloud.service()
    try await service.save([cloud.note("a", "tea"), cloud.note("b", "tea")])
    try await service.sync()
    try await service.delete(cloud.id("b"))
    let loose = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "loose"))
    loose["text"] = "tea"
    try await service.save([cloud.note("c", "tea"), loose])

    let found = try await service.query(CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == 'tea'")))

    #expect(found.map(\.recordID) == [cloud.id("a"), cloud.id("c"), loose.recordID])
  }

  @Test func `a query is in its order although the field of the order is not desired`() async throws {
    let service = try cloud.service()
    try await service.save([cloud.note("a", "3"), cloud.note("b", "1")])
    try await service.sync()
    try await service.save(cloud.note("c", "2"))
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    query.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]

    let found = try await service.query(query, inZoneWith: cloud.zone, desiredKeys: ["other"])
    #expect(found.map(\.recordID.recordName) == ["b", "c", "a"])
  }

  @Test func `a query does not find the records of a zone whose deletion is queued`() async throws {
    let service = try cloud.service()
    let loose = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "loose"))
    try await service.save([cloud.note("a"), cloud.note("b"), loose])
    try await service.sync()
    _ = try await service.store?.deleteZone(cloud.zone)
    try await service.save(cloud.note("b", "again"))
    let all = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

    #expect(Set(try await service.query(all).map(\.recordID)) == [cloud.id("b"), loose.recordID])
    #expect(try await service.query(all, inZoneWith: cloud.zone).map { $0["text"] as? String } == ["again"])
  }

  @Test func `models are found in the local copy, without a request`() async throws {
    struct Note: Codable, Identifiable, CKRecordModel {
      var id: String
      var text: String
    }
    let service = try cloud.service()
    try await service.save([cloud.note("a", "tea"), cloud.note("b", "milk")])
    try await service.sync()
    try await service.save(cloud.note("c", "tea"))
    cloud.emulator.isOffline = true
    let query = Query<Note>().filter(NSPredicate(format: "text == 'tea'"))

    #expect(try await service.load(query, in: cloud.zone).map(\.id) == ["a", "c"])
    #expect(try await service.first(query)?.id == "a")
    #expect(try await service.count(query) == 2)
    #expect(try await service.exists(query, in: .default) == false)
    #expect(try await service.load(Note.self, named: "a", in: cloud.zone)?.text == "tea")
    #expect(try await service.load(Note.self, named: "none", in: cloud.zone) == nil)
    #expect(try await service.load(Note.self, named: ["c", "none"], in: cloud.zone).keys.sorted() == ["c"])
  }

  @Test(arguments: [false, true])
  func `a query of a type of which nothing has been sent yet finds what is queued`(isInZone: Bool) async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    try await service.sync()
    let query = CKQuery(recordType: "Fresh", predicate: NSPredicate(value: true))
    let zone = isInZone ? cloud.zone : nil
    #expect(try await service.query(query, inZoneWith: zone).isEmpty)
    try await service.save(CKRecord(recordType: "Fresh", recordID: cloud.id("f")))

    #expect(try await service.query(query, inZoneWith: zone).map(\.recordID) == [cloud.id("f")])
  }

  @Test func `fetching is published while it lasts, and then its failure, or its success with the time`() async throws {
    let theirs = try cloud.service("theirs")
    try await theirs.save((0..<450).map { cloud.note("t\($0)") })
    try await theirs.sync()
    let phases = Mutex<Set<CloudKitService.Status.Progress.Phase>>([])
    let store = Mutex<SyncStore?>(nil)
    let mine = try cloud.service(beforeEachRequest: {
      guard let status = try? store.withLock({ $0 })?.status() else { return }
      if let phase = CloudKitService.Status(status).progress?.phase { phases.withLock { _ = $0.insert(phase) } }
    })
    store.withLock { $0 = mine.store }
    cloud.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", after: 1), then: .offline)
    ])
    await #expect(throws: CloudKitServiceError.self) { try await mine.sync() }
    #expect(phases.withLock { $0 } == [.fetching])
    #expect(mine.status.progress == nil && mine.status.lastSuccess == nil)
    #expect(mine.status.lastFailure?.isCurrent == true && mine.status.lastFailure?.date != nil)
    guard case .networkUnavailable? = mine.lastError as? CloudKitServiceError, case .error = mine.syncStatus else {
      Issue.record("\(mine.status)")
      return
    }

    cloud.emulator.faults = FaultPlan(rules: [])
    try await mine.sync()
    #expect(mine.status.progress == nil && mine.status.lastSuccess != nil)
    #expect(mine.lastError == nil && mine.syncStatus == .complete)
    store.withLock { $0 = nil }
  }
}
