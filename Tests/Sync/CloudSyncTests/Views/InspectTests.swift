import CloudKit
import CloudKitEmulator
import CloudKitSchema
import Facts
import Foundation
import GRDB
import Testing

@testable import CloudSync

/// Lists, pages, searches and details.
@Suite(.serialized) struct InspectTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() async throws {
    world = try World()
    device = try world.device("store")
    _ = try device.store.enqueue([
      world.put("apple", type: "Fruit", ["colour": .string("red"), "number": .int64(1)]),
      world.put("pear", type: "Fruit", ["colour": .string("green 100%")]),
      world.put("carrot", type: "Root", ["colour": .string("orange_x")]),
      world.put("apple", zone: "other", type: "Computer", [:]),
    ])
    try await device.sync()
  }

  private func names(_ rows: [RecordRow]) -> [String] { rows.map(\.record.key.name) }

  @Test func `pending edits lie over the mirror, and can be taken off`() throws {
    try store.accept(world.put("apple", type: "Fruit", ["colour": .string("blue")]))
    try store.accept(
      Change(world.key("apple"), .save(type: "Fruit", FieldChanges(cleared: ["number"])))
    )
    try store.accept(world.delete("pear"))
    try store.accept(world.put("plum", type: "Fruit", ["colour": .string("violet")]))

    #expect(names(try store.records(after: nil, type: "Fruit", limit: 9)) == ["apple", "plum"])
    #expect(names(try store.records(after: nil, type: "Fruit", mirrorOnly: true, limit: 9)) == ["apple", "pear"])
    let apple = try #require(try store.records(named: "apple", zone: world.scope.zoneForChangesWithoutOne).first)
    #expect(apple.record.fields == ["colour": .string("blue")])
    #expect(apple.operationState == .pending)
    #expect(apple.changeTag != nil)
    #expect(try store.records(named: "plum").first?.changeTag == nil)
    #expect(try store.mirror("pear") == ["colour": .string("green 100%")])
  }

  @Test func `a name in two zones is found twice`() throws {
    #expect(try store.records(named: "apple").count == 2)
    #expect(try store.records(named: "apple", zone: ZoneKey(zone: "other")).count == 1)
    #expect(try store.records(after: nil, zone: ZoneKey(zone: "other"), limit: 9).count == 1)
  }

  @Test func `a name in two zones is two records, each with its change tag until it is deleted`() async throws {
    func tags() throws -> [String: String] {
      let rows = try store.records(named: "apple", mirrorOnly: true)
      return Dictionary(uniqueKeysWithValues: rows.map { ($0.record.key.zone, $0.changeTag ?? "") })
    }
    let first = try tags()
    try store.accept(world.put("apple", zone: "other", type: "Computer", ["cores": .int64(8)]))
    try await device.sync()
    let second = try tags()
    #expect(second["cktop"] == first["cktop"] && second["other"] != first["other"])

    try store.accept(world.delete("apple", zone: "other"))
    try await device.sync()
    let kept = try #require(first["cktop"])
    #expect(try tags() == ["cktop": kept])

    // The tag of the deleted record is no obstacle to a new one.
    try store.accept(world.put("apple", zone: "other", type: "Computer", ["cores": .int64(16)]))
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(try tags().keys.sorted() == ["cktop", "other"])
    #expect(world.onServer("apple", zone: "other") == ["cores": .int64(16)])
    #expect(world.onServer("apple")?["colour"] == .string("red"))
  }

  @Test func `pages are windows on the whole number of rows`() throws {
    let first = try store.records(offset: 0, limit: 3)
    let second = try store.records(offset: 3, limit: 3)

    #expect(first.total == 4)
    #expect(names(first.rows) == ["apple", "carrot", "pear"])
    #expect(names(second.rows) == ["apple"])
    #expect(try store.records(offset: 99, limit: 3).rows.isEmpty)
  }

  @Test(arguments: [
    ("ORANGE", ["carrot"]), ("100%", ["pear"]), ("e_x", ["carrot"]), ("fruit", ["apple", "pear"]), ("%", ["pear"]),
    ("\\", []), ("'", []),
  ])
  func `a search finds text, not patterns`(_ text: String, _ found: [String]) throws {
    var listing = RecordListing()
    (listing.filter, listing.order) = (.words([text]), .name)
    #expect(names(try store.view { try $0.records(listing, limit: 9) }.rows) == found)
  }

  @Test func `a row of a list is short, whatever a server sent, and its details are whole`() throws {
    let message = String(repeating: "no ", count: 100_000)
    let parents = (0..<1000).map { world.put("p\($0)", [:]) }
    let references = parents.map { FieldValue.reference(WireReference(recordName: $0.key.name, action: "VALIDATE")) }
    _ = try store.enqueue(
      parents + [world.put("child", ["all": .list(.reference, references)]), world.put("bad", [:])]
    )
    let cause = Cause.failed(.rejected(code: "BAD_REQUEST", message: message))
    try store.execute(
      "UPDATE operations SET state = 'failed', reason = ?, errorCode = 'BAD_REQUEST', errorMessage = ? WHERE name = 'bad'",
      [cause.stored, message]
    )

    let rows = Array(try store.operations().rows.suffix(2))
    #expect(rows.map(\.key.name) == ["child", "bad"])
    let ids = try #require(try store.detail(of: rows[0].id)?.operation?.blockedBy)
    #expect(ids.count == 1000)
    #expect(rows[0].blockedBy == Array(ids.prefix(10)))
    let names = (0..<3).map { "Note/p\($0)" }
    #expect(rows[0].cause == .waitsFor(Array(ids.prefix(10)), isGroup: false, hasMore: true, names: names))
    #expect(rows[1].cause == .inWords(cause.text.shortened(to: 200), isUnconfirmed: false))
    #expect(rows[1].errorMessage == message.shortened(to: 200))
    let whole = try #require(try store.detail(of: rows[1].id)?.operation)
    #expect(whole.cause == cause)
    #expect(whole.errorMessage == message)
    // An export reads details.
    try store.view { view in
      try view.details(of: [whole.id]) { #expect($1.operation == whole) }
    }
  }

  @Test func `field types are known from mirror and queue`() throws {
    try store.accept(world.put("fig", type: "Fruit", ["weight": .double(1.5)]))

    #expect(try store.knownFieldTypes(of: "Fruit") == ["colour": "STRING", "number": "INT64", "weight": "DOUBLE"])
  }

  @Test func `the schema that a store needs is known from mirror and queue`() throws {
    try store.accept(world.put("fig", type: "Fruit", ["number": .string("two"), "weight": .double(1.5)]))

    let usage = try store.schemaUsage()
    let deployed = try CKSchema(
      parsing: "DEFINE SCHEMA RECORD TYPE Fruit (colour STRING, number INT64); RECORD TYPE Root (colour STRING);"
    )
    let problems = deployed.problems(of: usage)

    #expect(usage.types["Fruit"]?.count == CKSchema.Usage.Count(records: 2, changes: 1))
    #expect(usage.types["Fruit"]?.fields["colour"]?.map(\.value.records) == [2])
    #expect(problems.map(\.kind) == [.missingType, .otherType, .missingField])
    #expect(problems.map(\.count.changes) == [0, 1, 1])
    #expect(try problems.map { try store.saves(with: $0, limit: 9).count } == [0, 1, 1])
    let line = "    RECORD TYPE Fruit ( // add or change these fields\n        weight DOUBLE\n    );\n"
    let known = CKSchema(types: ["Fruit": CKSchema.RecordType()])
    #expect(known.additions(for: usage.only("Fruit", field: "weight")) == line)
    #expect(CKSchema().additions(for: try store.schemaUsage(of: "Root"))?.contains("colour STRING") == true)
    #expect(CKSchema().additions(for: try store.schemaUsage(of: "None")) == nil)
  }

  @Test func `field types are those of the newest records, and of older ones for fields that these lack`() throws {
    func fill(_ zone: String, _ numbers: ClosedRange<Int>, _ field: String) throws {
      let fields = #"{"\#(field)": {"type": "INT64", "value": 1}}"#
      try store.execute(
        """
        WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
        INSERT INTO records(zone, owner, name, type, changeTag, fields) SELECT ?, '', 'r' || n, 'Nut', '1', ? FROM numbers
        """,
        [numbers.lowerBound, numbers.upperBound, zone, fields]
      )
    }
    try fill("cktop", 1...100, "oldest")
    try fill("cktop", 101...1600, "older")
    try fill("cktop", 1601...2100, "newest")

    #expect(try store.knownFieldTypes(of: "Nut", wanted: ["newest"]).keys.sorted() == ["newest"])
    #expect(try store.knownFieldTypes(of: "Nut", wanted: ["older"]).keys.sorted() == ["newest", "older"])
    #expect(try store.knownFieldTypes(of: "Nut").keys.sorted() == ["newest", "older"])
    // A zone with few records leaves its share to the other.
    try fill("other", 1...10, "few")
    #expect(try store.knownFieldTypes(of: "Nut", wanted: ["few"]).keys.sorted() == ["few", "newest"])
    #expect(try store.knownFieldTypes(of: "Nut", wanted: ["oldest"]).keys.sorted() == ["few", "newest", "older"])
  }

  @Test func `an operation that has ended is still known by its identifier`() throws {
    let ended = try #require(try store.history(limit: 1).first)

    let detail = try #require(try store.detail(of: ended.id))
    #expect(detail.operation == nil)
    #expect(detail.history?.ending == .acknowledged)
    #expect(try store.detail(of: 999) == nil)
  }

  @Test func `attempts are listed newest first with the raw answer`() async throws {
    try store.accept(world.put("fig", type: "Fruit", [:]))
    device.transport.interfere { operation, _, _ in
      operation == "records/modify"
        ? .answer(
          status: 200,
          #"{"records":[{"recordName":"fig","serverErrorCode":"INTERNAL_ERROR","reason":"oops"}]}"#
        )
        : .pass
    }
    try await device.sync()
    world.clock.advance(60)
    try await device.sync()

    let id = try #require(try store.operations().rows.first).id
    let detail = try #require(try store.detail(of: id))
    #expect(detail.attempts.map(\.number) == [2, 1])
    #expect(detail.attempts.map(\.code) == ["INTERNAL_ERROR", "INTERNAL_ERROR"])
    #expect(detail.attempts.first?.message == "oops")
    #expect(detail.operation?.attempts == 2)
  }

  @Test func `zones are listed with their records and token`() throws {
    let zones = try store.zones()

    #expect(zones.map(\.key.zone) == ["cktop", "other"])
    #expect(zones.map(\.records) == [3, 1])
    #expect(zones.allSatisfy { $0.state == "ready" && $0.tokenAt != nil && $0.lastFetchAt != nil })
  }
}
