import CloudKit
import CloudKitEmulatorTransport
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// Queries of the local copy, beside the server's answers to the same queries.
@Suite(.serialized) struct StoredQueryTests {
  /// A seed has 50 queries.
  private static let seeds = ProcessInfo.processInfo.environment["SEEDS"].flatMap { UInt64($0) } ?? 4

  private static func database(_ world: World) -> CKDatabase {
    CKContainer(
      identifier: World.container,
      credential: .webAuth(apiToken: "token", webAuthToken: world.user),
      transport: EmulatorTransport(world.emulator, now: { [clock = world.clock] in clock.date }, sleep: { _ in })
    ).privateCloudDatabase
  }

  /// The records that the server finds, in its order; nil if it refuses the query.
  private func onServer(_ query: RandomQuery, _ database: CKDatabase) async throws -> [RecordKey]? {
    do {
      var page = try await database.records(matching: query.query, inZoneWith: query.zone?.zoneID)
      var keys = page.matchResults.map { RecordKey($0.0) }
      while let cursor = page.queryCursor {
        page = try await database.records(continuingMatchFrom: cursor)
        keys += page.matchResults.map { RecordKey($0.0) }
      }
      return keys
    } catch is CKError {
      return nil
    }
  }

  /// The records that the store finds, as one list, in pages, and as a number; nil if it refuses the query.
  private func here(_ query: RandomQuery, _ store: SyncStore) throws -> [RecordKey]? {
    do {
      let stored = try StoredQuery(query.query, in: query.zone)
      let keys = try store.records(matching: stored) { $0.record.key }
      var (paged, cursor) = ([RecordKey](), StoredQueryCursor?.none)
      repeat {
        let (rows, next) = try store.page(of: stored, after: cursor, limit: 7)
        paged += rows.map(\.record.key)
        cursor = next
      } while cursor != nil
      #expect(paged == keys, "\(query)")
      #expect(try store.count(stored) == keys.count, "\(query)")
      var first = stored
      first.limit = 5
      #expect(try store.records(matching: first) { $0.record.key } == Array(keys.prefix(5)), "\(query)")
      return keys
    } catch let error as CKError where error.code == .invalidArguments {
      return nil
    }
  }

  @Test(arguments: 0..<seeds)
  func `a query finds here what the server finds, and with unsent changes what it finds once they are sent`(
    seed: UInt64
  ) async throws {
    var random = SplitMix64(seed: seed)
    let world = try World()
    let device = try world.device("phone")
    let database = Self.database(world)
    _ = try device.store.enqueue(RandomQuery.records(world, &random))
    try await device.sync()
    var (answered, found) = (0, 0)
    func compare(_ query: RandomQuery, _ keys: [RecordKey]?) async throws {
      guard let expected = try await onServer(query, database) else { return }
      answered += 1
      found += expected.isEmpty ? 0 : 1
      #expect(keys == expected, "seed \(seed): \(query)")
    }

    for _ in 0..<25 {
      let query = RandomQuery(hasTimes: true, &random)
      try await compare(query, here(query, device.store))
    }
    world.clock.advance(60)
    _ = try device.store.enqueue(RandomQuery.edits(world, &random))
    let queries = (0..<25).map { _ in RandomQuery(hasTimes: false, &random) }
    let before = try queries.map { try here($0, device.store) }
    try await device.sync()
    #expect(try device.store.operations().total == 0)
    for (query, keys) in zip(queries, before) { try await compare(query, keys) }
    #expect(answered > 25 && found > 10, "the queries should be answered, and find something now and then")
  }

  private func names(_ store: SyncStore, _ type: String? = "Note", in zone: ZoneKey? = nil) throws -> [String] {
    try store.records(matching: StoredQuery(type: type, in: zone)) { $0.record.key.name }
  }

