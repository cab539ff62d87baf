import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Saving and deleting the framework's records through an engine.
@Suite(.serialized) struct RecordSavingTests {
  /// How an app came by the record that it has in hand.
  enum Origin: CaseIterable {
    case made, read, downloaded
  }

  private let world: World
  private let device: TestDevice

  init() throws {
    world = try World()
    device = try world.device("mine")
  }

  @Test(arguments: [Int64.max, .min]) func `a record of any modification time is saved`(time: Int64) throws {
    let known = MirrorRecord(key: world.key("a"), type: "Note", changeTag: "t", fields: [:], modifiedAt: time)
    let record = CKRecord(known)
    record["title"] = "t"

    try device.engine.save([record])

    #expect(try device.store.queue() == ["save a pending"])
  }

  /// A record that is on the server and here, and that the app has in hand.
  private func record(_ origin: Origin) async throws -> CKRecord {
    let made = CKRecord(recordType: "Note", recordID: world.key("a").recordID)
    (made["title"], made["body"]) = ("t", "b")
    try device.engine.save([made])
    try await device.sync()
    switch origin {
    case .made: return made
    case .read: return try #require(try device.engine.record(made.recordID))
    case .downloaded:
      let known = try #require(try device.store.records(named: "a").first?.record)
      var wire = WireRecord(recordName: "a", recordType: "Note")
      wire.recordChangeTag = known.changeTag
      wire.take(known.fields)
      return CKRecord(wire: wire, zoneID: made.recordID.zoneID)
    }
  }

  @Test func `a record as it is here has the server's tag and times`() async throws {
    let read = try await record(.read)

    let known = try #require(try device.store.records(named: "a").first?.record)
    #expect(read.recordChangeTag == known.changeTag)
    #expect(read.modificationDate == known.modifiedAt.map(Date.init(milliseconds:)))
    read["title"] = "new"
    try device.engine.save([read])
    #expect(try device.engine.record(read.recordID)?.recordChangeTag == read.recordChangeTag)
  }

  @Test(arguments: Origin.allCases, [false, true])
  func `a record that is deleted and then saved is there again as a whole`(_ origin: Origin, isSent: Bool) async throws
  {
    for isEdited in [false, true] {
      let record = try await record(origin)
      try device.engine.delete([record.recordID])
      if isSent { try await device.sync() }
      if isEdited { record["title"] = "new" }
      try device.engine.save([record])
      try await device.sync()

      #expect(world.onServer("a") == ["title": .string(isEdited ? "new" : "t"), "body": .string("b")])
      #expect(try device.store.queue() == [])
      try device.engine.delete([record.recordID])
      try await device.sync()
    }
  }

  @Test(arguments: Origin.allCases)
  func `a record that is saved after its zone was deleted from here is in the next one as a whole`(
    _ origin: Origin
  ) async throws {
    let record = try await record(origin)
    _ = try device.store.enqueueZoneDeletion(world.key("a").zoneKey)
    try await device.sync()
    record["title"] = "new"
    try device.engine.save([record])
    try await device.sync()

    #expect(world.onServer("a") == ["title": .string("new"), "body": .string("b")])
    #expect(try device.store.queue() == [])
  }

  @Test(arguments: Origin.allCases, ConflictPolicy.allCases)
  func `of a record that others deleted an edit is the whole of it, kept or listed`(
    _ origin: Origin,
    _ policy: ConflictPolicy
  ) async throws {
    let other = try world.device("theirs")
    let device = try world.device("judging", policy: policy)
    let record = CKRecord(recordType: "Note", recordID: world.key("a").recordID)
    (record["title"], record["body"]) = ("t", "b")
    try device.engine.save([record])
    try await device.sync()
    let inHand = origin == .made ? record : try #require(try device.engine.record(record.recordID))
    try await other.sync()
    try other.store.accept(world.delete("a"))
    try await other.sync()
    try await device.sync()

    inHand["title"] = "new"
    try device.engine.save([inHand])
    try await device.sync()

    let whole: [String: FieldValue] = ["title": .string("new"), "body": .string("b")]
    // That one was made here it does not know itself; so it is made anew.
    switch origin == .made ? .client : policy {
    case .server:
      #expect(world.onServer("a") == nil)
      #expect(try device.store.dropped().first?.changes.values == whole)
    case .manual:
      #expect(world.onServer("a") == nil)
      #expect(try device.store.operations().rows.map(\.state) == [.conflict])
    case .client, .newest:
      #expect(world.onServer("a") == ["title": .string("new"), "body": .string("b")])
      #expect(try device.store.queue() == [])
    }
  }

  @Test func `a record that was discarded before it was sent and is saved again conflicts with nobody about itself`()
    async throws
  {
    let record = CKRecord(recordType: "Note", recordID: world.key("a").recordID)
    record["title"] = "first"
    try device.engine.save([record])
    _ = try device.store.perform(.discard, on: .all, actor: "test")
    record["body"] = "b"
    try device.engine.save([record])
    record["title"] = "second"
    try device.engine.save([record])
    let theirs = try world.device("theirs")
    try theirs.store.accept(world.put("a", ["theirs": .int64(1)]))
    try await theirs.sync()

    try await device.sync()

    #expect(world.onServer("a") == ["title": .string("second"), "body": .string("b"), "theirs": .int64(1)])
    #expect(try device.store.dropped().isEmpty)
  }

  @Test func `what is queued behind a zone's deletion is not taken back by a record that was read before`() async throws
  {
    let first = try await record(.read)
    let second = try #require(try device.engine.record(first.recordID))
    _ = try device.store.enqueueZoneDeletion(world.key("a").zoneKey)
    second["body"] = "new"
    try device.engine.save([second])
    first["title"] = "x"
    try device.engine.save([first])

    try await device.sync()

    #expect(world.onServer("a") == ["title": .string("x"), "body": .string("new")])
  }

  @Test func `a record of which the app has kept the system fields is made anew after its deletion`() async throws {
    let read = try await record(.read)
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    read.encodeSystemFields(with: archiver)
    let kept = try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)))
    try device.engine.delete([read.recordID])
    try await device.sync()

    kept["title"] = "kept"
    try device.engine.save([kept])
    try await device.sync()

    #expect(world.onServer("a") == ["title": .string("kept")])
  }

  @Test func `a deletion of long ago does not decide about what was made since and others deleted`() async throws {
    let zone = world.key("a").zoneKey
    _ = try await record(.made)
    _ = try device.store.enqueueZoneDeletion(zone)
    try await device.sync()
    world.clock.advance(60 * 86_400)
    let inHand = try await record(.read)
    let theirs = try world.device("theirs")
    try await theirs.sync()
    try theirs.store.accept(world.delete("a"))
    try await theirs.sync()
    try await device.sync()

    inHand["title"] = "new"
    try device.engine.save([inHand])
    try await device.sync()

    #expect(world.onServer("a") == nil)
    #expect(try device.store.dropped().map(\.key.name) == ["a"])
  }
}
