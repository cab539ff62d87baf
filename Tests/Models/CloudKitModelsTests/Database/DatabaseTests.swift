import CloudKit
import CloudKitModels
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import Logging
import Synchronization
import Testing

/// Models saved to and read from a database directly.
@Suite(.serialized) struct DatabaseTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  @Test func `a model saved twice updates its record and returns what was saved`() async throws {
    var post = try await database.save(Post())
    #expect(post.title == "Milk")
    post.title = "Oats"
    #expect(try await database.save(post).title == "Oats")
    #expect(try await database.load(Post.self, named: "post")?.title == "Oats")
  }

  @Test func `the first save creates the zone for models, and before it there is nothing`() async throws {
    #expect(try await database.all(Post.self).isEmpty)
    #expect(try await database.load(Post.self, named: "post") == nil)
    try await database.save(Post())
    #expect(try await database.all(Post.self) == [Post()])
    #expect(database.zoneIDForModels.zoneName == "cktop")
    #expect(cloud.container.publicCloudDatabase.zoneIDForModels == .default)
  }

  @Test func `an insert of an existing model fails and changes nothing`() async throws {
    try await database.insert(Post(likes: 3))
    #expect(await code { try await database.insert(Post(title: "Oats")) } == .serverRecordChanged)
    #expect(try await database.load(Post.self, named: "post") == Post(likes: 3))
  }

  @Test func `an update of a missing model fails and creates nothing`() async throws {
    try await database.save(Post(id: "other"))
    #expect(await code { try await database.update(Post()) } == .unknownItem)
    #expect(try await database.all(Post.self).map(\.id) == ["other"])
    #expect(try await database.update(Post(id: "other", title: "Oats")).title == "Oats")
  }

  @Test func `an update before anything was saved finds no record`() async throws {
    #expect(await code { try await database.update(Post()) } == .unknownItem)
  }

  @Test func `an upsert saves a new and an existing model, and a newer version does not stop it`() async throws {
    #expect(try await database.upsert(Page()).title == "Milk")
    let old = try #require(try await database.load(Page.self, named: "p1"))
    try await database.upsert(Page(title: "Oats"))
    var edited = old
    edited.title = "Rye"
    #expect(await code { try await database.save(edited) } == .serverRecordChanged)
    #expect(try await database.upsert(edited).title == "Rye")
  }

  @Test func `many upserts of one model at the same time all succeed`() async throws {
    let database = database
    try await database.save(Post(id: "zone"))
    let titles = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<12 { group.addTask { try await database.upsert(Post(title: "\(number)")).title } }
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    #expect(Set(titles).count == 12)
    #expect(try await database.all(Post.self).map(\.id).sorted() == ["post", "zone"])
  }

  @Test func `a save keeps the fields that the model does not declare`() async throws {
    try await database.save(Post(topics: ["a"], likes: 3))
    try await database.save(PostTitle(title: "Oats"))
    #expect(try await database.load(Post.self, named: "post") == Post(title: "Oats", topics: ["a"], likes: 3))
  }

  @Test func `only the model's fields are requested`() async throws {
    try await database.save(Post())
    _ = try await database.load(PostTitle.self, named: "post")
    _ = try await database.all(PostTitle.self)

    for request in cloud.requests.bodies("records/lookup") + cloud.requests.bodies("records/query") {
      #expect(request["desiredKeys"] as? [String] == ["title"])
    }
  }

  @Test func `several models are saved and returned in their order, and two of one name are refused`() async throws {
    try await database.save(Post())
    let saved = try await database.save([Post(id: "a"), Post(id: "b", topics: ["x"]), Post(title: "Oats")])
    #expect(saved.map(\.id) == ["a", "b", "post"])
    #expect(try await database.load(Post.self, named: "post")?.title == "Oats")

    #expect(await code { try await database.save([Post(id: "c"), Post(id: "c")]) } == .invalidArguments)
    #expect(try await database.load(Post.self, named: "c") == nil)
  }

  @Test func `many models are saved in requests of 200, and 500 saves at the same time all succeed`() async throws {
    let database = database
    try await database.save(CKRecordZone(zoneID: database.zoneIDForModels))
    let saved = try await database.save((0..<450).map { Post(id: "p\($0)") })
    #expect(saved.count == 450)
    let sizes = cloud.requests.bodies("records/modify").map { ($0["operations"] as? [Any])?.count ?? 0 }
    #expect(sizes.sorted() == [50, 200, 200])

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 450..<950 { group.addTask { _ = try await database.save(Post(id: "p\(number)")) } }
      try await group.waitForAll()
    }
    #expect(try await database.all(Post.self).count == 950)
  }

  @Test func `a deleted model is gone, and deleting it again changes nothing`() async throws {
    try await database.save([Post(), Post(id: "b")])
    try await database.delete(Post())
    #expect(try await database.all(Post.self).map(\.id) == ["b"])
    try await database.delete([Post(id: "b"), Post(id: "c")])
    #expect(try await database.all(Post.self).isEmpty)
  }

  @Test func `a refused model among several is an error, which knows what was saved`() async throws {
    try await database.save(Post())
    let stale = try #require(try await database.load(TaggedPost.self, named: "post"))
    try await database.save(Post(title: "Oats"))

    let models = [TaggedPost(id: "a"), stale, TaggedPost(id: "b")]
    let error = try await #require(throws: CKModelBatchError.self) { try await database.save(models) }

    #expect(error.failures.map(\.index) == [1] && error.failures.map(\.recordID.recordName) == ["post"])
    #expect((error.failures[0].error as? CKError)?.code == .serverRecordChanged)
    #expect(error.saved.map(\.recordID.recordName) == ["a", "b"] && error.deleted.isEmpty)
    #expect(error.model == "TaggedPost" && error.localizedDescription.contains("post"))
    let saved = try error.saved.map { try CKRecordDecoder().decode(TaggedPost.self, from: $0) }
    #expect(saved.allSatisfy { $0.tag != nil })
    try await database.save(saved)
    #expect(try await database.all(Post.self).map(\.id).sorted() == ["a", "b", "post"])
  }

  @Test func `several models are loaded by name, each with its own result`() async throws {
    try await database.save([Post(id: "a"), Post(id: "b")])
    let models = try await database.load(Post.self, named: ["a", "b", "none"])
    #expect(try models["a"]?.get().id == "a" && models["b"]?.get().id == "b")
    #expect(models["none"] == nil)
  }

  /// Waits for the result that a call gives to its completion handler. A second result is a crash.
  private func result<Value: Sendable>(
    _ call: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
  ) async throws -> Value {
    try await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }.get()
  }

  @Test func `a call with a handler calls it once with the model or the error`() async throws {
    let database = database
    #expect(try await result { database.save(Post(), completionHandler: $0) } == Post())
    #expect(try await result { database.load(Post.self, named: "post", completionHandler: $0) } == Post())
    #expect(try await result { database.load(Post.self, named: "none", completionHandler: $0) } == nil)
    try await result { database.delete(Post(), completionHandler: $0) }
    #expect(try await result { database.load(Query<Post>(), completionHandler: $0) }.isEmpty)
  }

  @Test func `a query with a handler gives it the models in their order, or the error`() async throws {
    let database = database
    try await database.save((0..<5).map { Post(id: "p\($0)", likes: $0) })
    let query = Query<Post>().filter(\.likes, .isAtLeast(1)).sorted(by: \.likes, ascending: false)
    #expect(try await result { database.load(query, completionHandler: $0) }.map(\.likes) == [4, 3, 2, 1])
    #expect(try await result { database.load(query.limit(2), completionHandler: $0) }.map(\.likes) == [4, 3])
    let wrong = query.filter(\.id, equals: "p1")
    #expect(
      await code { try await result { database.load(wrong, completionHandler: $0) } as [Post] } == .invalidArguments
    )
  }

  @Test func `handlers get one page after another until all models were there once`() async throws {
    let database = database
    try await database.save((0..<5).map { Post(id: "p\($0)", likes: $0) })
    let query = Query<Post>().sorted(by: \.likes).limit(2)
    var (pages, cursor) = ([[Int]](), CKQueryOperation.Cursor?.none)
    repeat {
      let page = try await result { database.page(of: query, after: cursor, completionHandler: $0) }
      pages.append(page.models.map(\.likes))
      cursor = page.cursor
    } while cursor != nil
    #expect(pages.filter { !$0.isEmpty } == [[0, 1], [2, 3], [4]])
  }

  @Test func `a UUID, an integer and a text are record names`() async throws {
    struct Numbered: Codable, Equatable, Identifiable, CKRecordModel {
      static let recordType = "Thing"
      let id: Int
      var title = "Milk"
    }
    struct Unique: Codable, Equatable, Identifiable, CKRecordModel {
      static let recordType = "Thing"
      let id: UUID
      var title = "Milk"
    }
    let unique = Unique(id: UUID())
    #expect(try await database.save(Numbered(id: 7)) == Numbered(id: 7))
    #expect(try await database.save(unique) == unique)
    try await database.save(Post(id: "any-text"))

    #expect(cloud.onServer("7", zone: "cktop")?["id"] == nil && cloud.onServer("7", zone: "cktop") != nil)
    #expect(cloud.onServer(unique.id.uuidString, zone: "cktop") != nil)
    #expect(cloud.onServer("any-text", zone: "cktop") != nil)
    #expect(try await database.load(Numbered.self, named: "7")?.id == 7)
    // It would be saved as another record.
    await #expect(throws: CKModelError.self) { try await database.load(Numbered.self, named: unique.id.uuidString) }
  }

  @Test func `every verb has a form with a handler, which differs from save as the others do`() async throws {
    let (database, oats) = (database, Post(title: "Oats"))
    #expect(await code { try await result { database.update(oats, completionHandler: $0) } as Post } == .unknownItem)
    #expect(try await result { database.insert(Post(), completionHandler: $0) } == Post())
    #expect(
      await code { try await result { database.insert(oats, completionHandler: $0) } as Post } == .serverRecordChanged
    )
    #expect(try await result { database.update(oats, completionHandler: $0) } == oats)
    #expect(try await result { database.upsert(Post(), completionHandler: $0) } == Post())
    #expect(try await result { database.all(Post.self, completionHandler: $0) } == [Post()])
  }

  @Test func `a list with a handler gives its models or results, and a page its cursor`() async throws {
    let (database, posts) = (database, [Post(id: "a"), Post(id: "b")])
    #expect(try await result { database.save(posts, completionHandler: $0) } == posts)

    let loaded = try await result { database.load(Post.self, named: ["a", "none"], completionHandler: $0) }
    #expect(try loaded["a"]?.get() == posts[0])
    #expect(loaded["none"] == nil)

    let query = Query<Post>().limit(1)
    let first = try await result { database.page(of: query, completionHandler: $0) }
    let second = try await result { database.page(of: query, after: first.cursor, completionHandler: $0) }
    #expect(Set((first.models + second.models).map(\.id)) == ["a", "b"])

    let share = try await result { database.share(posts[0], completionHandler: $0) }
    let zone = try await database.save(CKRecordZone(zoneName: "other")).zoneID
    let zoneShare = try await result { database.shareZone(zone, completionHandler: $0) }
    #expect(share.url != nil && zoneShare.url != nil && share.url != zoneShare.url)

    try await result { database.delete(posts, completionHandler: $0) }
    #expect(try await database.all(Post.self).isEmpty)
  }

  @Test func `a model goes to the database that its type or its zone's owner names`() throws {
    let container = cloud.container
    let foreign = CKRecordZone.ID(zoneName: "notes", ownerName: "_other")

    #expect(container.database(for: Post.self).databaseScope == .private)
    #expect(container.database(for: Announcement.self).databaseScope == .public)
    #expect(container.database(for: Post.self, in: foreign).databaseScope == .shared)
    #expect(container.database(for: Post.self, in: CKRecordZone.ID(zoneName: "notes")).databaseScope == .private)
  }
}