  @Test func `a queued delete hides its record, and a queued zone delete all of its zone`() async throws {
    let world = try World()
    let device = try world.device("phone")
    let text: [String: FieldValue] = ["s": .string("x")]
    let notes = ["a", "b"].map { world.put($0, zone: "one", text) } + [world.put("c", zone: "two", text)]
    _ = try device.store.enqueue(notes + [world.put("other", zone: "one", type: "Task", text)])
    try await device.sync()

    _ = try device.store.enqueue([world.delete("a", zone: "one"), world.put("d", zone: "one", text)])
    #expect(try names(device.store) == ["b", "c", "d"])
    #expect(try names(device.store, nil, in: ZoneKey(zone: "one")) == ["b", "d", "other"])

    _ = try device.store.enqueueZoneDeletion(ZoneKey(zone: "one"))
    #expect(try names(device.store) == ["c"])
    var mirror = StoredQuery(type: "Note", in: nil)
    mirror.isMirrorOnly = true
    #expect(try device.store.records(matching: mirror) { $0.record.key.name } == ["a", "b", "c"])

    // A save behind the delete is of the next zone's record, which has nothing of the old one.
    _ = try device.store.enqueue([world.put("b", zone: "one", ["n": .int64(1)])])
    #expect(try names(device.store) == ["b", "c"])
    let having = CKQuery(recordType: "Note", predicate: NSPredicate(format: "s == 'x'"))
    #expect(try device.store.records(matching: StoredQuery(having)) { $0.record.key.name } == ["c"])
  }

  @Test func `the records of a zone that is being emptied are not found`() async throws {
    let world = try World()
    let device = try world.device("phone")
    _ = try device.store.enqueue([
      world.put("a", zone: "one", ["n": .int64(1)]), world.put("b", zone: "two", ["n": .int64(1)]),
    ])
    try await device.sync()
    #expect(try names(device.store) == ["a", "b"])

    // Stored by the transaction that decides, and carried out by others.
    _ = try device.store.transaction { ledger in
      var chore = StoredChore(
        chore: .empty(ZoneKey(zone: "one"), isDeletedHere: false),
        place: Chore.Place()
      )
      try chore.insert(ledger.database)
    }
    #expect(try names(device.store) == ["b"])
    #expect(try names(device.store, in: ZoneKey(zone: "one")) == [])
  }

