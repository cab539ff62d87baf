import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Comparing any number of records with the server's, a page and a slice at a time.
@Suite(.serialized) struct VerifyTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice
  private let zone: ZoneKey

  init() throws {
    world = try World { $0.pageLimit = 2 }
    mine = try world.device("mine")
    theirs = try world.device("theirs")
    zone = world.key("a").zoneKey
  }

  private func save(_ names: String...) async throws {
    _ = try theirs.store.enqueue(names.map { world.put($0, ["x": .int64(1)]) })
    try await theirs.sync()
    try await mine.sync()
  }

  /// Calls `body` once, while the second page from now on is requested.
  private func atSecondPage(_ body: @escaping @Sendable () async -> Void) {
    let page = mine.transport.count("changes/zone") + 2
    mine.transport.interfere { operation, number, _ in
      if operation == "changes/zone", number == page { await body() }
      return .pass
    }
  }

  @Test func `a record that is changed or deleted while its zone is fetched counts as it is at the end`() async throws {
    try await save("a", "b", "c", "d", "e")
    atSecondPage { [world, theirs] in
      _ = try? theirs.store.enqueue([world.put("a", ["x": .int64(2)]), world.delete("b")])
      _ = try? await theirs.sync()
    }

    let found = try await mine.engine.verify { [zone] in $0 == zone }

    #expect(try found.map { try $0.all(.different) } == [["a"]])
    #expect(try found.map { try $0.all(.onlyLocal) } == [["b"]])
    #expect(found.map(\.count) == [2] && found.map(\.recordCount) == [4])

    atSecondPage { [world, theirs] in
      _ = try? theirs.store.enqueue([world.put("c", ["x": .int64(2)]), world.delete("d")])
      _ = try? await theirs.sync()
    }
    let records = try await mine.engine.recordsOfServer(in: zone).slices(of: zone).joined()

    #expect(records.map(\.key.name) == ["a", "c", "e"])
    #expect(records.map { $0.record?.fields["x"] } == [.int64(2), .int64(2), .int64(1)])
  }

  @Test func `a page is compared before the next one is requested, so that only one is in memory`() async throws {
    try await save("a", "b", "c", "d")
    atSecondPage { [mine] in
      try? mine.store.execute("UPDATE records SET changeTag = 'old' WHERE name IN ('a', 'd')")
    }

    let found = try await mine.engine.verify { [zone] in $0 == zone }

    #expect(try found.map { try $0.all() } == [["d"]])
  }

  @Test func `what differs is looked up again in slices, by name`() async throws {
    let names = (0..<450).map { "r\($0)" }
    _ = try theirs.store.enqueue(names.map { world.put($0, [:]) })
    try await theirs.sync()

    let found = try await mine.engine.verify { [zone] in $0 == zone }

    func lookedUp() -> [Int] {
      mine.transport.bodies("records/lookup").map { $0.matches(of: /"recordName"/).count }
    }
    #expect(try found.map { try $0.all(.onlyServer) } == [names.sorted()])
    #expect(lookedUp() == [200, 200, 50])

    try await mine.sync()
    let before = lookedUp().count
    let left = try await mine.engine.verify(again: found)

    #expect(left.map(\.isEmpty) == [true] && left.map(\.recordCount) == [450])
    #expect(lookedUp().dropFirst(before) == [200, 200, 50])
  }

  @Test func `temporary records are read in slices by the bytes of their names, and the last of a key counts`() throws {
    let records = try TemporaryRecords()
    let names = (0..<450).map { "r\($0)" } + ["\u{e9}", "e\u{301}"]
    for name in names { try records.put(TemporaryRecords.Row(RecordKey(zone, name), record: .note("x", tag: "1"))) }
    try records.put(TemporaryRecords.Row(RecordKey(.two, "a")))
    try records.put(TemporaryRecords.Row(RecordKey(zone, "r7"), number: 7))
    #expect(try records.add(TemporaryRecords.Row(RecordKey(zone, "r7"), number: 8)) == 7)
    #expect(try records.add(TemporaryRecords.Row(RecordKey(zone, "r450"), number: 8)) == nil)
    try records.remove(RecordKey(zone, "r0"))

    let slices = try records.slices(of: zone)

    let keys = (names.dropFirst() + ["r450"]).map { RecordKey(zone, $0) }.sorted()
    #expect(slices.map(\.count) == [200, 200, 52])
    #expect(slices.joined().map(\.key) == keys)
    #expect(slices.joined().filter { $0.record == nil }.map(\.number) == [8, 7])
    #expect(slices.joined().compactMap(\.record).allSatisfy { $0 == .note("x", tag: "1") })
    #expect(try records.count(of: zone) == 452 && records.count(of: .two) == 1)
    try records.removeAll()
    #expect(try records.count(of: zone) == 0)
  }

  @Test func `a zone without a change feed is not compared while none of its types is known`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try mine.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(1)]))
    try await mine.sync()
    try await theirs.sync()

    let before = try await theirs.engine.verify()
    try await theirs.sync(["Note"])
    let after = try await theirs.engine.verify()

    #expect(before.map(\.isCompared) == [false])
    #expect(after.map(\.isCompared) == [true] && after.map(\.recordCount) == [1])
  }
}

extension TemporaryRecords {
  /// The rows of a zone, as they are read.
  func slices(of zone: ZoneKey) throws -> [[Row]] {
    var (slices, last): ([[Row]], String) = ([], "")
    while let rows = try next(of: zone, after: &last) { slices.append(rows) }
    return slices
  }
}

extension ZoneDifference {
  /// The names of all records that differ in one way, or in any.
  func all(_ kind: Kind? = nil) throws -> [String] {
    var (all, last): ([String], String) = ([], "")
    while let names = try names(kind, after: &last) { all += names }
    return all
  }
}
