import CloudKit
import Facts
import Testing

@testable import CloudSync

/// The decisions about what the server deleted.
@Suite struct DeletionDecisionTests {
  private static let record = MirrorRecord(
    key: RecordKey(.one, "a"),
    type: "Note",
    changeTag: "1",
    fields: [
      "kept": .int64(1), "title": .string("old"), "photo": .asset(WireAsset(fileChecksum: "f", size: 1)),
    ]
  )

  private static func operation(
    _ kind: OperationKind,
    isNew: Bool = false,
    _ change: (inout QueuedOperation) -> Void = { _ in }
  ) -> QueuedOperation {
    let changes = kind == .save ? FieldChanges(values: ["title": .string("new")]) : FieldChanges()
    var operation = QueuedOperation(kind, record.key, type: "Note", changes, baseTag: isNew ? nil : "1", now: 1)
    operation.id = 7
    change(&operation)
    return operation
  }

  private static let queued: [(name: String, operation: QueuedOperation?)] = [
    ("nothing", nil), ("edit", operation(.save)), ("create", operation(.save, isNew: true)),
    ("edit, paused", operation(.save) { $0.apply(.paused(by: "ana")) }),
    ("edit, in conflict", operation(.save) { $0.apply(.conflicted(.fields(["title"]), now: 5)) }),
    ("edit, in flight", operation(.save) { $0.apply(.sent(as: .save)) }), ("delete", operation(.delete)),
    ("delete, in flight", operation(.delete) { $0.apply(.sent(as: .delete)) }),
  ]

  private static func words(_ operation: QueuedOperation?) -> String {
    guard let operation else { return "waits" }
    if let end = operation.end { return "\(end.ending)" }
    let what = ["\(operation.kind)"] + operation.changes.names.sorted()
    return "\(operation.state), \(what.joined(separator: " ")) on \(operation.baseTag ?? "nothing")"
  }

  @Test func `many deletions are put on hold, also if they come in parts, and a zone that would be empty`() {
    func losses(_ deleted: Int, of records: Int, since: Int64 = 1_000_000) -> RecentLosses {
      RecentLosses(since: since, records: records, deleted: deleted)
    }
    // How many records there are, how many of them were deleted, and how many of those by others; what was deleted
    // before; what is put on hold.
    let table: [(records: Int, deleted: Int, own: Int, before: RecentLosses?, held: Int?)] = [
      (10, 6, 6, nil, 6), (10, 5, 5, nil, nil), (13, 6, 6, nil, nil), (12, 6, 6, nil, 6),
      // All that there is, but for a single record, and for what goes along with a record deleted here.
      (1, 1, 1, nil, nil), (2, 2, 2, nil, 2), (9, 9, 0, nil, nil), (9, 9, 1, nil, nil),
      // In parts.
      (11, 3, 3, losses(9, of: 20), 12), (14, 3, 3, losses(6, of: 20), nil),
      // Others have been added for those that were deleted.
      (10, 4, 4, losses(12, of: 10), nil), (12, 4, 4, losses(12, of: 10), nil),
      // An hour ago, and before the clock was moved back.
      (11, 3, 3, losses(9, of: 20, since: 0), nil), (11, 3, 3, losses(9, of: 20, since: 3_600_001), nil),
    ]
    for row in table {
      let names = (0..<row.deleted).map { "r\($0)" }
      var zone = KnownZone(.one, state: .ready)
      zone.recentLosses = row.before
      let event = zone.decide(
        DeletionHold.Survey(zone: .one, names: names, own: row.own),
        records: row.records,
        DeletionGuard(count: 6, share: 0.5),
        now: 3_600_000
      )
      let all = row.before?.records ?? row.records
      #expect(event == row.held.map { Event.deletionsOnHold(zone: "one", deleted: $0, of: all) }, "\(row)")
      #expect(zone.heldSince == (row.held == nil ? nil : 3_600_000), "\(row)")
      if row.held == nil { #expect((zone.recentLosses?.deleted ?? 0) >= row.own, "\(row)") }
    }
  }

  @Test func `a lost zone with records is put on hold, unless it was to be deleted`() {
    var zone = KnownZone(.one, state: .ready)
    func loss(_ zone: KnownZone?, _ records: Int, hasZoneDelete: Bool = false, isGuarded: Bool = true) -> ZoneLoss {
      ZoneLoss(of: zone, records: records, hasZoneDelete: hasZoneDelete, isGuarded: isGuarded)
    }

    #expect(loss(nil, 0) == .ignored)
    #expect(loss(KnownZone(.one, state: .unconfirmed), 0) == .ignored)
    #expect(loss(KnownZone(.one, state: .unconfirmed), 2) == .onHold(records: 2, since: nil, isKnown: false))
    #expect(loss(zone, 0) == .accepted(records: 0))
    #expect(loss(zone, 2) == .onHold(records: 2, since: nil, isKnown: false))
    #expect(loss(zone, 2, hasZoneDelete: true) == .accepted(records: 2))
    #expect(loss(zone, 2, isGuarded: false) == .accepted(records: 2))
    (zone.state, zone.heldSince) = (.deleted, 5)
    #expect(loss(zone, 2) == .onHold(records: 2, since: 5, isKnown: true))
  }

  @Test func `a record that the server deleted is marked, unless it was to be deleted`() {
    let marked = Self.queued.filter { DeletionHold.marks($0.operation, isKnown: true) }
    #expect(marked.map(\.name) == Self.queued.map(\.name).filter { !$0.hasPrefix("delete") })
    #expect(Self.queued.allSatisfy { !DeletionHold.marks($0.operation, isKnown: false) })
  }

  @Test func `a restored record is the old one without its files, with the edit`() {
    let restored = Self.queued.map { ($0.name, QueuedOperation(restoring: Self.record, $0.operation, now: 10)) }
    #expect(
      restored.map { "\($0): \(Self.words($1))" } == [
        "nothing: pending, save kept title on nothing", "edit: pending, save kept title on nothing",
        "create: pending, save kept title on nothing", "edit, paused: paused, save kept title on nothing",
        "edit, in conflict: conflict, save kept title on nothing", "edit, in flight: waits", "delete: acknowledged",
        "delete, in flight: waits",
      ]
    )
    #expect(restored.allSatisfy { $1 == nil || $1?.bytes == $1?.changes.requestBytes })
  }

  @Test(arguments: [false, true])
  func `an edit of a lost zone is the whole record, or its own fields behind a zone delete`(hasZoneDelete: Bool) {
    let lost = Self.queued.compactMap { name, operation -> String? in
      guard var operation else { return nil }
      operation.loseRecord(Self.record, hasZoneDelete: hasZoneDelete)
      return "\(name): \(Self.words(operation))"
    }
    let fields = hasZoneDelete ? "title" : "kept title"
    #expect(
      lost == [
        "edit: pending, save \(fields) on nothing", "create: pending, save title on nothing",
        "edit, paused: paused, save \(fields) on nothing", "edit, in conflict: conflict, save \(fields) on nothing",
        "edit, in flight: inFlight, save \(fields) on nothing", "delete: acknowledged",
        "delete, in flight: inFlight, delete on 1",
      ]
    )
  }
}