  @Test func `a record whose change failed is found with the change`() async throws {
    let world = try World()
    let device = try world.device("phone")
    _ = try device.store.enqueue([world.put("a", ["s": .string("old")])])
    try await device.sync()
    _ = try device.store.enqueue([world.put("a", ["s": .string("new")])])
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "BAD_REQUEST", "no") : .pass
    }
    try await device.sync()
    #expect(try device.store.operations().rows.map(\.state) == [.failed])

    for (text, count) in [("old", 0), ("new", 1)] {
      let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "s == %@", argumentArray: [text]))
      #expect(try device.store.count(StoredQuery(query)) == count)
    }
  }

  @Test func `a query that no server answers is refused with the reason`() throws {
    let world = try World()
    let store = try world.open("store")
    let values: [String: FieldValue] = [
      "secret": .encrypted(.string("x")), "tags": .list(.string, [.string("a")]), "s": .string("x"),
    ]
    _ = try store.enqueue([world.put("a", values)])
    func count(_ format: String, sortedBy key: String? = nil) throws -> Int {
      let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argumentArray: []))
      query.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
      return try store.count(StoredQuery(query))
    }

    #expect(throws: CKError.self) { try count("secret == 'x'") }
    #expect(throws: CKError.self) { try count("s == 'x' OR secret BEGINSWITH 'x'") }
    #expect(throws: CKError.self) { try count("TRUEPREDICATE", sortedBy: "tags") }
    #expect(throws: CKError.self) { try count("TRUEPREDICATE", sortedBy: "secret") }
    #expect(throws: CKError.self) {
      try StoredQuery(CKQuery(recordType: "Note", predicate: NSPredicate(block: { _, _ in true })))
    }
    // What the server cannot do, but would not do differently.
    #expect(try count("s LIKE 'x*' OR s ENDSWITH 'y'", sortedBy: "s") == 1)
    #expect(try count("unknown == 1") == 0)
  }

  /// A store with more records than are read at once. Each tenth has no number and no date.
  private func largeStore(_ world: World) throws -> SyncStore {
    let store = try world.open("store")
    try store.write { ledger in
      try ledger.put(
        (0..<3000).map { number in
          let value = number % 10 == 0 ? nil : Int64(number * 37 % 1000)
          let record = MirrorRecord(
            key: world.key(Self.name(number)),
            type: "Note",
            changeTag: "t",
            fields: value.map { ["n": .int64($0), "rare": .int64(number % 700 == 699 ? 1 : 0)] } ?? [:],
            modifiedAt: value
          )
          return (record, 0)
        }
      )
    }
    return store
  }

  private static func name(_ number: Int) -> String { "r" + "\(10_000 + number)".dropFirst() }

  private func allPages(_ query: StoredQuery, _ store: SyncStore, limit: Int) throws -> [[String]] {
    var (pages, cursor) = ([[String]](), StoredQueryCursor?.none)
    repeat {
      let (rows, next) = try store.page(of: query, after: cursor, limit: limit)
      pages.append(rows.map(\.record.key.name))
      cursor = next
    } while cursor != nil
    return pages
  }

  @Test(arguments: ["n", "modificationDate"], [true, false])
  func `the first of many records are those of the whole order`(key: String, ascending: Bool) throws {
    let world = try World()
    let store = try largeStore(world)
    let numbers = (0..<3000).sorted { left, right in
      func place(_ number: Int) -> Int { number % 10 == 0 ? -1 : number * 37 % 1000 }
      return (place(left), left) < (place(right), right)
    }
    let expected = (ascending ? numbers : numbers.reversed()).map(Self.name)
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    query.sortDescriptors = [NSSortDescriptor(key: key, ascending: ascending)]

    #expect(try allPages(StoredQuery(query), store, limit: 700).flatMap(\.self) == expected)
    #expect(
      try store.records(matching: StoredQuery(query, limit: 5)) { $0.record.key.name } == Array(expected.prefix(5))
    )
  }

  @Test(arguments: [["modificationDate"], ["n"], ["rare", "n"]], [true, false])
  func `the first few in an order cost no more reads than a few`(keys: [String], ascending: Bool) throws {
    let world = try World()
    let store = try largeStore(world)
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    query.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: ascending) }
    let all = try store.records(matching: StoredQuery(query)) { $0.record.key.name }
    let reads = Mutex(0)
    try store.read { ledger in
      ledger.database.trace { if $0.description.contains("r.rowid = ") { reads.withLock { $0 += 1 } } }
    }

    let first = try store.records(matching: StoredQuery(query, limit: 20)) { $0.record.key.name }

    try store.read { $0.database.trace() }
    #expect(first == Array(all.prefix(20)))
    // Those that are found, the next, which ends the search, and the found once more.
    #expect(reads.withLock(\.self) == 41)
  }

  @Test func `rare records are found behind the names that are looked through first`() throws {
    let world = try World()
    let store = try largeStore(world)
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "rare == 1", argumentArray: []))

    let pages = try allPages(StoredQuery(query), store, limit: 2)
    #expect(pages == [[699, 1399].map(Self.name), [2099, 2799].map(Self.name)])
    #expect(try store.count(StoredQuery(query)) == 4)
    #expect(try names(store).count == 3000)
  }

  @Test(arguments: [10, 300, 20_000]) func `a condition may name any number of values`(_ count: Int) throws {
    let world = try World()
    let store = try world.open("store")
    _ = try store.enqueue([world.put("a", ["s": .string("v1")]), world.put("b", ["s": .string("w")])])
    let values = (0..<count).map { "v\($0)" }

    for format in ["s IN %@", "s != 'x' AND s IN %@"] {
      let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argumentArray: [values]))
      #expect(try store.records(matching: StoredQuery(query)) { $0.record.key.name } == ["a"])
    }
    let parts = values.map { NSPredicate(format: "s BEGINSWITH %@", argumentArray: [$0]) }
    let either = CKQuery(recordType: "Note", predicate: NSCompoundPredicate(orPredicateWithSubpredicates: parts))
    #expect(try store.count(StoredQuery(either)) == 1)
  }

  @Test func `a slice has its records as they are when it is read`() async throws {
    let world = try World()
    let device = try world.device("phone")
    let store = device.store
    _ = try store.enqueue((0..<203).map { world.put(Self.name($0), ["s": .string("old")]) })
    try await device.sync()
    _ = try store.enqueue([world.put(Self.name(201), ["s": .string("sent")])])
    let (first, rest) = try store.first(of: StoredQuery(type: "Note", in: nil))
    #expect(first.map(\.record.key.name) == (0..<200).map(Self.name))

    try await device.sync()
    _ = try store.enqueue([world.put(Self.name(200), ["s": .string("queued")]), world.delete(Self.name(202))])

    let next = try store.next(of: rest)
    #expect(next.rows.map(\.record.key.name) == [200, 201].map(Self.name))
    #expect(next.rows.map { $0.record.fields["s"] } == [.string("queued"), .string("sent")])
    #expect(next.rest.isEmpty)
  }

  @Test func `pages miss no record while others are saved and deleted`() throws {
    let world = try World()
    let store = try world.open("store")
    _ = try store.enqueue((0..<9).map { world.put("r\($0)", ["n": .int64(Int64($0 % 3))]) })
    let sorted = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    sorted.sortDescriptors = [NSSortDescriptor(key: "n", ascending: false)]
    let query = try StoredQuery(sorted)

    let first = try store.page(of: query, limit: 4)
    _ = try store.enqueue([world.delete("r8"), world.put("r6", ["n": .int64(9)]), world.put("s", ["n": .int64(0)])])
    let second = try store.page(of: query, after: first.next, limit: 9)

    #expect(first.rows.map(\.record.key.name) == ["r8", "r5", "r2", "r7"])
    #expect(second.rows.map(\.record.key.name) == ["r4", "r1", "s", "r3", "r0"] && second.next == nil)
    #expect(throws: CKError.self) { try store.page(of: query.unsorted, after: first.next, limit: 4) }
  }
}

