import CloudKit
import CloudKitModelMacros
import CloudSupport
import Foundation
import Testing

// snippet.reply
struct Reply: Identifiable {
  let id: String
  let author: CKRecord.Reference
  let text: String
  let editedAt: Date?
}

extension Reply: CKCodable {
  static let RecordType = "Reply"

  enum Fields: String, RecordFields { case author, text, editedAt }

  init(record: CKRecord) throws {
    id = record.recordID.recordName
    author = try Self.extract(.author, from: record)
    text = try Self.extract(.text, from: record)
    editedAt = try Self.extract(.editedAt, from: record)
  }

  func value(for field: Fields) -> (any CKRecordValueProtocol)? {
    switch field {
    case .author: author
    case .text: text
    case .editedAt: editedAt
    }
  }
}
// snippet.end

/// The code of the page.
enum ExtrasPage {
  // snippet.model
  @CKModel(recordType: "Post")
  struct Post {
    static let databaseScope: CKDatabase.Scope = .public
    var id = UUID()
    let author: CKRecord.Reference
    let text: String
    let topics: [String]
    let createdAt: Date
  }
  // snippet.end

  // snippet.hand
  struct Comment: Codable, Identifiable, CKFieldModel {
    static let recordType = "Comment"
    enum Fields: String, CKRecordFields { case author, text, createdAt }
    var id = UUID()
    let author: CKRecord.Reference
    let text: String
    let createdAt: Date
  }
  // snippet.end

  // snippet.partial
  @CKModel(recordType: "Profile")
  struct Badge: Decodable {
    let id: UUID
    var name: String
    var image: CKAsset?
  }
  // snippet.end

  static func query(_ user: CKRecord.Reference, _ topics: [String]) -> Query<Post> {
    // snippet.query
    let query = Query<Post>()
      .filter(.author, equals: user)
      .filter(.topics, anyIn: topics)
      .sorted(by: .createdAt, ascending: false)
      .debug()
    // snippet.end
    return query
  }

  static func paths(_ user: CKRecord.Reference) -> Query<Post> {
    // snippet.paths
    let query = Query<Post>().filter(\.author, equals: user).excluding(\.text, .begins(with: "Draft"))
    // snippet.end
    return query
  }

  static func parts(_ topics: [String], _ database: CKDatabase) async throws -> [CKRecord] {
    // snippet.parts
    let query = CKQuery(recordType: Post.recordType, predicate: try Post.predicate(.topics, anyIn: topics))
    query.sortDescriptors = [Post.sort(by: .createdAt, ascending: false)]
    let (matches, cursor) = try await database.records(matching: query)
    // snippet.end
    #expect(cursor == nil)
    return try matches.map { try $0.1.get() }
  }

  static func perform(_ query: Query<Post>, _ database: CKDatabase) async throws -> CKModelPage<Post> {
    // snippet.perform
    let page = try await database.page(of: query)
    for (id, result) in page.results {
      if case .failure(let error) = result { print("\(id.recordName): \(error.localizedDescription)") }
    }
    // snippet.end
    return page
  }

  static func posts(_ query: Query<Post>, _ container: CKContainer) async throws -> [Post] {
    // snippet.load
    let posts = try await container.database(for: Post.self).load(query)
    // snippet.end
    return posts
  }

  static func next(_ query: Query<Post>, _ page: CKModelPage<Post>, _ database: CKDatabase) async throws -> [Post] {
    var posts: [Post] = []
    // snippet.pages
    for try await page in database.pages(of: query) { posts += page.models }
    // snippet.end
    return posts
  }

  static func old(_ database: CKDatabase) async throws -> [Comment] {
    // snippet.zone
    let comments = try await database.load(Query<Comment>().sorted(by: .createdAt), in: .default)
    // snippet.end
    return comments
  }

  static func one(_ post: Post, _ database: CKDatabase) async throws -> Post? {
    // snippet.one
    let saved = try await database.save(post)
    let same = try await database.load(Post.self, named: saved.recordName)
    // snippet.end
    return same
  }

  static func extract(_ record: CKRecord) throws -> (String, Date?) {
    // snippet.extract
    let text = try record.decode(String.self, for: "text")
    let createdAt = try record.decodeIfPresent(Date.self, for: "createdAt")
    // snippet.end
    return (text, createdAt)
  }
}

@Suite(.serialized) struct ComingFromCloudKitExtras {
  private let cloud: Cloud
  private let ana = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ana"), action: .none)

  init() throws { cloud = try Cloud() }

  private func post(_ text: String, at seconds: Double) -> ExtrasPage.Post {
    ExtrasPage.Post(author: ana, text: text, topics: ["swift"], createdAt: Date(timeIntervalSince1970: seconds))
  }

  @Test func `posts are found by author and topic, newest first, in the default zone of the public database`()
    async throws
  {
    let database = cloud.container.publicCloudDatabase
    #expect(try await ExtrasPage.one(post("old", at: 1), database)?.text == "old")
    try await database.save(post("new", at: 2))
    let query = ExtrasPage.query(ana, ["swift", "linux"])

    #expect(try await ExtrasPage.posts(query, cloud.container).map(\.text) == ["new", "old"])
    let page = try await ExtrasPage.perform(query, database)
    #expect(page.models.count == 2 && page.failures.isEmpty)
    let records = try await ExtrasPage.parts(["swift"], database)
    #expect(records.map { $0["text"] as? String } == ["new", "old"])
    #expect(try await ExtrasPage.next(ExtrasPage.paths(ana), page, database).count == 2)

    let id = CKRecord.ID(recordName: page.models[0].recordName)
    let record = try await database.record(for: id)
    #expect(record.recordType == "Post")
    let (text, createdAt) = try ExtrasPage.extract(record)
    #expect(text == "new" && createdAt == Date(timeIntervalSince1970: 2))
  }

  @Test func `records of a private default zone are found there`() async throws {
    let database = cloud.container.privateCloudDatabase
    let comment = ExtrasPage.Comment(author: ana, text: "c", createdAt: Date(timeIntervalSince1970: 1))
    try await database.save(comment, in: .default)

    #expect(try await ExtrasPage.old(database).map(\.text) == ["c"])
    #expect(try await database.all(ExtrasPage.Comment.self).isEmpty)
  }

  @Test func `a model that converts itself is saved and found by its fields`() async throws {
    let database = cloud.container.privateCloudDatabase
    try await database.save(Reply(id: "r", author: ana, text: "Yes", editedAt: nil))

    let found = try await database.load(Query<Reply>().filter(.author, equals: ana))
    #expect(found.map(\.id) == ["r"] && found[0].text == "Yes" && found[0].editedAt == nil)
    #expect(try CKRecordEncoder().encode(found[0]).recordType == "Reply")
  }

  @Test func `a model with fewer fields reads a record of the same type`() throws {
    let record = CKRecord(recordType: "Profile", recordID: CKRecord.ID(recordName: UUID().uuidString))
    (record["name"], record["biography"]) = ("Ana", "long")
    #expect(try CKRecordDecoder().decode(ExtrasPage.Badge.self, from: record).name == "Ana")
    #expect(ExtrasPage.Badge.Fields.allCases.map(\.rawValue) == ["name", "image"])
  }
}
