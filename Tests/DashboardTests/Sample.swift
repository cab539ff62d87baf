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

  static func model(_ change: (inout DashboardModel) -> Void = { _ in }) -> DashboardModel {
    var model = DashboardModel(
      snapshot: snapshot,
      scope: SyncStore.Scope(container: "iCloud.org.example.shop", environment: "development", database: .private),
      credential: "webAuth",
      url: "http://127.0.0.1:8080",
      storePath: "/var/lib/cktop/shop.sqlite",
      notice: nil,
      isReadOnly: false,
      now: now,
      format: format
    )
    change(&model)
    return model
  }

  static var snapshot: Snapshot {
    var status = StoreStatus(generatedAt: now)
    status.state = .waiting
    status.reason = "1 in back-off"
    status.lastSuccessAt = now - 60_000
    status.lastEnqueueAt = now - 1_000
    status.nextActionAt = now + 12_000
    status.nextAction = "retry"
    status.driver = StoreStatus.Driver(pid: 4711, host: "mail", isLive: true)
    status.queue = StoreStatus.Queue()
    status.queue.total = 5
    status.queue.pending = 2
    status.queue.waiting = 1
    status.queue.failed = 1
    status.queue.conflicts = 1
    status.queue.bytes = 1_840
    status.queue.oldestPendingAt = now - 90_000
    status.recordsByType = ["Order": 3]
    status.recordsByZone = ["Shop": 3]
    status.identity = "_0f00"
    return Snapshot(
      status: status,
      queue: Window(total: 5, offset: 0, rows: operations),
      records: Window(total: 3, offset: 0, rows: records),
      zones: [ZoneRow(key: zone, state: "ready", records: 3, tokenAt: now - 60_000, lastFetchAt: now - 60_000)],
      conflicts: [conflict],
      events: [
        EventRow(id: 2, at: now - 2_000, event: .error(code: "INTERNAL_ERROR", message: "oops")),
        EventRow(id: 1, at: now - 60_000, event: .command(verb: "flush", selection: "", count: 0)),
      ]
    )
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

  private static func operation(
    _ id: Int64,
    _ state: OperationState,
    _ name: String,
    _ change: (inout QueueRow) -> Void
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

  static var conflict: Conflict {
    var operation = QueuedOperation(
      id: 13,
      kind: .save,
      key: RecordKey(zone, "order-3"),
      type: "Order",
      changes: FieldChanges(values: ["total": .double(20), "note": .string("ours")]),
      base: ["total": .double(12.5), "note": .string("two pieces")],
      baseTag: "1a",
      state: .conflict,
      cause: .ready,
      generation: 1,
      sentGeneration: nil,
      sentKind: nil,
      needsReadBack: false,
      conflictRounds: 1,
      attempts: 0,
      maxAttempts: 8,
      nextAttemptAt: nil,
      errorCode: nil,
      errorMessage: nil,
      enqueuedAt: now - 90_000,
      editedAt: now - 80_000,
      conflictAt: now - 5_000,
      bytes: 368,
      group: nil
    )
    operation.conflictAt = now - 5_000
    return Conflict(
      operation,
      server: MirrorRecord(
        key: operation.key,
        type: "Order",
        changeTag: "1b",
        fields: ["total": .double(15), "note": .string("theirs")],
        modifiedAt: now - 6_000,
        modifiedBy: "_ab00"
      )
    )
  }
}