/// A query and records to ask it of, made from a seed.
private struct RandomQuery: CustomStringConvertible {
  let query: CKQuery
  let zone: ZoneKey?

  var description: String { "\(query.debugDescription) in \(zone?.zone ?? "all zones")" }

  private static let zones = ["a", "b"]
  private static let texts = [
    "", "a", "ab", "A", "Ab c", "é", "e\u{301}", "z", "a\"b", "\\", "[x]", "日本 語", "red fox", "Fox, red", "\u{0}b",
    "a\u{0}b",
  ]
  private static let integers: [Int64] = [.min, -1, 0, 1, 2, 1 << 53 + 1, .max]
  private static let doubles = [-1.5, 0, 0.1, 0.30000000000000004, 0.3, 1, 1e300, 2.5]

  private static func one<Value>(_ values: [Value], _ random: inout SplitMix64) -> Value {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  // MARK: - Records

  private static func fields(whole: Bool, _ random: inout SplitMix64) -> [String: FieldValue] {
    var fields: [String: FieldValue] = [:]
    func set(_ name: String, _ value: FieldValue) { if whole || random.next() % 4 > 0 { fields[name] = value } }
    set("s", .string(one(texts, &random)))
    set("n", .int64(one(integers, &random)))
    set("d", .double(one(doubles, &random)))
    set("t", .timestamp(Int64.random(in: -3...3, using: &random)))
    set("b", .bytes(Data([UInt8.random(in: 0...2, using: &random)])))
    set("r", .reference(WireReference(recordName: "r\(Int.random(in: 0...2, using: &random))")))
    set("l", .location(WireLocation(latitude: .random(in: -1...1, using: &random), longitude: 0.5)))
    let tags = (0..<Int.random(in: 1...3, using: &random)).map { _ in FieldValue.string(one(texts, &random)) }
    set("tags", .list(.string, tags))
    return fields
  }

  /// Records of two types in two zones, some of them with the same name.
  static func records(_ world: World, _ random: inout SplitMix64) -> [Change] {
    (0..<90).map { number in
      let type = number % 9 == 8 ? "Other" : "Note"
      let fields = fields(whole: number % 9 == 0 || number == 8, &random)
      return world.put("n\(number / 2)", zone: zones[number % 2], type: type, fields)
    }
  }

  /// Changes of a third of these records, and new ones.
  static func edits(_ world: World, _ random: inout SplitMix64) -> [Change] {
    let changed = stride(from: 0, to: 90, by: 3).map { number -> Change in
      let key = world.key("n\(number / 2)", zone: zones[number % 2])
      if number % 4 == 0 { return Change(key, .delete) }
      let type = number % 9 == 8 ? "Other" : "Note"
      let cleared: Set<String> = random.next() % 2 == 0 ? ["s", "n"] : ["d", "tags"]
      return Change(key, .save(type: type, FieldChanges(values: fields(whole: false, &random), cleared: cleared)))
    }
    return changed + (0..<20).map { world.put("new\($0)", zone: zones[$0 % 2], fields(whole: false, &random)) }
  }

  // MARK: - Queries

  /// - Parameter hasTimes: whether the query may name what the server sets.
  init(hasTimes: Bool, _ random: inout SplitMix64) {
    zone = random.next() % 2 == 0 ? nil : ZoneKey(zone: Self.one(Self.zones, &random))
    let parts = (0..<Int.random(in: 0...2, using: &random)).map { _ in Self.condition(hasTimes, &random) }
    let type = random.next() % 5 == 0 ? "Other" : "Note"
    query = CKQuery(recordType: type, predicate: NSCompoundPredicate(andPredicateWithSubpredicates: parts))
    let keys = ["s", "n", "d", "t", "r"] + (hasTimes ? ["creationDate", "modificationDate"] : [])
    let sorting = (0..<Int.random(in: 0...2, using: &random)).map { _ in
      random.next() % 6 == 0
        ? CKLocationSortDescriptor(key: "l", relativeLocation: CLLocation(latitude: 0.25, longitude: 0))
        : NSSortDescriptor(key: Self.one(keys, &random), ascending: random.next() % 2 == 0)
    }
    query.sortDescriptors = sorting.isEmpty ? nil : sorting
  }

  private static func condition(_ hasTimes: Bool, _ random: inout SplitMix64) -> NSPredicate {
    let order = one(["==", "!=", "<", "<=", ">", ">="], &random)
    func text() -> String { one(texts, &random) }
    func integer() -> Int64 { one(integers, &random) }
    let (format, arguments): (String, [Any])
    switch Int.random(in: 0..<(hasTimes ? 17 : 16), using: &random) {
    case 0, 1: (format, arguments) = ("s \(order) %@", [text()])
    case 2: (format, arguments) = ("n \(order) %@", [integer()])
    case 3: (format, arguments) = ("d \(order) %f", [one(doubles, &random)])
    case 4: (format, arguments) = ("t \(order) %@", [Date(timeIntervalSince1970: 0.001)])
    case 5: (format, arguments) = ("b == %@", [Data([1])])
    case 6: (format, arguments) = ("r == %@", [CKRecord.ID(recordName: "r1")])
    case 7: (format, arguments) = ("s IN %@", [[text(), text(), text()]])
    case 8: (format, arguments) = ("n == %@ OR n == %@", [integer(), integer()])
    case 9: (format, arguments) = ("s BEGINSWITH %@", [text()])
    case 10: (format, arguments) = ("tags CONTAINS %@", [text()])
    case 11: (format, arguments) = ("ANY tags IN %@", [[text(), text()]])
    case 12: (format, arguments) = ("NOT (tags CONTAINS %@)", [text()])
    case 13: (format, arguments) = ("self CONTAINS %@", ["fox"])
    case 14:
      let place = CLLocation(latitude: 0, longitude: 0)
      (format, arguments) = ("distanceToLocation:fromLocation:(l, %@) < %f", [place, 90_000.0])
    case 15: (format, arguments) = ("n BETWEEN %@", [[Int64(-1), Int64(1)]])
    default: (format, arguments) = ("creationDate \(order) %@", [Date(timeIntervalSince1970: 1_700_000_000)])
    }
    return NSPredicate(format: format, argumentArray: arguments)
  }
}