/// Calls for another database than that of the models.
extension DatabaseTests {
  private func isRefused<Value>(_ call: () async throws -> Value) async -> Bool {
    do { _ = try await call() } catch { return (error as? CKModelError)?.cause == .otherDatabase }
    return false
  }

  @Test func `a call for another database than that of the models is refused and sends nothing`() async throws {
    let model = Announcement()
    let all = Query<Announcement>()

    #expect(await isRefused { try await database.save(model) })
    #expect(await isRefused { try await database.insert(model) })
    #expect(await isRefused { try await database.update(model) })
    #expect(await isRefused { try await database.upsert(model) })
    #expect(await isRefused { try await database.save([model]) })
    #expect(await isRefused { try await database.load(Announcement.self, named: "a") })
    #expect(await isRefused { try await database.load(all) })
    #expect(await isRefused { try await database.page(of: all) })
    #expect(await isRefused { try await database.delete(model) })
    #expect(await isRefused { try await database.delete([model]) })
    #expect(await isRefused { try await database.delete(model, cascade: .targets) })
    #expect(await isRefused { try await database.share(model) })
    #expect(await isRefused { try await database.subscribe(to: Announcement.self) })
    #expect(await isRefused { try database.forget(model) })
    let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none)
    #expect(await isRefused { try await reference.load(Announcement.self, from: database) })
    #expect(cloud.requests.bodies("records/modify").isEmpty && cloud.requests.bodies("records/query").isEmpty)
  }

  @Test(arguments: [CKDatabase.Scope.public, .private, .shared])
  func `a database has the models that declare it, and the shared one those of the private ones of others`(
    _ scope: CKDatabase.Scope
  ) async throws {
    let database = cloud.container.database(with: scope)
    #expect(await isRefused { try await database.load(Query<Announcement>()) } == (scope != .public))
    #expect(await isRefused { try await database.load(Query<Post>()) } == (scope == .public))
  }

  @Test func `a store of another database refuses models to save, load, find and delete`() async throws {
    let store = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private)
    let (model, all) = (Announcement(), Query<Announcement>())
    var changes = CKModelChanges()
    try changes.save(Post())
    try changes.save(model)

    #expect(await isRefused { try await store.save(model) })
    #expect(await isRefused { try await store.save(model, changedFrom: model) })
    #expect(await isRefused { try await store.enqueue(changes) })
    #expect(await isRefused { try await store.load(Announcement.self, named: "a") })
    #expect(await isRefused { try await store.load(all) })
    #expect(await isRefused { try await store.count(all) })
    #expect(await isRefused { try await store.delete(model) })
    #expect(await isRefused { try await store.delete(model, cascade: .targets) })
    #expect(try store.operations().total == 0)

    let shared = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .shared)
    #expect(try await shared.load(Query<Post>()).isEmpty)
  }

  @Test func `a model that refers to one of another database is refused with it`() async throws {
    let poster = Poster(announcement: Announcement())
    let store = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private)

    #expect(await isRefused { try await database.save(poster) })
    #expect(await isRefused { try await store.save(poster) })
    #expect(try cloud.onServer("p", zone: "cktop") == nil && store.operations().total == 0)
  }
}

