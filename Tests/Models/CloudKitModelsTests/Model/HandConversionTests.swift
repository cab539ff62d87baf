import CloudKit
import CloudKitModels
import CloudSupport
import CloudSyncModels
import Foundation
import Testing

enum ByHand {
  struct Post: Equatable {
    let id: String
    let author: CKRecord.Reference
    let text: String
    let createdAt: Date
    var editor: String?
    var topics: [String] = []
  }

  struct Heading: CKDecodable, Identifiable {
    static let RecordType = "Post"
    let id: String
    let text: String

    enum Fields: String, RecordFields { case text }

    init(record: CKRecord) throws {
      id = record.recordID.recordName
      text = try Self.extract(.text, from: record)
    }
  }
}

extension ByHand.Post: CKCodable, Identifiable {
  static let RecordType = "Post"

  init(record: CKRecord) throws {
    id = record.recordID.recordName
    author = try Self.extract(.author, from: record)
    text = try Self.extract(.text, from: record)
    createdAt = try Self.extract(.createdAt, from: record)
    editor = try Self.extract(.editor, from: record)
    topics = try Self.extract(.topics, from: record)
  }

  func value(for field: Fields) -> (any CKRecordValueProtocol)? {
    switch field {
    case .author: author
    case .text: text
    case .createdAt: createdAt
    case .editor: editor
    case .topics: topics
    }
  }

  enum Fields: String, RecordFields {
    case author, text, createdAt, editor, topics
  }
}

/// Models that convert themselves.
@Suite(.serialized) struct HandConversionTests {
  private typealias Post = ByHand.Post

  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  private static func post(_ name: String, by author: String = "ana", text: String = "Milk") -> Post {
    let id = CKRecord.ID(recordName: author, zoneID: CKRecordZone.ID(zoneName: "cktop"))
    let author = CKRecord.Reference(recordID: id, action: .none)
    return Post(id: name, author: author, text: text, createdAt: Date(timeIntervalSince1970: 5), topics: ["a"])
  }

  @Test func `a model makes itself from a record, and names the field that is missing`() throws {
    let record = try CKRecordEncoder().encode(Self.post("p"))
    #expect(try CKRecordDecoder().decode(Post.self, from: record) == Self.post("p"))
    #expect(try CKRecordDecoder().decode(ByHand.Heading.self, from: record).text == "Milk")

    record["text"] = 7
    let wrong = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Post.self, from: record) }
    #expect(wrong?.field == "text" && wrong?.cause == .wrongType)
    record["text"] = nil
    let missing = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Post.self, from: record) }
    #expect(missing?.field == "text")
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Post.self, from: Data("{}".utf8)) }
  }

  @Test func `a model gives the values of its fields, and nil clears one`() async throws {
    var post = Self.post("p")
    post.editor = "bo"
    let record = try CKRecordEncoder().encode(post)
    #expect(record.recordType == "Post" && record.recordID.recordName == "p")
    #expect(record.allKeys() == ["author", "createdAt", "editor", "text", "topics"])

    try await database.save(post)
    post.editor = nil
    #expect(try await database.save(post) == post)
    #expect(cloud.onServer("p", zone: "cktop")?.keys.sorted() == ["author", "createdAt", "text", "topics"])
  }

  @Test func `such a model is saved, loaded, queried, changed and deleted like any other`() async throws {
    try await database.save([Self.post("a"), Self.post("b", text: "Oats"), Self.post("c", by: "bo")])
    #expect(try await database.load(Post.self, named: "b") == Self.post("b", text: "Oats"))
    #expect(try await database.load(ByHand.Heading.self, named: "b")?.text == "Oats")
    #expect(cloud.requests.bodies("records/lookup").last?["desiredKeys"] as? [String] == ["text"])

    let query = Query<Post>().filter(.author, equals: Self.post("x").author).sorted(by: .text, ascending: false)
    #expect(try await database.load(query).map(\.id) == ["b", "a"])
    let predicate = try Post.predicate(.text, equals: "Oats")
    #expect(try await database.load(Query<Post>().filter(predicate)).map(\.id) == ["b"])
    #expect(try await database.update(Self.post("c", text: "Rye")).text == "Rye")
    try await database.delete(Self.post("a"))
    #expect(try await database.all(ByHand.Heading.self).map(\.text).sorted() == ["Oats", "Rye"])

    let phone = try cloud.device("phone")
    try await phone.store.save(Self.post("q"))
    _ = try await phone.sync()
    #expect(try await database.load(Post.self, named: "q") == Self.post("q"))
  }

  @Test func `a value that no rule converts is an error with its field`() {
    struct Odd: CKEncodable, Identifiable {
      static let RecordType = "Odd"
      enum Fields: String, RecordFields { case number, text }
      var id = "o"
      var number: (any CKRecordValueProtocol)?
      func value(for field: Fields) -> (any CKRecordValueProtocol)? { field == .number ? number : nil }
    }
    for value in [NSString(string: "secret"), Double.nan] as [any CKRecordValueProtocol] {
      let error = #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Odd(number: value)) }
      #expect(error?.field == "number" && error?.cause == .unsupportedValue)
      #expect(error?.localizedDescription.contains("secret") == false)
    }
  }
}
