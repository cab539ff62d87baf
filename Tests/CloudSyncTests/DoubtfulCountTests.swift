import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Counters between an answer that was lost, a person who decides, and undoing it.
@Suite(.serialized) struct DoubtfulCountTests {
  private let world: World

  init() throws { world = try World() }

  private func counted(_ fields: [String: FieldValue]) -> Change {
    let rules: [String: MergeRule] = ["n": .counter, "tags": .elements]
    return Change(world.key("a"), .save(type: "Note", FieldChanges(values: fields, rules: rules)))
  }

  private func tags(_ text: String) -> FieldValue { .list(.string, text.map { .string(String($0)) }) }

  /// A device that knows record `a` with `n` 10.
  private func known(_ policy: ConflictPolicy = .server) async throws -> TestDevice {
    let device = try world.device("mine", policy: policy)
    try device.store.accept(world.put("a", ["x": .int64(0), "n": .int64(10)]))
    try await device.sync()
    world.clock.advance(10)
    return device
  }

  /// A device that knows `n` 10, has counted 2 in a request whose answer was lost, and 1 since; others have made it 15.
  ///
  /// - Parameter last: what they make it while what was decided is on its way.
  private func doubtful(_ resolver: ConflictResolver? = nil, last: Int64? = nil) async throws -> (
    device: TestDevice, id: Int64
  ) {
    let device = try world.device("mine", conflictResolver: resolver)
    try device.store.accept(counted(["n": .int64(10), "tags": tags("ab")]))
    try await device.sync()
    let (world, store, more) = (world, device.store, counted(["n": .int64(13)]))
    device.transport.interfere { operation, number, _ in
      if operation == "records/modify", number == 3, let last { try? world.saveOnServer("a", ["n": .int64(last)]) }
      guard operation == "records/modify", number == 2 else { return .pass }
      try? world.saveOnServer("a", ["n": .int64(15)])
      _ = try? store.accept(more)
      return .lost
    }
    let id = try store.accept(counted(["n": .int64(12)]))
    try await device.sync()
    return (device, id)
  }

  @Test func `what the server has taken is not added again where a stale edit is compared afterwards`() async throws {
    let device = try world.device("mine")
    try device.store.accept(world.put("a", ["n": .int64(10), "x": .int64(1)]))
    try await device.sync()
    let store = device.store
    let stale = Change(
      world.key("a"),
      .save(type: "Note", FieldChanges(values: ["x": .int64(2)])),
      base: ["x": .int64(0)]
    )
    device.transport.interfere { operation, number, _ in
      if operation == "records/modify", number == 2 { _ = try? store.accept(stale) }
      return .pass
    }
    try store.accept(counted(["n": .int64(12)]))

    try await device.sync()

    #expect(world.onServer("a") == ["n": .int64(12), "x": .int64(1)])
    #expect(try store.dropped().map(\.changes.names) == [["x"]])
    #expect(try store.queue() == [])
  }

  @Test func `an app that gives the server's number gives up what it counted, which is listed and can be added again`()
    async throws
  {
    let (device, id) = try await doubtful { .merged($0.serverRecord!) }
    try await device.sync()
    #expect(world.onServer("a")?["n"] == .int64(15))

    _ = try device.store.undo(id, actor: "test")
    try await device.sync()

    #expect(world.onServer("a")?["n"] == .int64(18))
  }

  @Test func `an app that settles a count leaves it a counter`() async throws {
    let (device, _) = try await doubtful({ .merged($0.clientRecord!) }, last: 20)

    try await device.sync()

    #expect(try device.store.queue() == [])
    #expect(world.onServer("a")?["n"] == .int64(20 + 3))
  }

  @Test func `a discarded count in doubt is a conflict again, and is added to what others have counted`() async throws {
    let (device, id) = try await doubtful()
    #expect(try device.store.queue() == ["save a conflict"])
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "test")

    _ = try device.store.undo(id, actor: "test")
    #expect(try device.store.conflict(id)?.cause == .conflict(.counters(["n"])))
    _ = try device.store.resolve(id, take: .local, actor: "test")
    try await device.sync()

