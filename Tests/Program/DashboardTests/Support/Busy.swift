import CloudKit
import CloudService
import Facts
import TerminalUI

@testable import CloudSync
@testable import Dashboard

/// A store that has been in use for a week: long lists, all states, long and wide names, and times of other days.
enum Busy {
  private static let (minute, hour, day): (Int64, Int64, Int64) = (60_000, 3_600_000, 86_400_000)

  private static let zones = [
    ZoneKey(zone: "notes"), ZoneKey(zone: "photos-of-the-summer-2025"), ZoneKey(zone: "家計簿"),
    ZoneKey(zone: "shared", owner: "_f684b3e89a634573e4989c85a4b643aa"),
  ]
  private static let types = ["Task", "Photo", "Einkaufsliste"]
  private static let names = [
    "t1041", "買い物リスト-2025", "👩‍👩‍👧‍👦 family trip", "0b9d4c1e-5f3a-4c8e-9f27-6a1d2e3f4a5b", "Überweisung März", "p33",
    "메모-한국어-아주-긴-이름의-기록",
  ]

  static func world(_ size: Size, _ change: (inout World) -> Void = { _ in }) -> World {
    Sample.world(size) { world in
      world.data = data
      change(&world)
    }
  }

  static let data: ViewData = {
    var data = ViewData()
    data.status = status
    data.queue = ListPage(QueueListing(), Window(total: 12_345, offset: 0, rows: queue), retryable: 359)
    data.records = ListPage(RecordListing(), Window(total: 98_110, offset: 0, rows: records))
    data.zones = Sample.zones(zoneRows)
    data.conflicts = Window(total: 1_204, offset: 0, rows: conflicts)
    data.events = ListPage(EventListing(), Window(total: 500, offset: 0, rows: events))
    data.dropped = Sample.droppedPage(dropped)
    data.causes = causes
    data.throughput = throughput
    data.verdicts = verdicts
    data.operation = ViewData.Read(queue[0].id, detail)
    data.record = ViewData.Read(records[0].record.key, recordDetail)
    return data
  }()

  /// A day's minutes: nothing while no process synced, or while it met no network.
  private static let throughput: [Throughput] = (0..<1440).filter { $0 % 97 < 40 }.compactMap { place in
    let age = Int64(1440 - place)
    let isStill = verdicts.contains { span in
      [nil, .offline, .signedOut].contains(span.state)
        && (span.from..<span.until).contains(Sample.now - age * minute)
    }
    return isStill
      ? nil
      : Throughput(
        at: (Sample.now / minute - age + 1) * minute,
        sent: place * 37 % 211,
        fetched: place * 11 % 41,
        failed: place % 97 == 7 ? 3 : 0
      )
  }

  /// A day with an outage, a night in which no process was syncing, and a sign-in that ended.
  private static let verdicts: [VerdictSpan] = {
    let held: [(age: Int64, state: VerdictState?, urgency: Verdict.Urgency?)] = [
      (1440, .inSync, .fine), (1180, .offline, .waits), (1165, .inSync, .fine), (760, nil, nil),
      (640, .sending, .fine), (600, .inSync, .fine), (420, .failed, .look), (390, .inSync, .fine),
      (120, .signedOut, .act), (45, .sending, .fine), (33, .offline, .waits), (12, .failed, .look),
    ]
    return held.enumerated().map { place, span in
      let end = place + 1 < held.count ? held[place + 1].age : 0
      return VerdictSpan(
        span.state,
        span.urgency,
        from: Sample.now - span.age * minute,
        until: Sample.now - end * minute
      )
    }
  }()

  private static let status: StoreStatus = {
    var status = Sample.status([])
    status.queue.total = 12_345
    (status.queue.failed, status.queue.conflicts, status.queue.waiting) = (47, 1_204, 312)
    (status.queue.inFlight, status.queue.paused, status.queue.pending) = (200, 24, 10_558)
    status.queue.bytes = 48_000_000
    status.queue.parts = [QueuePart(state: .pending, zone: zones[0], type: "Task", count: 10_558, bytes: 40_000_000)]
    status.queue.oldestPendingAt = Sample.now - 6 * day
    status.topFailure = FailureSummary(
      cause: queue[0].cause,
      code: "BAD_REQUEST",
      message: rejection,
      count: 31,
      more: 16,
      isWhole: true,
      isFieldRejected: true
    )
    status.lastSuccessAt = Sample.now - 2 * day
    status.identity = "_f684b3e89a634573e4989c85a4b643aa"
    status.recordsByType = ["Task": 61_000, "Photo": 37_110]
    return status
  }()

