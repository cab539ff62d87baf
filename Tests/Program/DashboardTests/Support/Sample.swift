import CloudKit
import CloudService
import Facts
import Foundation
import TerminalUI

@testable import CloudSync
@testable import Dashboard

/// A store's state as a dashboard might find it, the same every time.
enum Sample {
  /// 2026-01-02T03:04:05Z.
  static let now: Int64 = 1_767_323_045_000
  static let format = Format(timeZone: TimeZone(secondsFromGMT: 0) ?? .gmt)

  static func world(
    _ size: Size = Size(width: 80, height: 24),
    _ change: (inout World) -> Void = { _ in }
  ) -> World {
    var world = World(
      now: now,
      scope: SyncStore.Scope(container: "iCloud.org.example.shop", environment: "development", database: .private),
      credential: "webAuth",
      url: "http://127.0.0.1:8080",
      storePath: "/var/lib/cktop/shop.sqlite",
      format: format,
      pid: 99
    )
    world.data = data()
    world.size = size
    change(&world)
    return world
  }

  /// What the store says when everything is read, with these operations, in the list's own order.
  static func data(_ operations: [QueueRow] = operations) -> ViewData {
    var data = ViewData()
    data.status = status(operations)
    data.queue = page(operations)
    data.records = ListPage(RecordListing(), Window(total: records.count, offset: 0, rows: records))
    data.zones = zones([zoneRow("Shop") { $0.queued = [.pending: operations.count] }])
    data.conflicts = Window(total: 1, offset: 0, rows: [conflict])
    data.events = events([
      EventRow(id: 2, at: now - 2_000, event: .error(code: "INTERNAL_ERROR", message: "oops")),
      EventRow(id: 1, at: now - 60_000, event: .command(.flush(throttles: false), count: 2)),
    ])
    data.dropped = droppedPage(dropped)
    data.throughput = (0..<40).map { minute in
      Throughput(at: now - (40 - minute) * 60_000, sent: Int(minute * 37 % 211), fetched: Int(minute * 11 % 41))
    }
    return data
  }

  /// The events of a list, all of them read.
  static func events(_ rows: [EventRow], _ listing: EventListing = EventListing()) -> ListPage<EventListing, EventRow> {
    ListPage(listing, Window(total: rows.count, offset: 0, rows: rows))
  }

  static func zones(_ rows: [ZoneRow], _ listing: ZoneListing = ZoneListing()) -> ListPage<ZoneListing, ZoneRow> {
    ListPage(listing, Window(total: rows.count, offset: 0, rows: rows))
  }

  /// Zones in all conditions, in the order of the list.
  static let zoneRows = [
    zoneRow("Archive") {
      $0.held = HeldDeletions(zone: $0.key, version: "v", records: 150, isWholeZone: false, since: .distantPast)
    },
    zoneRow("Denied") { ($0.isDenied, $0.queued) = (true, [.failed: 3, .pending: 1200]) },
    zoneRow("Held") { ($0.isPaused, $0.queued) = (true, [.pending: 12]) },
    zoneRow("Shop") { $0.queued = [.pending: 5] },
    zoneRow("Gone") { ($0.state, $0.lastFetchAt, $0.tokenAt) = ("deleted", now - 86_400_000, nil) },
    zoneRow("New") { ($0.state, $0.lastFetchAt, $0.tokenAt, $0.records) = ("unconfirmed", nil, nil, 0) },
    zoneRow("Notes") { $0.fetch = ZoneRow.Fetch(isOfAll: true, fetched: 12_400) },
  ]

  static let pauses = [
    Pause(rule: .everything, at: now - 600_000, actor: "root"),
    Pause(rule: .zone(zone), at: now - 86_400_000, actor: "ana"), Pause(rule: .type("Order"), at: now, actor: nil),
  ]

  static func zoneRow(_ name: String, _ change: (inout ZoneRow) -> Void = { _ in }) -> ZoneRow {
    var row = ZoneRow(
      key: ZoneKey(zone: name),
      state: "ready",
      records: 3,
      tokenAt: now - 60_000,
      lastFetchAt: now - 60_000
    )
    change(&row)
    return row
  }

