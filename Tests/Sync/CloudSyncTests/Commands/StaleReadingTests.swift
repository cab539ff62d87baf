import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// Edits made on what their caller read, which is not what the store has by then.
@Suite(.serialized) struct StaleReadingTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice
  private let readTag: String

  /// The caller read record `a` with `x` and `y` 0; since then somebody else made `x` 1, and the store knows it.
  private init(_ policy: ConflictPolicy) async throws {
    world = try World()
    mine = try world.device("mine", policy: policy)
    theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await mine.sync()
    readTag = try #require(try mine.store.records(named: "a").first?.changeTag)
    try await theirs.sync()
    world.clock.advance(10)
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try await theirs.sync()
    try await mine.sync()
    world.clock.advance(10)
  }

  init() async throws { try await self.init(.server) }

  private static let read: [String: FieldValue] = ["x": .int64(0), "y": .int64(0)]

  private func edit(_ fields: [String: FieldValue], _ base: [String: FieldValue]? = read, tag: String?) -> Change {
    Change(world.key("a"), .save(type: "Note", FieldChanges(values: fields)), base: base, baseTag: tag)
  }

  @Test(arguments: ConflictPolicy.allCases, [true, false])
  func `an edit of what others have changed since it was read is a conflict`(
    _ policy: ConflictPolicy,
    _ hasTag: Bool
  ) async throws {
    let test = try await StaleReadingTests(policy)
    let id = try test.mine.store.accept(test.edit(["x": .int64(2)], tag: hasTag ? test.readTag : nil))
    #expect(try test.mine.store.operation(id).base == ["x": .int64(0)])

    try await test.mine.sync()

    #expect(test.world.onServer("a")?["x"] == .int64(policy == .client || policy == .newest ? 2 : 1))
    #expect(try test.mine.store.queue() == (policy == .manual ? ["save a conflict"] : []))
  }

  @Test(arguments: [true, false])
  func `an edit of what nobody has changed since goes as it is`(_ hasTag: Bool) async throws {
    try mine.store.accept(edit(["y": .int64(2)], tag: hasTag ? readTag : nil))

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(2)])
    #expect(mine.transport.count("records/lookup") == 0)
  }

  @Test func `the store's own reading is no stranger's`() async throws {
    let tag = try #require(try mine.store.records(named: "a").first?.changeTag)
    // A caller that asked for some of the fields only.
    let id = try mine.store.accept(edit(["x": .int64(2)], [:], tag: tag))

    #expect(try mine.store.operation(id).base == ["x": .int64(1)])
    try await mine.sync()
    #expect(world.onServer("a")?["x"] == .int64(2))
    #expect(mine.transport.count("records/lookup") == 0)
  }

  @Test func `an edit laid over a queued one is compared by its own reading`() async throws {
    let id = try mine.store.accept(world.put("a", ["y": .int64(5)]))
    try mine.store.accept(edit(["x": .int64(2), "y": .int64(6)], tag: nil))
    #expect(try mine.store.operation(id).needsVerification)
    #expect(try mine.store.operation(id).cause == .basedOnOldVersion)

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(6)])
  }

  @Test func `an edit on an old reading, made while another is on its way, is compared all the same`() async throws {
    let store = mine.store
    let stale = edit(["x": .int64(2)], tag: nil)
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify", number == 2 { _ = try? store.accept(stale) }
      return .pass
    }
    try mine.store.accept(world.put("a", ["y": .int64(5)]))

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(5)])
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.endings().last == "save a merged")
  }

  @Test(arguments: [true, false])
  func `a record that the store does not know is edited as it was read`(_ isCurrent: Bool) async throws {
    let fresh = try world.device("fresh")
    let tag = isCurrent ? try #require(try mine.store.records(named: "a").first?.changeTag) : readTag
    let base = isCurrent ? ["x": .int64(1)] : Self.read
    let id = try fresh.store.accept(edit(["x": .int64(2)], base, tag: tag))
    #expect(try fresh.store.operation(id).baseTag == tag)
    #expect(fresh.transport.total == 0)

    try await fresh.sync()

    #expect(world.onServer("a")?["x"] == .int64(isCurrent ? 2 : 1))
    #expect(try fresh.store.queue() == [])
  }

  @Test(arguments: [true, false])
  func `a deletion of what was read deletes nothing newer`(_ isCurrent: Bool) async throws {
    let tag = isCurrent ? try #require(try mine.store.records(named: "a").first?.changeTag) : readTag
    try mine.store.accept(Change(world.key("a"), .delete, base: isCurrent ? nil : Self.read, baseTag: tag))

    try await mine.sync()

    #expect((world.onServer("a") == nil) == isCurrent)
    #expect(try mine.store.queue() == [])
  }

  // MARK: - Clears of what is not known

  @Test(arguments: [(ConflictPolicy.server, false), (.client, true), (.newest, true)])
  func `a clear of a field of a record that nobody here knows is meant`(_ policy: ConflictPolicy, _ clears: Bool)
    async throws
  {
    let test = try await StaleReadingTests(policy)
    let fresh = try test.world.device("fresh", policy: policy)
    test.world.clock.advance(10)
    let change = Change(
      test.world.key("a"),
      .save(type: "Note", FieldChanges(values: ["z": .int64(1)], cleared: ["x"]))
    )
    try fresh.store.accept(change)
    #expect(try fresh.store.enqueue([change]) == [.unchanged])

    try await fresh.sync()

    let expected: [String: EmulatorValue] = ["y": .int64(0), "z": .int64(1)]
    let x: [String: EmulatorValue] = clears ? [:] : ["x": .int64(1)]
    #expect(test.world.onServer("a") == expected.merging(x) { $1 })
    #expect(try fresh.store.queue() == [])
  }

  @Test func `a clear of a field that a new record never had costs nothing`() async throws {
    try mine.store.accept(
      Change(world.key("new"), .save(type: "Note", FieldChanges(values: ["z": .int64(1)], cleared: ["x"])))
    )

    try await mine.sync()

    #expect(world.onServer("new") == ["z": .int64(1)])
    #expect(try mine.store.endings().last == "save new acknowledged")
  }
}
