import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Counters against a server: every count counts once.
@Suite(.serialized) struct CountTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice

  init() throws {
    world = try World()
    (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
  }

  private func count(to number: Int64, read: Int64? = nil, tag: String? = nil) -> Change {
    Change(
      world.key("n"),
      .save(type: "Note", FieldChanges(values: ["n": .int64(number)], rules: ["n": .counter])),
      base: read.map { ["n": .int64($0)] },
      baseTag: tag
    )
  }

  private func share() async throws {
    try mine.store.accept(world.put("n", ["n": .int64(10)]))
    try await mine.sync()
    try await theirs.sync()
  }

  @Test(arguments: [nil, #"{"serverErrorCode":"THROTTLED","reason":"later","retryAfter":1}"#])
  func `a count that was refused is added to what others counted meanwhile, be it the same`(refusal: String?)
    async throws
  {
    try await share()
    let end = refusal.map { Interference.answer(status: 429, $0) } ?? .pass
    mine.beOvertaken(by: theirs, [count(to: 11)], atModify: 2, then: end)
    try mine.store.accept(count(to: 11))
    try await mine.sync()
    world.clock.advance(60)
    try await mine.sync()

    #expect(world.onServer("n") == ["n": .int64(12)])
    #expect(try mine.store.queue() == [])
  }

  @Test func `a count made on one that is queued keeps what has been joined with that`() async throws {
    try await share()
    let tag = try #require(try mine.store.records(named: "n").first?.changeTag)
    let id = try mine.store.accept(count(to: 12))
    try theirs.store.accept(count(to: 15))
    try await theirs.sync()
    // It is read what others counted, and nothing can be sent.
    mine.transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await mine.sync()
    #expect(try mine.store.operation(id).changes["n"] == .int64(17))

    try mine.store.accept(count(to: 13, read: 12, tag: tag))
    mine.transport.interfere(nil)
    world.clock.advance(600)
    try await mine.sync()

    #expect(world.onServer("n") == ["n": .int64(18)])
  }

  @Test func `a count that was taken back is sent where the request that counted may still arrive`() {
    let taken = Merge(
      FieldChanges(values: ["n": .int64(10)], rules: ["n": .counter]),
      base: ["n": .int64(10)],
      contested: ["n"],
      server: ["n": .int64(10)],
      policy: .server,
      editedAt: 2,
      serverModifiedAt: 1
    )

    #expect(taken.remaining["n"] == .int64(10))
  }

  @Test func `a record that was deleted unseen and made anew is replaced`() async throws {
    try theirs.store.accept(world.put("a", ["title": .string("A"), "old": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.delete("a"))
    try mine.store.accept(world.put("a", ["title": .string("B")]))

    try await mine.sync()

    #expect(world.onServer("a") == ["title": .string("B")])
    #expect(try mine.store.queue() == [])
  }

  @Test func `what others made of a record after it was deleted here is compared with what takes its place`()
    async throws
  {
    let mine = try world.device("manual", policy: .manual)
    try await share()
    try await mine.sync()
    let id = try mine.store.accept(world.delete("n"))
    _ = try mine.store.perform(.pause, on: .ids([id]), actor: "test")
    try theirs.store.accept(world.put("n", ["n": .int64(5)]))
    try await theirs.sync()
    try await mine.sync()

    try mine.store.accept(world.put("n", ["new": .int64(1)]))
    _ = try mine.store.perform(.resume, on: .ids([id]), actor: "test")
    try await mine.sync()

    #expect(try mine.store.queue() == ["save n conflict"])
    #expect(try mine.store.conflict(id)?.fields.map(\.server) == [.int64(5)])
    #expect(world.onServer("n") == ["n": .int64(5)])
  }

  @Test func `a change that changes nothing joins its group all the same`() throws {
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    _ = try mine.store.enqueue([world.put("a", ["x": .int64(1)]), world.put("b", [:])], group: "g")

    #expect(try mine.store.operation(id).group == "g")
  }
}