/// A private model that refers to a public one.
private struct Poster: Codable, Identifiable, CKRecordModel {
  var id = "p"
  var announcement: Announcement?
}

/// A model with a typed list of fields, as `@CKModel` makes it.
struct Post: Codable, Equatable, Identifiable, CKFieldModel {
  var id = "post"
  var title = "Milk"
  var topics: [String] = []
  var likes = 0
  var author: CKRecord.Reference?
  var at: Date?
  /// Another model of this type.
  var draft: Post { self }

  enum Fields: String, CKRecordFields { case title, topics, likes, author, at }

  static func queryKey(for property: PartialKeyPath<Post>) -> String? {
    switch property {
    case \.title: "title"
    case \.topics: "topics"
    case \.likes: "likes"
    case \.author: "author"
    case \.at: "at"
    default: nil
    }
  }
}

/// A part of `Post`.
struct PostTitle: Codable, Equatable, Identifiable, CKFieldModel {
  var id = "post"
  var title: String

  static let recordType = "Post"
  enum Fields: String, CKRecordFields { case title }
}

/// A part of `Post` that knows the version that it was read from.
private struct TaggedPost: Codable, Identifiable, CKRecordModel {
  var id: String
  var title = "Milk"
  var topics: [String] = []
  var likes = 0
  var tag: String?

  static let recordType = "Post"
  static let systemKeys: [String: CKSystemValue] = ["tag": .changeTag]
}

struct Announcement: Codable, Identifiable, CKRecordModel {
  var id = "a"
  var text = ""

  static let databaseScope = CKDatabase.Scope.public
}
