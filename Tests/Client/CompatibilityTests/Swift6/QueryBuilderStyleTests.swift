import CloudKit
import CoreLocation
import Testing

// Code in the style of a query builder over models: fields as an enumeration, predicates and sorts from their names.

protocol RecordFields: CaseIterable, RawRepresentable where RawValue == String {}

protocol RecordModel {
  associatedtype Fields: RecordFields
  static var RecordType: String { get }
  init(record: CKRecord) throws
  func value(for field: Fields) -> CKRecordValueProtocol?
}

struct MissingField: Error {}

extension CKRecord {
  func extract<T>(_ key: String) throws -> T {
    guard let fieldValue = self[key], let value = fieldValue as? T else { throw MissingField() }
    return value
  }
}

extension RecordModel {
  static func predicate(_ key: Fields, equals value: CVarArg) -> NSPredicate {
    NSPredicate(format: "\(key.rawValue) == %@", value)
  }

  static func predicate(_ key: Fields, anyIn values: CVarArg) -> NSPredicate {
    NSPredicate(format: "ANY \(key.rawValue) IN %@", values)
  }

  func encode(recordID: CKRecord.ID? = nil) -> CKRecord {
    let record = CKRecord(recordType: Self.RecordType, recordID: recordID ?? CKRecord.ID())
    for field in Fields.allCases { record[field.rawValue] = value(for: field) }
    return record
  }
}

struct Query<T: RecordModel> {
  var predicate: NSPredicate?
  var sorts: [NSSortDescriptor] = []
  var limit = CKQueryOperation.maximumResults

  func filter(_ other: NSPredicate, type: NSCompoundPredicate.LogicalType = .and) -> Query {
    var copy = self
    copy.predicate = predicate.map { NSCompoundPredicate(type: type, subpredicates: [$0, other]) } ?? other
    return copy
  }

  func sorted(by key: T.Fields, ascending: Bool) -> Query {
    var copy = self
    copy.sorts.append(NSSortDescriptor(key: key.rawValue, ascending: ascending))
    return copy
  }

  func build() -> CKQuery {
    let query = CKQuery(recordType: T.RecordType, predicate: predicate ?? NSPredicate(value: true))
    query.sortDescriptors = sorts
    return query
  }
}

extension CKDatabase {
  func perform<T: RecordModel>(
    _ query: Query<T>
  ) async throws -> (models: [(id: CKRecord.ID, result: Result<T, Error>)], cursor: CKQueryOperation.Cursor?) {
    let (results, cursor) = try await records(
      matching: query.build(),
      inZoneWith: nil,
      desiredKeys: T.Fields.allCases.map(\.rawValue),
      resultsLimit: query.limit
    )
    return (results.map { id, result in (id, Result { try T(record: result.get()) }) }, cursor)
  }

  func save<T: RecordModel>(model: T, recordId: CKRecord.ID? = nil) async throws {
    try await save(model.encode(recordID: recordId))
  }
}

private struct Post: RecordModel, Equatable {
  enum Fields: String, RecordFields { case author, text, topics, place }
  static let RecordType = "Post"

  var author: CKRecord.Reference
  var text: String
  var topics: [String]
  var place: CLLocation?

  init(author: CKRecord.Reference, text: String, topics: [String]) {
    (self.author, self.text, self.topics) = (author, text, topics)
  }

  init(record: CKRecord) throws {
    author = try record.extract("author")
    text = try record.extract("text")
    topics = try record.extract("topics")
  }

  func value(for field: Fields) -> CKRecordValueProtocol? {
    switch field {
    case .author: return author
    case .text: return text
    case .topics: return topics
    case .place: return place
    }
  }
}

@Suite(.serialized) struct QueryBuilderStyleTests {
  @Test func `models are saved and found by what their fields hold`() async throws {
    let database = try emulatedContainer().publicCloudDatabase
    let ana = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ana"), action: .none)
    let bo = CKRecord.Reference(recordID: CKRecord.ID(recordName: "bo"), action: .none)
    try await database.save(model: Post(author: ana, text: "a", topics: ["swift"]))
    try await database.save(model: Post(author: ana, text: "b", topics: ["linux", "swift"]))
    try await database.save(model: Post(author: bo, text: "c", topics: ["swift"]))

    let query = Query<Post>().filter(Post.predicate(.author, equals: ana)).sorted(by: .text, ascending: false)
    let (models, cursor) = try await database.perform(query)
    let posts = try models.map { try $0.result.get() }

    #expect(posts.map(\.text) == ["b", "a"])
    #expect(posts.first?.topics == ["linux", "swift"])
    #expect(cursor == nil)
    #expect(Set(models.map(\.id)).count == 2)
  }

  @Test func `a page that is full leads to the next`() async throws {
    let database = try emulatedContainer().publicCloudDatabase
    let author = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ana"), action: .none)
    for text in ["a", "b", "c"] {
      try await database.save(model: Post(author: author, text: text, topics: []))
    }
    let query = Query<Post>().sorted(by: .text, ascending: true).build()

    var (results, cursor) = try await database.records(matching: query, resultsLimit: 2)
    #expect(results.count == 2 && cursor != nil)
    while let next = cursor {
      let page = try await database.records(continuingMatchFrom: next, desiredKeys: nil, resultsLimit: 2)
      results += page.matchResults
      cursor = page.queryCursor
    }

    #expect(try results.map { try $0.1.get()["text"] as? String } == ["a", "b", "c"])
  }
}
