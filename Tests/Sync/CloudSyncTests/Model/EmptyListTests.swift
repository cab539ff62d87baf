import CloudKit
import CloudKitEmulator
import JSONText
import Testing

@testable import CloudSync

/// The server returns an empty list without its element type, or not at all, so none of these is an edit of another.
@Suite(.serialized) struct EmptyListTests {
  private static let empty: [FieldValue?] = [
    nil, .list(.string, []), .list(.unknown, []), .list(.int64, []), .other(type: "NEW_LIST", .array([])),
    .encrypted(.list(.string, [])),
  ]
  private static let x = FieldValue.list(.string, [.string("x")])

  @Test func `empty lists of any type and no value are the same, and nothing else is the same as they`() {
    for one in Self.empty {
      for other in Self.empty {
        #expect(one.isSame(as: other), "\(String(describing: one)), \(String(describing: other))")
        let fields = [one.map { ["tags": $0] } ?? [:], other.map { ["tags": $0] } ?? [:]]
        #expect(fields[0].isSame(as: fields[1]))
        #expect(FieldChanges(from: fields[0], to: fields[1]).isEmpty)
        #expect(FieldChanges(values: fields[0]).effective(on: fields[1]).isEmpty)
      }
      for other in [Self.x, .string(""), .bytes(.init()), .list(.bytes, [.bytes(.init())]), .int64(0)] {
        #expect(!one.isSame(as: other) && !FieldValue?.some(other).isSame(as: one))
      }
    }
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `a merge takes every empty list for no value`(_ policy: ConflictPolicy) throws {
    func merge(_ base: FieldValue?, _ local: FieldValue?, _ server: FieldValue?, isKnown: Bool = true) -> Merge {
      var changes = FieldChanges()
      changes["tags"] = local
      func fields(_ value: FieldValue?) -> [String: FieldValue] { value.map { ["tags": $0] } ?? [:] }
      return Merge(
        changes,
        base: fields(base),
        isBaseKnown: isKnown,
        server: fields(server),
        policy: policy,
        editedAt: 5,
        serverModifiedAt: 5
      )
    }
    for mine in Self.empty {
      for theirs in Self.empty {
        #expect(merge(Self.x, mine, theirs) == Merge.none(policy), "emptied on both sides")
        #expect(merge(mine, theirs, Self.x) == Merge.none(policy), "only the server changed it")
        #expect(merge(mine, Self.x, theirs).remaining["tags"] == Self.x, "only we changed it")
        #expect(merge(nil, mine, theirs, isKnown: false) == Merge.none(policy), "nothing to empty")
        // The record was not known here: emptying the field is meant all the same.
        let unseen = merge(nil, mine, Self.x, isKnown: false)
        #expect(!unseen.conflicts.union(unseen.dropped).union(unseen.remaining.names).isEmpty)
        // The same winner on a device where the server sent the other empty value.
        let other = FieldValue.list(.string, [.string("a")])
        #expect(merge(Self.x, mine, other).dropped == merge(Self.x, theirs, other).dropped)
      }
    }
  }

  @Test func `two devices that both empty a list do not conflict`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .manual), try world.device("theirs", policy: .manual))
    try mine.store.accept(world.put("a", ["tags": Self.x, "title": .string("A")]))
    try await mine.sync()
    try await theirs.sync()

    try mine.store.accept(world.put("a", ["tags": .list(.string, [])]))
    try theirs.store.accept(world.put("a", ["tags": .list(.string, [])]))
    try await mine.sync()
    try await theirs.sync()

    #expect(try theirs.store.queue().isEmpty && theirs.store.conflicts().isEmpty)
    #expect(try theirs.store.dropped().isEmpty)
    #expect(try await theirs.engine.verify().allSatisfy(\.isEmpty))
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `a save that empties a list and whose reply was lost is found on the server`(_ policy: ConflictPolicy)
    async throws
  {
    let world = try World()
    let mine = try world.device("mine", policy: policy)
    try mine.store.accept(world.put("a", ["tags": Self.x, "title": .string("A")]))
    try await mine.sync()
    mine.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 2 ? .answerLost : .pass
    }

    try mine.store.accept(world.put("a", ["tags": .list(.string, [])]))
    for _ in 0..<3 {
      try await mine.sync()
      world.clock.advance(120)
    }

    #expect(try mine.store.queue().isEmpty && mine.store.dropped().isEmpty)
    #expect(try mine.store.endings() == ["save a acknowledged", "save a acknowledged"])
    #expect(mine.transport.count("records/modify") == 2)
    #expect(try mine.store.mirror("a")?["tags"].isAbsent == true)
  }

  @Test func `an empty list is left out where it creates a field, and sent where it empties one`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let empty = FieldValue.list(.string, [])
    func lastBody() -> String { mine.transport.bodies("records/modify").last ?? "" }

    try mine.store.accept(world.put("a", ["tags": empty, "title": .string("A")]))
    #expect(try mine.store.records().rows.first?.record.fields["tags"] == empty, "shown until it is sent")
    try await mine.sync()
    #expect(lastBody().contains("title") && !lastBody().contains("tags"))
    #expect(try mine.store.enqueue([world.put("a", ["tags": empty, "title": .string("A")])]) == [.unchanged])

    try mine.store.accept(world.put("a", ["tags": empty, "title": .string("B")]))
    try await mine.sync()
    #expect(lastBody().contains("title") && !lastBody().contains("tags"))

    try mine.store.accept(world.put("a", ["tags": Self.x]))
    try await mine.sync()
    // The type of the field is known, also where the file or the caller does not say it.
    try mine.store.accept(world.put("a", ["tags": .list(.unknown, [])]))
    try await mine.sync()
    #expect(lastBody().contains(#""tags":{"type":"STRING_LIST","value":[]}"#))
    #expect(world.onServer("a")?["title"] == .string("B"))
    for list in [empty, .list(.unknown, []), .list(.int64, [])] {
      #expect(try mine.store.enqueue([world.put("a", ["tags": list])]) == [.unchanged])
    }
    #expect(try await mine.engine.verify().allSatisfy(\.isEmpty))
  }

  @Test func `emptying a list that was set and not sent yet leaves nothing to send`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["title": .string("A")]))
    try await mine.sync()

    try mine.store.accept(world.put("a", ["tags": Self.x]))
    try mine.store.accept(world.put("a", ["tags": .list(.string, [])]))

    #expect(try mine.store.queue().isEmpty)
  }

  @Test func `emptying a list of a record that is not known here empties it on the server`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .client), try world.device("theirs"))
    try theirs.store.accept(world.put("a", ["tags": Self.x, "title": .string("A")]))
    try await theirs.sync()

    try mine.store.accept(world.put("a", ["tags": .list(.string, [])]))
    try await mine.sync()

    #expect(world.onServer("a")?["title"] == .string("A"))
    #expect(try mine.store.mirror("a")?["tags"].isAbsent == true)
    #expect(try mine.store.queue().isEmpty)
  }

  @Test func `a deletion of a record whose list was emptied elsewhere meanwhile compares it as empty`() {
    let base: [String: FieldValue] = ["tags": .list(.string, []), "n": .int64(1)]

    #expect(FieldChanges(values: ["n": .int64(2)]).make(["n": .int64(2)], of: base))
    #expect(FieldChanges(values: ["tags": .list(.string, [])]).make(["n": .int64(1)], of: ["n": .int64(1)]))
    #expect(!FieldChanges(values: ["tags": Self.x]).make(["n": .int64(1)], of: base))
  }
}

extension Merge {
  /// A merge that leaves nothing to send or decide.
  fileprivate static func none(_ policy: ConflictPolicy) -> Merge {
    Merge(FieldChanges(), base: [:], server: [:], policy: policy, editedAt: 0, serverModifiedAt: 0)
  }
}
