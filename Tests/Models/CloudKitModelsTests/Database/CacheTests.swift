import CloudKit
import CloudKitModels
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import Testing

/// Models of a container with a cache.
@Suite(.serialized) struct CacheTests {
  private let cloud: Cloud
  private let container: CKContainer
  private var database: CKDatabase { container.privateCloudDatabase }
  /// Another device, of which the cache learns nothing.
  private var elsewhere: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws {
    cloud = try Cloud()
    container = cloud.container(of: "ana") { $0.cache = .fast }
  }

  private var lookups: Int { cloud.requests.bodies("records/lookup").count }

  /// Loads the post; returns its title and the number of requests.
  private func load() async throws -> (title: String, requests: Int) {
    let before = lookups
    let title = try #require(try await database.load(Post.self, named: "post")).title
    return (title, lookups - before)
  }

  @Test func `a model is loaded from the cache until it is forgotten`() async throws {
    let post = try await elsewhere.save(Post())
    #expect(try await load() == ("Milk", 1))
    for _ in 1...3 { #expect(try await load() == ("Milk", 0)) }

    try await elsewhere.save(Post(title: "Oats"))
    #expect(try await load() == ("Milk", 0))
    try database.forget(post)

    #expect(try await load() == ("Oats", 1))
  }

  @Test func `a saved model is loaded without a request, and a deleted one is gone`() async throws {
    try await database.save(Post())
    #expect(try await load() == ("Milk", 0))
    try await database.save(Post(title: "Oats"))
    #expect(try await load() == ("Oats", 0))

    try await database.delete(Post())
    #expect(try await database.load(Post.self, named: "post") == nil)
  }

  @Test func `with the cache off each load is a request, and references are saved all the same`() async throws {
    let database = elsewhere
    try await database.save(Employee(id: "ann", department: Department(id: "it")))
    let before = lookups

    for _ in 1...2 {
      #expect(try await database.load(Employee.self, named: "ann", following: .all)?.department?.id == "it")
    }
    // The employee and the department.
    #expect(lookups == before + 4)
  }

  @Test func `references are followed through the cache, and a cycle of them ends`() async throws {
    let ann = Link<Employee>(to: CKRecord.ID(recordName: "ann", zoneID: database.zoneIDForModels))
    let bob = Employee(id: "bob", boss: ann)
    try await elsewhere.save(Employee(id: "ann", department: Department(id: "it"), boss: Link(bob)))
    _ = try await database.load(Employee.self, named: "ann", following: .all)
    let before = lookups

    let loaded = try #require(try await database.load(Employee.self, named: "ann", following: .all))
    #expect(loaded.department?.id == "it" && loaded.boss?.model?.name == "Ann")
    #expect(loaded.boss?.model?.boss?.recordName == "ann" && loaded.boss?.model?.boss?.isLoaded == false)
    #expect(lookups == before)
  }

  @Test func `what is written is decided by the server's records, not by cached ones`() async throws {
    try await elsewhere.save([Post(), Post(id: "other")])
    try await elsewhere.save(Department(id: "it"))
    _ = try await database.load(Post.self, named: "post")
    _ = try await database.load(Department.self, named: "it")
    try await elsewhere.delete(Post())
    try await elsewhere.delete(Department(id: "it"))

    #expect(await code { try await database.update(Post()) } == .unknownItem)
    try await database.save(Employee(id: "ann", department: Department(id: "it")))

    #expect(try await elsewhere.load(Department.self, named: "it")?.id == "it")
  }

  @Test func `an engine asks the server, and what it sends and fetches outdates cached models`() async throws {
    let store = try cloud.open("phone")
    let engine = SyncEngine(store: store, SyncEngine.Configuration(client: try container.webServices()))
    try await store.save(Post())
    _ = try await engine.syncOnce()
    #expect(try await load().title == "Milk")

    try await store.save(Post(title: "Oats"))
    _ = try await engine.syncOnce()
    #expect(try await load().title == "Oats")

    try await elsewhere.save(Post(title: "Rye"))
    #expect(try await load().title == "Oats")
    _ = try await engine.syncOnce()
    #expect(try await load().title == "Rye")

    // The engine verifies what became of a save whose reply was lost.
    try await store.save(Post(title: "Nuts"))
    cloud.requests.loseReplies = 1
    let before = lookups
    _ = try? await engine.syncOnce()
    _ = try? await engine.syncOnce()
    #expect(try store.operations().total == 0 && lookups > before)
    #expect(try await load().title == "Nuts")
  }
}
