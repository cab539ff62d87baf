import CloudKit
import CloudKitModels
import CloudSupport
import Foundation
import Logging
import Synchronization
import Testing

/// Queries for models.
@Suite(.serialized) struct QueryTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  private static let ana = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ana"), action: .none)

  private static let range = 1...2

  private static let comparisons: [(Query<Post>, String)] = [
    (Query<Post>().filter(\.title, equals: "a"), "title == \"a\""),
    (Query<Post>().filter(#Predicate { 1 == $0.likes || 2 == $0.likes }), "likes IN {1, 2}"),
    (Query<Post>().filter(.title, equals: "a"), "title == \"a\""),
    (Query<Post>().filter(\.title, .notEquals("a")), "title != \"a\""),
    (Query<Post>().filter(\.likes, .isLess(than: 2)), "likes < 2"),
    (Query<Post>().filter(\.likes, .isAtMost(2)), "likes <= 2"),
    (Query<Post>().filter(\.likes, .isGreater(than: 2)), "likes > 2"),
    (Query<Post>().filter(\.likes, .isAtLeast(2)), "likes >= 2"),
    (Query<Post>().filter(\.likes, .isBetween(1...2)), "likes BETWEEN {1, 2}"),
    (Query<Post>().filter(.likes, in: [1, 2]), "likes IN {1, 2}"),
    (Query<Post>().filter(\.likes, .isNone(of: [1, 2])), "NOT likes IN {1, 2}"),
    (Query<Post>().filter(\.title, .begins(with: "a")), "title BEGINSWITH \"a\""),
    (Query<Post>().filter(\.title, .beginsNot(with: "a")), "NOT title BEGINSWITH \"a\""),
    (Query<Post>().filter(\.title, .containsWords(of: "a b")), "title TOKENMATCHES[cdl] \"a b\""),
    (Query<Post>().filter(.topics, anyIn: ["a"]), "ANY topics IN {\"a\"}"),
    (Query<Post>().filter(\.topics, .contains("a")), "topics CONTAINS \"a\""),
    (Query<Post>().filter(\.topics, .containsNot("a")), "NOT topics CONTAINS \"a\""),
    (Query<Post>().filter(\.topics, .containsNone(of: ["a"])), "NONE topics IN {\"a\"}"),
    (Query<Post>().filter(\.topics, .containsAll(of: ["a"])), "topics CONTAINS {\"a\"}"),
    (Query<Post>().filter(\.topics, .containsNotAll(of: ["a"])), "NOT topics CONTAINS {\"a\"}"),
    (Query<Post>().filter(\.topics, .containsText(beginningWith: "a")), "ANY topics BEGINSWITH \"a\""),
    (Query<Post>().filter(\.topics, .containsNoText(beginningWith: "a")), "NONE topics BEGINSWITH \"a\""),
    (Query<Post>().excluding(\.likes, .equals(2)), "NOT likes == 2"),
    (Query<Post>().containingWords(of: "red fox"), "SELF CONTAINS \"red fox\""),
    (Query<Post>().filter(NSPredicate(format: "likes == 7")), "likes == 7"),
    (
      Query<Post>().filter(\.title, equals: "a").excluding(.likes, .equals(2)),
      "title == \"a\" AND NOT likes == 2"
    ),
    (Query<Post>().filter(#Predicate { $0.title == "a" }), "title == \"a\""),
    (Query<Post>().filter(#Predicate { 2 < $0.likes && $0.likes <= 9 }), "likes > 2 AND likes <= 9"),
    (Query<Post>().filter(#Predicate { $0.likes == 1 || $0.likes == 2 }), "likes IN {1, 2}"),
    (Query<Post>().filter(#Predicate { !($0.title != "a") }), "title == \"a\""),
    (Query<Post>().filter(#Predicate { $0.topics.contains("a") }), "topics CONTAINS \"a\""),
    (Query<Post>().filter(#Predicate { [1, 2].contains($0.likes) }), "likes IN {1, 2}"),
    (Query<Post>().filter(#Predicate { range.contains($0.likes) }), "likes BETWEEN {1, 2}"),
    (Query<Post>().filter(#Predicate { (1...2).contains($0.likes) }), "likes BETWEEN {1, 2}"),
    (Query<Post>().filter(#Predicate { $0.title.starts(with: "a") }), "title BEGINSWITH \"a\""),
    (Query<Post>(), "TRUEPREDICATE"),
  ]

  @Test(arguments: comparisons.indices)
  func `a query means what its predicate means`(index: Int) throws {
    let (query, format) = Self.comparisons[index]
    let expected = CKQuery(recordType: "Post", predicate: NSPredicate(format: format))

    #expect(try query.query().wire(zoneID: .default) == expected.wire(zoneID: .default))
  }

  @Test func `a predicate that CloudKit has no part for is refused when the query is run`() {
    let queries = [
      Query<Post>().filter(#Predicate { $0.title.count > 3 }),
      Query<Post>().filter(#Predicate { $0.draft.title == "a" }),
      Query<Post>().filter(#Predicate { _ in true }),
    ]
    for query in queries {
      #expect { try query.query() } throws: { ($0 as? CKError)?.code == .invalidArguments }
    }
  }

  @Test func `a model's predicates and orders are those of its queries`() throws {
    let predicates: [(NSPredicate, Query<Post>)] = [
      (try Post.predicate(.author, equals: Self.ana), Query<Post>().filter(.author, equals: Self.ana)),
      (try Post.predicate(.topics, anyIn: ["a", "b"]), Query<Post>().filter(.topics, anyIn: ["a", "b"])),
      (try Post.predicate(.likes, in: [1, 2]), Query<Post>().filter(.likes, in: [1, 2])),
      (try Post.predicate(.likes, .isAtLeast(2)), Query<Post>().filter(.likes, .isAtLeast(2))),
    ]
    for (predicate, query) in predicates {
      let expected = try query.sorted(by: .likes, ascending: false).query().wire(zoneID: .default)
      let own = CKQuery(recordType: Post.recordType, predicate: predicate)
      own.sortDescriptors = [Post.sort(by: .likes, ascending: false)]
      #expect(try own.wire(zoneID: .default) == expected)
      let filtered = Query<Post>().filter(predicate).sorted(by: .likes, ascending: false)
      #expect(try filtered.query().wire(zoneID: .default) == expected)
    }
    #expect(throws: CKModelError.self) { try Post.predicate(.likes, equals: Double.nan) }
  }

  @Test func `a place and a reference are compared as they are stored`() throws {
    let place = CLLocation(latitude: 47, longitude: 8)
    let near = try Query<Shop>().filter(\.place, .isNear(place, within: 500))
      .sorted(byDistanceOf: \.place, from: place).query().wire(zoneID: .default)
    #expect(near.filterBy.map(\.comparator) == ["NEAR"] && near.filterBy.first?.distance == 500)
    #expect(near.sortBy.first?.relativeLocation != nil)

    let byAuthor = try Query<Post>().filter(\.author, equals: Self.ana).query().wire(zoneID: .default)
    #expect(byAuthor.filterBy.first?.value == .reference(WireReference(recordName: "ana", action: nil)))
  }

  @Test func `orders follow each other, and refining a query leaves the original unchanged`() throws {
    let query = Query<Post>().filter(\.likes, .isAtLeast(2))
    let refined = query.sorted(by: \.title, ascending: false).sorted(by: [.likes, .at]).limit(3).debug()
    let sorting = try refined.query().sortDescriptors ?? []

    #expect(sorting.map(\.key) == ["title", "likes", "at"] && sorting.map(\.ascending) == [false, true, true])
    #expect(try query.query().sortDescriptors == nil)
  }

  @Test func `what cannot be queried is named before anything is sent`() async throws {
    let error = await #expect(throws: CKError.self) { try await database.load(Query<Post>().filter(\.id, equals: "a")) }
    #expect(error?.code == .invalidArguments)
    let absent: String? = nil
    let other = await #expect(throws: CKError.self) {
      try await database.load(Query<Shop>().filter(.name, equals: absent))
    }
    #expect(other?.code == .invalidArguments)
    let none = await #expect(throws: CKError.self) {
      try await database.load(Query<Post>().filter(.likes, in: [Int]()))
    }
    #expect(none?.code == .invalidArguments)
    await #expect(throws: CKModelError.self) {
      try await database.load(Query<Post>().filter(.likes, equals: Double.nan))
    }
    #expect(cloud.requests.bodies("records/query").isEmpty)
  }

  @Test func `a query returns its results in order, up to its limit, over several pages`() async throws {
    try await database.save((0..<450).map { Post(id: "p\($0)", likes: $0) })

    let query = Query<Post>().filter(\.likes, .isAtLeast(10)).sorted(by: \.likes)
    #expect(try await database.load(query).map(\.likes) == Array(10..<450))
    #expect(try await database.load(query.limit(250)).map(\.likes) == Array(10..<260))
    #expect(try await database.load(query.limit(0)).isEmpty)
    var sizes: [Int] = []
    for try await page in database.pages(of: query.limit(300)) { sizes.append(page.models.count) }
    #expect(sizes == [200, 100])
    let first = try await database.page(of: query.limit(3))
    #expect(first.models.map(\.likes) == [10, 11, 12])
    let next = try await database.page(of: query.limit(3), after: first.cursor)
    #expect(next.models.map(\.likes) == [13, 14, 15])
    // The cursor of each page leads to the next one, and that of the last page is nil.
    var (likes, cursor) = ([Int](), CKQueryOperation.Cursor?.none)
    repeat {
      let page = try await database.page(of: query.limit(200), after: cursor)
      likes += page.models.map(\.likes)
      cursor = page.cursor
    } while cursor != nil
    #expect(likes == Array(10..<450))
  }

  @Test func `an unreadable record fails alone, in any zone`() async throws {
    let zone = CKRecordZone.ID(zoneName: "notes")
    try await database.save(CKRecordZone(zoneID: zone))
    try await database.save([Post(id: "a"), Post(id: "b")], in: zone)
    let bad = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "bad", zoneID: zone))
    bad["likes"] = 3
    try await database.save(bad)

    let page = try await database.page(of: Query<Post>(), in: zone)
    #expect(page.models.map(\.id).sorted() == ["a", "b"])
    #expect(page.failures.keys.map(\.recordName) == ["bad"])
    #expect((page.failures.values.first as? CKModelError)?.recordID == bad.recordID)
    await #expect(throws: CKModelError.self) { try await database.load(Query<Post>(), in: zone) }
  }

  @Test func `a query for a type that nobody has saved finds nothing`() async throws {
    #expect(try await database.all(Shop.self).isEmpty)
    try await database.save(Post())
    #expect(try await database.all(Shop.self).isEmpty)
  }

  @Test func `a query that is to be logged is, with its values and the names of its results`() async throws {
    let lines = Lines()
    let logger = Logger(label: "test") { _ in lines.handler }
    let database = cloud.container(of: "ana") { $0.logger = logger }.privateCloudDatabase
    try await database.save(Post(likes: 7))
    _ = try await database.load(Query<Post>().filter(\.likes, equals: 7))
    #expect(lines.all.isEmpty)

    _ = try await database.load(Query<Post>().filter(\.likes, equals: 7).debug())
    #expect(lines.all.count == 2 && lines.all[0].contains("likes == 7") && lines.all[1].contains("post"))
  }
}

struct Shop: Codable, Identifiable, CKFieldModel {
  var id = "shop"
  var name: String? = "Coop"

  /// For the queries alone.
  var place: CLLocation? { nil }

  enum Fields: String, CKRecordFields { case name, place }

  static func queryKey(for property: PartialKeyPath<Shop>) -> String? { property == \Shop.place ? "place" : nil }
}

/// The lines that were logged at the default level and above.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  var handler: any LogHandler { Handler(lines: self) }

  private struct Handler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      if event.level == .info { lines.lines.withLock { $0.append("\(event.message)") } }
    }
  }
}