  private static let missing = FailureCause.referenceMissing(
    field: "list",
    name: names[3],
    code: "VALIDATING_REFERENCE_ERROR"
  )
  private static let rejection = "invalid attempt to set value type STRING for field 'done', defined to be INT64"

  // MARK: - Rows

  /// The failed operations, then the conflicts, and so on, as the queue's list has them: the worst first.
  static let queue: [QueueRow] =
    rows(12, .failed, from: 13_104) { place, row in
      row.cause = .failed(place % 3 == 1 ? missing : .rejected(code: "BAD_REQUEST", message: rejection))
      row.errorCode = place % 3 == 1 ? "VALIDATING_REFERENCE_ERROR" : "BAD_REQUEST"
      row.attempts = 1
    } + rows(8, .conflict, from: 12_201) { $1.cause = .conflict(.fields(["title", "note", "dueDate"])) }
    + rows(6, .waiting, from: 12_400) { place, row in
      row.cause = .backOff(code: "INTERNAL_ERROR", attempt: place + 1, of: 8)
      row.nextAttemptAt = Sample.now + Int64(place) * 17 * minute + 12_000
    } + rows(4, .paused, from: 12_500) { $1.cause = .paused(by: "root") }
    + rows(4, .inFlight, from: 12_600) { $1.cause = .sending }
    + rows(26, .pending, from: 20_001) { place, row in
      switch place % 4 {
      case 0: row.cause = .ready
      case 1: row.cause = .waitsFor([13_104, 13_111], isGroup: false, names: ["Task/t1041"])
      case 2:
        row.cause = .waits(.database, code: "THROTTLED", until: Sample.now + 22 * hour)
        row.nextAttemptAt = Sample.now + 22 * hour
      default: row.cause = .filesFirst
      }
    }

  private static func rows(
    _ count: Int,
    _ state: OperationState,
    from first: Int64,
    _ change: (Int, inout QueueRow) -> Void
  ) -> [QueueRow] {
    (0..<count).map { place in
      Sample.operation(first + Int64(place) * 7, state, names[(place + Int(first)) % names.count]) { row in
        row.key = RecordKey(zones[place % zones.count], row.key.name)
        row.type = types[place % types.count]
        row.kind = place % 5 == 4 ? .delete : .save
        row.enqueuedAt = Sample.now - Int64(place % 7) * day - Int64(place) * 11 * minute
        change(place, &row)
      }
    }
  }

  private static let records: [RecordRow] = (0..<60).map { place in
    let fields: [String: FieldValue] = [
      "title": .string(place % 2 == 0 ? "Buy milk and eggs" : "冷蔵庫を買う 🧊"), "done": .int64(Int64(place % 2)),
      "width": .int64(4032), "height": .int64(3024), "note": .string("two lines,\nthe second one is longer"),
    ]
    let row = queue[place % queue.count]
    return RecordRow(
      record: MirrorRecord(
        key: RecordKey(zones[place % zones.count], "\(names[place % names.count])-\(place)"),
        type: types[place % types.count],
        changeTag: "1a\(place)",
        fields: fields,
        createdAt: Sample.now - 30 * day,
        modifiedAt: Sample.now - Int64(place / 6) * day - Int64(place) * 7 * minute,
        modifiedBy: place % 3 == 0 ? "_f684b3e89a634573e4989c85a4b643aa" : "_ab00c0ffee00c0ffee00c0ffee00c0ff"
      ),
      changeTag: "1a\(place)",
      operation: place % 4 == 0 ? row.id : nil,
      operationState: place % 4 == 0 ? row.state : nil
    )
  }

  private static let conflicts: [Conflict] = (0..<40).map { place in
    var operation = Sample.queued(12_201 + Int64(place) * 7)
    operation.key = RecordKey(zones[place % zones.count], names[place % names.count])
    operation.type = types[place % types.count]
    operation.changes = FieldChanges(values: [
      "title": .string("Buy oat milk"), "note": .string("2 l, と卵を6個"), "dueDate": .timestamp(1_767_000_000_000),
    ])
    operation.base = ["title": .string("Buy milk"), "note": .string("1 l"), "dueDate": .timestamp(1_766_000_000_000)]
    operation.editedAt = Sample.now - Int64(place % 7) * day
    return Conflict(operation, server: server(operation.key))
  }

  private static func server(_ key: RecordKey) -> MirrorRecord {
    MirrorRecord(
      key: key,
      type: "Task",
      changeTag: "1b",
      fields: [
        "title": .string("Buy milk, the good one from the market hall"), "note": .string("1 l"),
        "dueDate": .timestamp(1_767_300_000_000), "done": .int64(0),
      ],
      createdAt: Sample.now - 30 * day,
      modifiedAt: Sample.now - 3 * day,
      modifiedBy: "_ab00c0ffee00c0ffee00c0ffee00c0ff"
    )
  }