  /// A page of a list of operations as it answers a listing.
  static func page(_ rows: [QueueRow], _ listing: QueueListing = QueueListing()) -> ListPage<QueueListing, QueueRow> {
    ListPage(
      listing,
      Window(total: rows.count, offset: 0, rows: rows),
      retryable: rows.count { $0.state == .failed || $0.state == .waiting }
    )
  }

  static func status(_ operations: [QueueRow] = operations) -> StoreStatus {
    var status = StoreStatus(generatedAt: now)
    status.lastSuccessAt = now - 60_000
    status.lastEnqueueAt = now - 90_000
    status.syncingProcess = StoreStatus.SyncingProcess(pid: 4711, host: "mail", isLive: true)
    status.queue.total = operations.count
    func count(_ state: OperationState) -> Int { operations.count { $0.state == state } }
    status.queue.pending = count(.pending)
    status.queue.waiting = count(.waiting)
    status.queue.inFlight = count(.inFlight)
    status.queue.failed = count(.failed)
    status.queue.conflicts = count(.conflict)
    status.queue.paused = count(.paused)
    status.queue.parts = OperationState.allCases.compactMap { state in
      let number = count(state)
      return number == 0 ? nil : QueuePart(state: state, zone: zone, type: "Order", count: number, bytes: 368 * number)
    }
    status.queue.bytes = 368 * operations.count
    status.queue.oldestPendingAt = now - 90_000
    status.recordsByType = ["Order": 3]
    status.recordsByZone = ["Shop": 3]
    status.identity = "_0f00"
    status.lastDay = Throughput(at: now, sent: 41_204, fetched: 12_880)
    status.reachedEnd = true
    return status
  }

  /// A wait of a scope, or what is wrong with it.
  static func wait(
    _ scope: WaitScope,
    _ code: String,
    _ message: String = "",
    until: Int64 = 0,
    isOwn: Bool = true,
    since: Int64 = now
  ) -> ScopeWait {
    ScopeWait(scope: scope, until: until, code: code, message: message, isOwn: isOwn, since: since)
  }

  static let zone = ZoneKey(zone: "Shop")

  static let operations: [QueueRow] = [
    operation(11, .failed, "order-1") { row in
      row.cause = .failed(
        .rejected(code: "BAD_REQUEST", message: "invalid attempt to set value type STRING for field 'total'")
      )
      row.errorCode = "BAD_REQUEST"
      row.attempts = 1
    },
    operation(12, .waiting, "order-2") { row in
      row.cause = .backOff(code: "INTERNAL_ERROR", attempt: 2, of: 8)
      row.attempts = 2
      row.nextAttemptAt = now + 12_000
    },
    operation(13, .conflict, "order-3") { $0.cause = .conflict(.fields(["note", "total"])) },
    operation(14, .pending, "hostile\u{1B}[31m\u{202E}name") { $0.cause = .ready },
    operation(15, .pending, "order-4") { row in
      row.cause = .waitsFor([14], isGroup: false)
      row.blockedBy = [14]
    },
  ]

  static func operation(
    _ id: Int64,
    _ state: OperationState,
    _ name: String,
    _ change: (inout QueueRow) -> Void = { _ in }
  ) -> QueueRow {
    var row = QueueRow(
      id: id,
      version: "0123456789ab",
      kind: .save,
      key: RecordKey(zone, name),
      type: "Order",
      state: state,
      cause: .ready,
      attempts: 0,
      maxAttempts: 8,
      nextAttemptAt: nil,
      blockedBy: [],
      errorCode: nil,
      errorMessage: nil,
      bytes: 368,
      enqueuedAt: now - 90_000
    )
    change(&row)
    return row
  }

  static let records: [RecordRow] = ["order-1", "order-3", "order-9"].map { name in
    RecordRow(
      record: MirrorRecord(
        key: RecordKey(zone, name),
        type: "Order",
        changeTag: "1a",
        fields: [
          "total": .double(12.5), "note": .string("two pieces, 한국어"),
          "of": .reference(WireReference(recordName: "ana")),
        ],
        createdAt: now - 86_400_000,
        modifiedAt: now - 60_000,
        modifiedBy: "_0f00"
      ),
      changeTag: "1a",
      operation: name == "order-9" ? nil : 11,
      operationState: name == "order-9" ? nil : name == "order-1" ? .failed : .conflict
    )
  }