    #expect(world.onServer("a")?["n"] == .int64(18))
  }

  /// What goes with a count, as it was before and as it is sent; others count to the same number and leave it alone.
  @Test(arguments: [
    ("ab", "abx", false, true), ("ab", "abx", true, true), ("ab", "a", false, true),
    // Another order tells nothing, so that the number decides.
    ("ab", "ba", false, false),
  ])
  func `a count is taken for ours where what went with it is there`(
    _ before: String,
    _ sent: String,
    _ isEncrypted: Bool,
    _ asks: Bool
  ) async throws {
    func value(_ text: String) -> FieldValue { isEncrypted ? .encrypted(tags(text)) : tags(text) }
    let device = try world.device("mine")
    try device.store.accept(counted(["n": .int64(10), "tags": value(before)]))
    try await device.sync()
    let world = world
    device.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 2 else { return .pass }
      try? world.saveOnServer("a", ["n": .int64(12)])
      return .lost
    }
    try device.store.accept(counted(["n": .int64(12), "tags": value(sent)]))

    try await device.sync()

    #expect(try device.store.queue() == (asks ? ["save a conflict"] : []))
  }

  @Test func `a count in a record made anew is all of it, also where others make it meanwhile`() async throws {
    let device = try world.device("mine")
    let world = world
    device.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      try? world.saveOnServer("a", ["x": .int64(1)])
      return .lost
    }
    var change = counted(["n": .int64(12)])
    change.base = ["n": .int64(10)]
    try device.store.accept(change)

    try await device.sync()

    #expect(world.onServer("a") == ["n": .int64(12), "x": .int64(1)])
    #expect(try device.store.queue() == [])
  }

  @Test func `an edit settles a conflict about another field of a record with counters`() async throws {
    let device = try world.device("mine", policy: .manual)
    try device.store.accept(world.put("a", ["n": .int64(1), "x": .int64(0)]))
    try await device.sync()
    try world.saveOnServer("a", ["n": .int64(2), "x": .int64(1)])
    try device.store.accept(counted(["n": .int64(3), "x": .int64(2)]))
    try await device.sync()
    #expect(try device.store.conflicts().first?.fields.map(\.name) == ["x"])

    try device.store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()

    #expect(world.onServer("a") == ["n": .int64(4), "x": .int64(1)])
    #expect(try device.store.queue() == [])
  }

  /// Counted 2 in a request whose answer was lost, and 1 since; somebody else has counted to what was sent, or further.
  @Test(arguments: [ConflictSide.local, .server], [12, 15] as [Int64])
  func `a person says whether a lost count has counted, and what was counted since is added`(
    _ side: ConflictSide,
    _ number: Int64
  ) async throws {
    let (world, mine) = (world, try await known())
    let store = mine.store
    let more = world.put("a", ["n": .int64(13), "other": .int64(1)])
    mine.transport.interfere { operation, count, _ in
      guard operation == "records/modify", count == 2 else { return .pass }
      try? world.saveOnServer("a", ["n": .int64(number)])
      _ = try? store.accept(more)
      return .lost
    }
    let counted = FieldChanges(values: ["n": .int64(12), "mine": .int64(1)], rules: ["n": .counter])
    let id = try store.accept(Change(world.key("a"), .save(type: "Note", counted)))
    try await mine.sync()

    #expect(try store.conflict(id)?.fields.map(\.name) == ["n"])
    _ = try store.resolve(id, take: side, actor: "test")
    try await mine.sync()

    let sum = FieldValue.int64(side == .local ? number + 3 : number + 1)
    #expect(try store.mirror("a")?["n"] == sum)
    #expect(try store.mirror("a")?["mine"] == .int64(1))
    #expect(try store.mirror("a")?["other"] == .int64(1))
    #expect(try store.dropped().map(\.dropsChange) == [false])
  }

  /// Counted 2 in a request that was refused; somebody, or a second copy of it, has counted to the same number.
  @Test(
    arguments: [
      ("SOMETHING_NEW", true, nil), ("SOMETHING_NEW", false, 14),
      // The server may have taken it before it failed.
      ("INTERNAL_ERROR", true, 12), ("INTERNAL_ERROR", false, nil),
      // The record was another before: none of it can have been taken.
      ("CONFLICT", true, 14), ("CONFLICT", false, 14),
    ] as [(String, Bool, Int64?)]
  )
  func `a refused count is added, and asked about where something of its request is there all the same`(
    _ code: String,
    _ isThere: Bool,
    _ sum: Int64?
  ) async throws {
    let (world, mine) = (world, try await known())
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 2 else { return .pass }
      try? world.saveOnServer("a", ["n": .int64(12), "mine": .int64(isThere ? 1 : 0)])
      return .refusing("a", code, "no")
    }
    let counted = FieldChanges(values: ["n": .int64(12), "mine": .int64(1)], rules: ["n": .counter])
    let id = try mine.store.accept(Change(world.key("a"), .save(type: "Note", counted)))
    for _ in 0..<3 {
      try await mine.sync()
      world.clock.advance(600)
    }

    #expect(try mine.store.queue() == (sum == nil ? ["save a conflict"] : []))
    #expect(world.onServer("a")?["n"] == .int64(sum ?? 12))
    guard sum == nil else { return }
    #expect(try mine.store.conflict(id)?.fields.map(\.name) == ["n"])
    _ = try mine.store.resolve(id, take: .local, actor: "test")
    try await mine.sync()
    #expect(world.onServer("a")?["n"] == .int64(14))
  }

  /// Counted 2 in a request whose answer was lost, and that was carried out or not; what others have written since leaves the
  /// number as it was before.
  @Test(
    arguments: [
      // Nobody has written since.
      ([:], [:], 12),
      // What went with it is as it was.
      (["mine": .int64(1)], ["x": .int64(1)], 12), (["tags": .list(.string, [.string("c")])], ["x": .int64(1)], 12),
      // Nothing went with it, or others have written that.
      ([:], ["x": .int64(1)], nil), (["mine": .int64(1)], ["mine": .int64(2)], nil),
      (["tags": .list(.string, [.string("c")])], ["tags": .list(.string, [.string("d")])], nil),
    ] as [([String: FieldValue], [String: EmulatorValue], Int64?)]
  )
  func `a count whose number is as before is sent again where all that went with it is as before, too`(
    _ sent: [String: FieldValue],
    _ theirs: [String: EmulatorValue],
    _ sum: Int64?
  ) async throws {
    let (world, mine) = (world, try await known())
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 2 else { return .pass }
      if !theirs.isEmpty { try? world.saveOnServer("a", theirs) }
      return .lost
    }
    let id = try mine.store.accept(counted(sent.merging(["n": .int64(12)]) { $1 }))
    for _ in 0..<2 {
      try await mine.sync()
      world.clock.advance(600)
    }

    #expect(try mine.store.queue() == (sum == nil ? ["save a conflict"] : []))
    #expect(world.onServer("a")?["n"] == .int64(sum ?? 10))
    guard sum == nil else { return }
    #expect(try mine.store.conflict(id)?.fields.map(\.name).contains("n") == true)
    _ = try mine.store.resolve(id, take: .server, actor: "test")
    try await mine.sync()
    #expect(world.onServer("a")?["n"] == .int64(10))
  }

  @Test func `a count that came through and that others took back is not counted again unasked`() async throws {
    let (world, mine) = (world, try await known(.client))
    mine.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 2 ? .answerLost : operation == "records/lookup" ? .offline : .pass
    }
    let counted = FieldChanges(values: ["n": .int64(12), "mine": .int64(1)], rules: ["n": .counter])
    let id = try mine.store.accept(Change(world.key("a"), .save(type: "Note", counted)))
    try await mine.sync()
    try world.saveOnServer("a", ["n": .int64(10)])
    mine.transport.interfere(nil)
    world.clock.advance(600)

    try await mine.sync()

    #expect(try mine.store.conflict(id)?.fields.map(\.name) == ["n"])
    _ = try mine.store.resolve(id, take: .server, actor: "test")
    #expect(try mine.store.queue() == [])
    #expect(world.onServer("a")?["n"] == .int64(10))
  }
}