  private static let events: [EventRow] = (0..<60).map { place in
    let name = names[place % names.count]
    let event: Event =
      switch place % 6 {
      case 0: .synced(sent: 10_412 - place, fetched: 38, deleted: 2, failed: place % 4, seconds: 12.1)
      case 1: .failed(record: "Task/\(name)", .rejected(code: "BAD_REQUEST", message: rejection))
      case 2: .conflict(record: "Photo/\(name)", .fields(["title", "note", "dueDate"]))
      case 3: .error(code: "NETWORK_ERROR", message: "connection refused", scope: "network")
      case 4: .recovered(.network, seconds: 252)
      default: .command(.retry(.matching("state = 'failed'")), count: 12_345)
      }
    var row = EventRow(id: Int64(1000 - place), at: Sample.now - Int64(place) * 173 * minute, event: event)
    row.operation = place % 6 == 1 ? queue[0].id : nil
    row.zone = place % 6 == 1 ? zones[place % zones.count].zone : nil
    row.actor = place % 6 == 5 ? "administrator@mail-relay-03" : nil
    return row
  }

  private static let zoneRows: [ZoneRow] = (0..<60).map { place in
    Sample.zoneRow(place < 4 ? zones[place].zone : "\(names[place % names.count])-\(place)") { row in
      row.records = place == 0 ? 61_000 : 98_110 / (place + 3)
      if place < 4 { row.key = zones[place] }
      row.queued = place < 5 ? [.pending: 10_558 / (place + 1), .failed: place == 1 ? 31 : 0] : [:]
      row.isPaused = place == 2
      row.lastFetchAt = Sample.now - Int64(place % 8) * day - Int64(place) * 13 * minute
      row.tokenAt = row.lastFetchAt
      if place == 0 {
        row.held = HeldDeletions(zone: row.key, version: "v", records: 12_345, isWholeZone: false, since: .distantPast)
      }
    }
  }

  private static let dropped: [DroppedRow] = (0..<30).map { place in
    var operation = Sample.queued(9_000 + Int64(place))
    operation.key = RecordKey(zones[place % zones.count], names[place % names.count])
    let cause: Cause = place % 2 == 0 ? .discarded(by: "administrator@mail-relay-03") : .resolved(by: .person)
    let change = DroppedChange(operation.changes, of: operation, cause, at: Sample.now - Int64(place) * 7 * hour)
    return DroppedRow(id: Int64(100 - place), change)
  }

  static let causes: [QueueCause] = [
    cause(.failed, "BAD_REQUEST", rejection, 31, 6 * day, releases: 1_204),
    cause(.failed, "VALIDATING_REFERENCE_ERROR", "the record … is missing", 16, 2 * day),
    cause(.waiting, "INTERNAL_ERROR", nil, 312, 3 * hour),
  ]

  private static func cause(
    _ state: OperationState,
    _ code: String,
    _ message: String?,
    _ count: Int,
    _ age: Int64,
    releases: Int = 0
  ) -> QueueCause {
    var cause = QueueCause(
      state: state,
      code: code,
      message: message,
      cause: queue[0].cause,
      count: count,
      first: queue[0].id,
      oldestAt: Sample.now - age,
      nextAttemptAt: nil
    )
    cause.releases = releases
    return cause
  }

  // MARK: - Details

  private static let detail: OperationDetail = {
    var operation = Sample.queued(queue[0].id)
    (operation.key, operation.type) = (queue[0].key, queue[0].type)
    operation.changes = FieldChanges(values: ["done": .string("yes"), "title": .string("Buy oat milk")])
    operation.base = ["done": .int64(0), "title": .string("Buy milk")]
    operation.apply(.attempted)
    operation.apply(.failed(.rejected(code: "BAD_REQUEST", message: rejection)))
    (operation.cause, operation.enqueuedAt) = (queue[0].cause, queue[0].enqueuedAt)
    let attempt = Attempt(
      number: 1,
      at: Sample.now - 30 * minute,
      seconds: 0.21,
      code: "BAD_REQUEST",
      message: rejection,
      response: #"{"serverErrorCode": "BAD_REQUEST", "reason": "BadRequestException", "uuid": "7a3e11c8"}"#
    )
    return OperationDetail(operation: operation, server: server(operation.key), attempts: [attempt])
  }()

  private static let recordDetail = RecordDetail(
    server: records[0].record,
    row: records[0],
    operation: detail.operation
  )
}