  /// A page of the Undo view, opened when no dropped change had been seen.
  static func droppedPage(_ rows: [DroppedRow]) -> ListPage<DroppedListing, DroppedRow> {
    ListPage(droppedListing, Window(total: rows.count, offset: 0, rows: rows))
  }

  static var droppedListing: DroppedListing {
    var listing = DroppedListing()
    listing.seenThrough = 0
    return listing
  }

  /// A change that the policy dropped and nobody has seen, of a record that was edited since.
  static func unseen(_ id: Int64, of operation: Int64) -> DroppedRow {
    var queued = queued(operation)
    queued.apply(.ready(.ready, now: now))
    var change = DroppedChange(queued.changes, of: queued, .serverKept(fields: ["note", "total"]), at: now - 20_000)
    change.isOpen = false
    return DroppedRow(id: id, change)
  }

  /// An unseen change, a decision that overwrote a value of the server, a discarded change, and the local side of a
  /// resolved conflict.
  static var dropped: [DroppedRow] {
    let (discarded, resolved, decided) = (queued(21), queued(22), queued(23))
    let theirs: [String: FieldValue] = ["total": .double(15), "note": .string("theirs")]
    let overwritten = Overwritten(["total"], of: theirs, by: decided.changes)
    return [
      unseen(4, of: 24),
      DroppedRow(
        id: 3,
        DroppedChange(nil, of: decided, .resolved(by: .person), overwriting: overwritten, at: now - 25_000)
      ),
      DroppedRow(id: 2, DroppedChange(discarded.changes, of: discarded, .discarded(by: "ana"), at: now - 30_000)),
      DroppedRow(id: 1, DroppedChange(resolved.changes, of: resolved, .resolved(by: .person), at: now - 90_000)),
    ]
  }

  /// The first operation in full.
  static var detail: OperationDetail {
    var operation = queued(11)
    operation.key = RecordKey(zone, "order-1")
    operation.apply(.attempted)
    operation.apply(.failed(.refusedByApp("no")))
    (operation.cause, operation.errorCode, operation.errorMessage) = (operations[0].cause, nil, nil)
    return OperationDetail(
      operation: operation,
      server: mirrored(operation.key),
      attempts: [
        Attempt(
          number: 1,
          at: now - 80_000,
          seconds: 0.21,
          code: "BAD_REQUEST",
          message: "invalid attempt to set value type STRING for field 'total'",
          response: nil
        )
      ]
    )
  }

  /// The record of the first operation.
  static var recordDetail: RecordDetail {
    RecordDetail(server: records[0].record, row: records[0], operation: detail.operation)
  }

  static var conflict: Conflict { conflict(13) }

  static func conflict(_ id: Int64, theirs: String = "theirs") -> Conflict {
    let operation = queued(id)
    return Conflict(operation, server: mirrored(operation.key, theirs: theirs))
  }

  private static func mirrored(_ key: RecordKey, theirs: String = "theirs") -> MirrorRecord {
    MirrorRecord(
      key: key,
      type: "Order",
      changeTag: "1b",
      fields: ["total": .double(15), "note": .string(theirs)],
      modifiedAt: now - 6_000,
      modifiedBy: "_ab00"
    )
  }

  static func queued(_ id: Int64) -> QueuedOperation {
    QueuedOperation(
      id: id,
      kind: .save,
      key: RecordKey(zone, id == 13 ? "order-3" : "order-\(id)"),
      type: "Order",
      changes: FieldChanges(values: ["total": .double(20), "note": .string("ours")]),
      base: ["total": .double(12.5), "note": .string("two pieces")],
      baseTag: "1a",
      phase: .conflict(since: now - 5_000),
      cause: .ready,
      generation: 1,
      conflictRounds: 1,
      attempts: 0,
      maxAttempts: 8,
      enqueuedAt: now - 90_000,
      editedAt: now - 80_000,
      bytes: 368,
      group: nil
    )
  }
}
