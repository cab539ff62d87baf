import CloudKitEmulator
import Facts
import Foundation
import JSONText
import Synchronization
import Testing

@testable import CloudKit
@testable import CloudSync

/// Conflicts that the app itself settles.
@Suite(.serialized) struct ConflictResolverTests {
  private struct Refusal: Error, CustomStringConvertible { let description = "no idea" }

  /// This device is about to say that `x` is 2 and `y` is 5, where another has made `x` 1 already.
  private func world(
    patience: Duration = .seconds(60),
    theirs change: (World) -> Change = { $0.put("a", ["x": .int64(1), "theirs": .int64(1)]) },
    mine edit: (World) -> Change = { $0.put("a", ["x": .int64(2), "y": .int64(5)]) },
    _ resolver: @escaping ConflictResolver
  ) async throws -> (world: World, mine: TestDevice, theirs: TestDevice) {
    let world = try World()
    let mine = try world.device("mine", policy: .server, conflictResolver: resolver, conflictPatience: patience)
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await mine.sync()
    try await theirs.sync()
    world.clock.advance(10)
    try theirs.store.accept(change(world))
    try await theirs.sync()
    try mine.store.accept(edit(world))
    return (world, mine, theirs)
  }

  @Test func `the app sees all three records and its merge goes up in the same pass`() async throws {
    let seen = Mutex<[ConflictingChange]>([])
    let (world, mine, _) = try await world { change in
      seen.withLock { $0.append(change) }
      let record = try #require(change.serverRecord)
      record["x"] = 12
      return .merged(record)
    }

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(12), "y": .int64(5), "theirs": .int64(1)])
    #expect(try mine.store.queue() == [])
    let change = try #require(seen.withLock { $0.first })
    #expect(seen.withLock { $0.count } == 1)
    #expect(change.recordID.recordName == "a")
    #expect(change.recordID.zoneID.zoneName == "cktop")
    #expect(change.recordType == "Note")
    #expect(change.fields == ["x"])
    #expect(change.ancestorRecord["x"] as? Int == 0)
    #expect(change.clientRecord?["x"] as? Int == 2)
    #expect(change.clientRecord?["theirs"] as? Int == 1)
    #expect(change.serverRecord?["x"] as? Int == 1)
    #expect(change.serverRecord?["y"] as? Int == 0)
    #expect(change.serverRecord?.recordChangeTag != nil)
    #expect(change.serverRecord?.modificationDate != nil)
  }

  @Test(arguments: [(true, 1), (false, 2)] as [(Bool, Int64)])
  func `the app may take either side`(_ takesServer: Bool, _ value: Int64) async throws {
    let (world, mine, _) = try await world { _ in takesServer ? .server : .client }

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(value), "y": .int64(5), "theirs": .int64(1)])
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.dropped().map(\.dropsChange) == [takesServer])
  }

  @Test func `where the app throws the conflict waits on the desk and says so`() async throws {
    let asked = Mutex(0)
    let (world, mine, theirs) = try await world { _ in
      asked.withLock { $0 += 1 }
      throw Refusal()
    }

    try await mine.sync()
    try await mine.sync()

    #expect(asked.withLock { $0 } == 1)
    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.operations().rows.first?.cause == .conflict(.undecidedByApp(.failed("no idea"))))
    // A new version is a new question, and so is a new edit.
    try theirs.store.accept(world.put("a", ["x": .int64(3)]))
    try await theirs.sync()
    try await mine.sync()
    #expect(asked.withLock { $0 } == 2)
    try mine.store.accept(world.put("a", ["x": .int64(7)]))
    try await mine.sync()
    #expect(asked.withLock { $0 } == 3)
  }

  @Test func `an app that never answers holds up nothing else`() async throws {
    let (world, mine, _) = try await world(patience: .milliseconds(1)) { _ in
      // Does not even hear that it is cancelled.
      for await _ in AsyncStream<Never>(unfolding: { await withUnsafeContinuation { _ in } }) {}
      return .server
    }
    try mine.store.accept(world.put("b", ["x": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("b") != nil)
    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.operations().rows.first?.cause == .conflict(.undecidedByApp(.silent("0.001 seconds"))))
  }

  /// A resolver that does not hear that it is cancelled, until the test lets it end.
  private final class DeafResolver: Sendable {
    let ends = Broadcast<Void>()
    let asked = Mutex(0)

    func resolve() async -> ConflictDecision {
      let ends = ends.listen()
      asked.withLock { $0 += 1 }
      // A task of its own is not cancelled.
      await Task.detached { for await _ in ends { return } }.value
      return .server
    }
  }

  @Test(.timeLimit(.minutes(40))) func `a cancelled sync does not wait for the app, and drops its answer`() async throws
  {
    let resolver = DeafResolver()
    let (_, mine, _) = try await world(patience: .seconds(600)) { _ in await resolver.resolve() }
    let sync = Task { try await mine.sync() }
    while resolver.asked.withLock({ $0 }) == 0 { await Task.yield() }

    sync.cancel()

    await #expect(throws: CancellationError.self) { try await sync.value }
    resolver.ends.send(())
    while await mine.engine.overdueResolvers.number > 0 { await Task.yield() }
    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.conflictToAsk(after: 0) != nil)
  }

  @Test(.timeLimit(.minutes(40))) func `a conflict is asked about as soon as an overdue call has ended`() async throws {
    let resolver = DeafResolver()
    let (world, mine, theirs) = try await world(patience: .milliseconds(1)) { change in
      change.recordID.recordName == "a" ? await resolver.resolve() : .server
    }
    try theirs.store.accept(world.put("b", ["x": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.put("b", ["x": .int64(2)]))
    try await whileDriving(mine) {
      try await eventually(mine.store) { try mine.store.queue() == ["save a conflict", "save b conflict"] }
      while try mine.store.engineRest().rest == nil { await Task.yield() }

      resolver.ends.send(())

      try await eventually(mine.store) { try mine.store.queue() == ["save a conflict"] }
    }
  }

  @Test func `the app is not asked about another conflict after the user has changed`() async throws {
    let asked = Mutex(0)
    let device = Mutex<TestDevice?>(nil)
    let (world, mine, theirs) = try await world { _ in
      asked.withLock { $0 += 1 }
      device.withLock { $0?.engine.client.beginSession(with: nil) }
      return .server
    }
    device.withLock { $0 = mine }
    try theirs.store.accept(world.put("b", ["x": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.put("b", ["x": .int64(2)]))

    try await mine.sync()

    #expect(asked.withLock { $0 } == 1)
    device.withLock { $0 = nil }
  }

  @Test func `an app that never answers is asked no more while eight calls hang`() async throws {
    let asked = Mutex(0)
    let (world, mine, theirs) = try await world(patience: .milliseconds(1)) { _ in
      asked.withLock { $0 += 1 }
      for await _ in AsyncStream<Never>(unfolding: { await withUnsafeContinuation { _ in } }) {}
      return .server
    }

    for number in 0..<10 {
      try await mine.sync()
      try theirs.store.accept(world.put("a", ["x": .int64(Int64(10 + number))]))
      try await theirs.sync()
    }

    #expect(asked.withLock { $0 } == 8)
    #expect(try mine.store.queue() == ["save a conflict"])
  }

  @Test func `what the app leaves to a person is settled on the desk`() async throws {
    let (world, mine, _) = try await world { _ in .manual(reason: "too close to call") }

    try await mine.sync()

    let row = try #require(try mine.store.operations().rows.first)
    #expect(row.cause == .conflict(.undecidedByApp(.leftToPerson("too close to call"))))
    _ = try mine.store.resolve(row.id, take: .local, actor: "ana")
    try await mine.sync()
    #expect(world.onServer("a")?["x"] == .int64(2))
  }

  @Test func `a conflict that a person resolved while the app decided about another is not asked`() async throws {
    let asked = Mutex<[String]>([])
    let store = Mutex<SyncStore?>(nil)
    let (world, mine, theirs) = try await world { change in
      asked.withLock { $0.append(change.recordID.recordName) }
      if let store = store.withLock(\.self), let other = try store.conflictVersions().last?.id {
        _ = try store.resolve(other, take: .server, actor: "ana")
      }
      return .server
    }
    try theirs.store.accept(world.put("b", ["x": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.put("b", ["x": .int64(2)]))
    store.withLock { $0 = mine.store }

    try await mine.sync()
    store.withLock { $0 = nil }

    #expect(asked.withLock(\.self) == ["a"])
    #expect(try mine.store.queue() == [])
  }

  @Test func `an answer to what has changed meanwhile is not taken`() async throws {
    let answers = Mutex(0)
    let store = Mutex<SyncStore?>(nil)
    let (world, mine, _) = try await world { change in
      // While the app thinks, the user goes on typing.
      if answers.withLock({
        $0 += 1; return $0
      }) == 1 {
        try store.withLock {
          _ = try $0?.accept(
            Change(RecordKey(zone: "cktop", name: "a"), .save(type: "Note", FieldChanges(values: ["x": .int64(9)])))
          )
        }
      }
      return .client
    }
    store.withLock { $0 = mine.store }

    try await mine.sync()
    #expect(answers.withLock { $0 } == 1)
    #expect(try mine.store.queue() == ["save a conflict"])
    try await mine.sync()
    store.withLock { $0 = nil }

    #expect(answers.withLock { $0 } == 2)
    #expect(world.onServer("a")?["x"] == .int64(9))
  }

  @Test(arguments: [0, 1, 2])
  func `an edit of what was deleted there is settled too`(_ choice: Int) async throws {
    let (world, mine, _) = try await world(theirs: { $0.delete("a") }) { change in
      #expect(change.serverRecord == nil)
      let record = try #require(change.clientRecord)
      record["x"] = 12
      return [.server, .client, .merged(record)][choice]
    }

    try await mine.sync()

    let x: Int64? = [nil, 2, 12][choice]
    #expect(world.onServer("a") == x.map { ["x": .int64($0), "y": .int64(5)] })
    #expect(try mine.store.queue() == [])
  }

  @Test(arguments: [0, 1, 2, 3])
  func `a deletion of what was edited there is settled too`(_ choice: Int) async throws {
    let (world, mine, _) = try await world(mine: { $0.delete("a") }) { change in
      #expect(change.clientRecord == nil)
      let record = try #require(change.serverRecord)
      if choice == 2 { record["x"] = 12 }
      return [.server, .client, .merged(record), .merged(record)][choice]
    }

    try await mine.sync()

    let x: Int64? = [1, nil, 12, 1][choice]
    #expect(world.onServer("a") == x.map { ["x": .int64($0), "y": .int64(0), "theirs": .int64(1)] })
    #expect(try mine.store.queue() == [])
  }

  @Test func `fields that the app has never heard of survive its merge`() async throws {
    let unknown = FieldValue.other(type: "NEW", .object(["b": .int(1)]))
    let world = try World()
    let store = try world.open("mine")
    let server = MirrorRecord(
      key: world.key("a"),
      type: "Note",
      changeTag: "t",
      fields: ["x": .int64(1), "new": unknown]
    )
    try store.write { try $0.put(server, epoch: 0) }
    let id = try store.accept(world.put("a", ["x": .int64(2)]))
    let operation = try store.operation(id)
    let change = ConflictingChange(operation, server: server)
    let record = try #require(change.serverRecord)
    record["x"] = 3

    let fields = try record.wireFields()
    let resolution = Conflict(operation, server: server).resolution(merged: fields)

    #expect(fields["new"] == unknown)
    #expect(resolution.left == FieldChanges(values: ["x": .int64(3)]))
  }

  @Test func `conflicts that come back without end are not asked about for ever`() async throws {
    let (world, mine, _) = try await world { _ in .client }
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify" {
        try? world.saveOnServer("a", ["x": .int64(Int64(100 + number))])
      }
      return .pass
    }

    try await mine.sync()

    let row = try #require(try mine.store.operations().rows.first)
    #expect(row.state == .conflict)
    #expect(row.cause == .conflict(.fields(["x"]), rounds: 9))
  }

  @Test func `what the app clears or sets back in the merged record is not sent`() async throws {
    let edit: [String: FieldValue] = ["x": .int64(2), "y": .int64(5), "note": .string("n")]
    let (world, mine, _) = try await world(mine: { $0.put("a", edit) }) {
      let record = try #require($0.clientRecord)
      record["x"] = 3
      record["y"] = 0
      record["note"] = nil
      return .merged(record)
    }

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(3), "y": .int64(0), "theirs": .int64(1)])
  }

  @Test func `a merged record that is another one settles nothing`() async throws {
    let (world, mine, _) = try await world { _ in .merged(CKRecord(recordType: "Note")) }

    try await mine.sync()

    #expect(world.onServer("a")?["x"] == .int64(1))
    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.operations().rows.first?.cause == .conflict(.undecidedByApp(.otherRecord)))
  }
}
