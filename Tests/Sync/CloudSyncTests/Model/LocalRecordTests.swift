import CloudKit
import Testing

@testable import CloudSync

/// A record as this machine has it, and the places that show, send or change it.
@Suite(.serialized) struct LocalRecordTests {
  private static let key = RecordKey(ZoneKey(zone: "one"), "a")

  private enum Queued: String, CaseIterable { case nothing, save, delete }

  private static func local(_ queued: Queued, isMirrored: Bool, zoneIsGoing: Bool) -> LocalRecord {
    let fields: [String: FieldValue] = ["s": .string("x"), "n": .int64(1), "old": .int64(0)]
    var operation: QueuedOperation?
    switch queued {
    case .nothing: break
    case .save:
      operation = QueuedOperation(.save, key, type: "Note", base: [:], baseTag: nil, group: nil, now: 1)
      operation?.changes = FieldChanges(values: ["n": .int64(2)], cleared: ["old"])
    case .delete: operation = QueuedOperation(.delete, key, type: "Note", base: [:], baseTag: "1", group: nil, now: 1)
    }
    let mirror = MirrorRecord(key: key, type: "Note", changeTag: "1", fields: fields)
    return LocalRecord(key, mirror: isMirrored ? mirror : nil, queued: operation, zoneIsGoing: zoneIsGoing)
  }

  @Test func `a local record is the server's version with the queued change, without a zone that is deleted`() {
    let server: [String: FieldValue] = ["s": .string("x"), "n": .int64(1), "old": .int64(0)]
    let edited: [String: FieldValue] = ["s": .string("x"), "n": .int64(2)]
    let created: [String: FieldValue] = ["n": .int64(2)]
    let table: [(Queued, isMirrored: Bool, zoneIsGoing: Bool, fields: [String: FieldValue]?, tag: String?)] = [
      (.nothing, false, false, nil, nil), (.nothing, false, true, nil, nil),
      (.nothing, true, false, server, "1"), (.nothing, true, true, nil, nil),
      (.save, false, false, created, ""), (.save, false, true, created, ""),
      (.save, true, false, edited, "1"), (.save, true, true, created, ""),
      (.delete, false, false, nil, nil), (.delete, false, true, nil, nil),
      (.delete, true, false, nil, nil), (.delete, true, true, nil, nil),
    ]
    for row in table {
      let local = Self.local(row.0, isMirrored: row.isMirrored, zoneIsGoing: row.zoneIsGoing)
      let name = Comment(rawValue: "\(row.0), mirrored: \(row.isMirrored), zone deleted: \(row.zoneIsGoing)")
      #expect(local.record?.fields == row.fields, name)
      #expect(local.record?.changeTag == row.tag, name)
      #expect(local.fields == row.fields ?? [:], name)
      #expect((local.server != nil) == (row.isMirrored && !row.zoneIsGoing), name)
      #expect((RecordRow(local) != nil) == (row.fields != nil), name)
    }
  }

  // MARK: - Behind a zone delete

  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  /// A record of the mirror in a zone to be deleted, and the number of a save of it behind the zone delete, if any.
  private func deleteZone(thenSaving fields: [String: FieldValue]? = nil) async throws -> Int64 {
    try store.accept(world.put("a", zone: "one", ["s": .string("x"), "n": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "one"))
    guard let fields else { return 0 }
    try store.accept(world.put("a", zone: "one", fields))
    return try #require(try store.operations().rows.first { $0.kind == .save }).id
  }

  @Test func `the details of a record show that its zone is deleted here`() async throws {
    _ = try await deleteZone()

    let detail = try #require(try store.view { try $0.detail(of: Self.key) })
    #expect(detail.server?.fields["s"] == .string("x"))
    #expect(detail.row == nil)
  }

  @Test func `a record that is saved behind a zone delete has nothing of the old zone's record`() async throws {
    let id = try await deleteZone(thenSaving: ["n": .int64(2)])

    let detail = try #require(try store.view { try $0.detail(of: Self.key) })
    #expect(detail.row?.record.fields == ["n": .int64(2)])
    #expect(detail.row?.changeTag == nil)
    let draft = try #require(try store.drafts([id]).first)
    #expect(draft.fields == ["n": .int64(2)])
    #expect(draft.tag == nil)
    let queued = try #require(try store.draft(id))
    #expect(queued.allKeys() == ["n"])
    #expect(queued.recordChangeTag == nil)
  }

  @Test func `the app amends a save behind a zone delete without a base of the old zone's record`() async throws {
    let id = try await deleteZone(thenSaving: ["n": .int64(2)])
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }

    let draft = try #require(try store.drafts([id]).first)
    _ = try store.amend(draft, FieldChanges(values: ["s": .string("y")]), lease)

    #expect(try store.read { try $0.operation(id)?.base["s"] } == .some(nil))
  }

  @Test func `a failed save behind a zone delete is shown and edited without the old zone's record`() async throws {
    let id = try await deleteZone(thenSaving: ["n": .int64(2)])
    try store.execute("UPDATE operations SET state = 'failed' WHERE id = \(id)")

    let letter = try #require(try store.deadLettersToOffer().first)
    #expect(letter.record?.fields == ["n": .int64(2)])
    #expect(letter.record?.changeTag == "")

    // The new record needs the value, though the old one had it.
    let edit = try FieldAssignment(parsing: "s=x")
    #expect(try store.edit(id, [edit], actor: "ana") == .queued)
    #expect(try store.read { try $0.operation(id)?.changes["s"] } == .string("x"))
  }

  @Test func `an app is not shown the records of a zone that is deleted here`() async throws {
    try store.startDelivering()
    _ = try await deleteZone()

    let batch = try store.nextDelivery(order: [])
    #expect(batch.numbers.count == 1)
    #expect(batch.changes.modifications.isEmpty)
    #expect(batch.changes.deletions.isEmpty)
  }
}
