import CloudSupport
import CloudSyncModels
import Testing

/// Models of one zone of a database or a store. Another zone has a record of each name, too.
@Suite(.serialized, .timeLimit(.minutes(40))) struct BoundZoneTests {
  private let cloud: Cloud
  private let mine = CKRecordZone.ID(zoneName: "mine")
  private let other = CKRecordZone.ID(zoneName: "other")

  init() throws { cloud = try Cloud() }

  private struct Errand: Codable, Equatable, Identifiable, CKFieldModel {
    enum Fields: String, CKRecordFields { case title }
    var id = "a"
    var title = "1"
  }

  private static let decoys = ["a", "b", "c"].map { Errand(id: $0, title: "other") }

  @Test func `the calls of a zone of a database reach its records and no others`() async throws {
    let database = cloud.container.privateCloudDatabase
    for zone in [mine, other] { try await database.save(CKRecordZone(zoneID: zone)) }
    for decoy in Self.decoys { try await database.save(decoy, in: other) }
    let zone = database.in(mine)

    #expect(try await zone.insert(Errand()).title == "1")
    #expect(try await zone.update(Errand(title: "2")).title == "2")
    #expect(try await zone.upsert(Errand(title: "3")).title == "3")
    #expect(try await zone.save(Errand(title: "4")).title == "4")
    #expect(try await zone.save([Errand(id: "b"), Errand(id: "c")]).map(\.id) == ["b", "c"])

    let names = ["a", "b", "c"]
    #expect(try await zone.load(Errand.self, named: "a") == Errand(title: "4"))
    #expect(try await zone.load(Errand.self, named: names).mapValues { try $0.get().title }["b"] == "1")
    #expect(try await zone.load(Query<Errand>().filter(.title, equals: "1")).map(\.id).sorted() == ["b", "c"])
    #expect(try await zone.all(Errand.self).map(\.id).sorted() == names)
    var paged: [String] = []
    for try await page in zone.pages(of: Query<Errand>()) { paged += page.models.map(\.id) }
    #expect(paged.sorted() == names)

    try await zone.delete(Errand())
    try await zone.delete([Errand(id: "b")])
    #expect(try await zone.delete(Errand(id: "c"), cascade: .children).error == nil)
    #expect(try await zone.all(Errand.self).isEmpty)
    #expect(try await database.all(Errand.self, in: other).sorted { $0.id < $1.id } == Self.decoys)
  }

  @Test func `the calls of a zone of a store reach its models and no others`() async throws {
    let store = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private)
    try await store.save(Self.decoys, in: other)
    let zone = store.in(mine)

    try await zone.insert(Errand())
    try await zone.update(Errand(title: "2"))
    try await zone.upsert(Errand(title: "3"))
    try await zone.save(Errand(title: "4"))
    try await zone.save(Errand(title: "5"), changedFrom: Errand(title: "4"))
    try await zone.save([Errand(id: "b"), Errand(id: "c")])

    let (names, ones) = (["a", "b", "c"], Query<Errand>().filter(.title, equals: "1").sorted(by: .title))
    #expect(try await zone.load(Errand.self, named: "a") == Errand(title: "5"))
    #expect(try await zone.load(Errand.self, named: names).mapValues { try $0.get().title }["b"] == "1")
    #expect(try await zone.load(ones).map(\.id).sorted() == ["b", "c"])
    #expect(try await zone.first(ones)?.title == "1")
    #expect(try await zone.count(ones) == 2)
    #expect(try await zone.exists(ones))
    #expect(try await !zone.exists(Query<Errand>().filter(.title, equals: "other")))
    #expect(try await zone.all(Errand.self).map(\.id) == names)
    var paged: [String] = []
    for try await page in zone.pages(of: Query<Errand>(), size: 2) { paged += page.models.map(\.id) }
    #expect(paged == names)
    var observed = zone.observe(Query<Errand>()).makeAsyncIterator()
    #expect(try await observed.next()?.map(\.id) == names)

    try await zone.delete(Errand())
    try await zone.delete([Errand(id: "b")])
    try await zone.delete(Errand(id: "c"), cascade: .children)
    #expect(try await zone.all(Errand.self).isEmpty)
    #expect(try await store.all(Errand.self, in: other) == Self.decoys)
  }
}
