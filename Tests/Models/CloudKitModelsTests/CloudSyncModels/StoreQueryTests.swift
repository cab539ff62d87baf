import CloudKit
import CloudKitModels
import CloudSupport
import CloudSyncModels
import Foundation
import Testing

/// Typed queries of a store.
@Suite(.serialized) struct StoreQueryTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  private func store(_ likes: [Int]) async throws -> SyncStore {
    let store = try cloud.open("store")
    try await store.save(
      likes.enumerated().map { Post(id: "p\($0.offset)", title: "T\($0.offset)", likes: $0.element) }
    )
    return store
  }

  @Test func `a store answers the queries of a database`() async throws {
    let store = try await store([3, 1, 2, 1])
    let query = Query<Post>().filter(\.likes, .isAtMost(2)).sorted(by: \.likes)

    #expect(try await store.load(query).map(\.id) == ["p1", "p3", "p2"])
    #expect(try await store.load(query.limit(2)).map(\.id) == ["p1", "p3"])
    #expect(try await store.first(query)?.id == "p1")
    #expect(try await store.first(query.limit(0)) == nil)
    #expect(try await store.count(query) == 3)
    #expect(try await store.count(query.limit(2)) == 2)
    #expect(try await store.exists(query))
    #expect(try await store.exists(Query<Post>().filter(\.likes, equals: 7)) == false)
    let liked = Query<Post>().filter(#Predicate { $0.likes > 2 || $0.title == "T1" })
    #expect(try await store.load(liked).map(\.id) == ["p0", "p1"])
    #expect(try await store.load(query, in: CKRecordZone.ID(zoneName: "other")).isEmpty)
  }

  @Test func `without a zone all zones are searched`() async throws {
    let store = try await store([1])
    let other = CKRecordZone.ID(zoneName: "other")
    try await store.save(Post(id: "q"), in: other)

    #expect(try await store.load(Query<Post>()).map(\.id) == ["p0", "q"])
    #expect(try await store.load(Query<Post>(), in: other).map(\.id) == ["q"])
    #expect(try await store.count(Query<Post>()) == 2)
  }

  @Test func `the pages of a query have every model once, up to its limit`() async throws {
    let store = try await store([3, 1, 2, 1, 5])
    let query = Query<Post>().sorted(by: \.likes, ascending: false)
    func pages(_ query: Query<Post>) async throws -> [[String]] {
      var pages: [[String]] = []
      for try await page in store.pages(of: query, size: 2) { pages.append(page.models.map(\.id)) }
      return pages
    }

    #expect(try await pages(query) == [["p4", "p0"], ["p2", "p3"], ["p1"]])
    #expect(try await pages(query.limit(3)) == [["p4", "p0"], ["p2"]])
    let (page, next) = try await store.page(query.limit(4))
    #expect(page.models.map(\.id) == ["p4", "p0", "p2", "p3"])
    #expect(try await store.page(query.limit(4), after: next).page.models.map(\.id) == ["p1"])
  }

  @Test func `a record that does not match the model fails a load, and alone in a page`() async throws {
    let store = try await store([1])
    let odd = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "odd", zoneID: zone))
    odd["likes"] = 2
    _ = try store.save([odd])

    await #expect(throws: CKModelError.self) { try await store.load(Query<Post>()) }
    let page = try await store.page(Query<Post>()).page
    #expect(page.models.map(\.id) == ["p0"] && page.failures.keys.map(\.recordName) == ["odd"])
    #expect(try await store.count(Query<Post>()) == 2)
  }

  private var zone: CKRecordZone.ID { CKDatabase.Scope.private.zoneIDForModels }
}
