import Facts
import Foundation
import Testing

@testable import CloudService
@testable import CloudSync

@Suite struct JournalTests {
  @Test func `what is new is logged once, oldest first`() {
    var journal = Journal(after: 7, process: 1, format: Format(timeZone: .gmt))
    let events = [
      EventRow(id: 9, at: 2000, event: .dropped(record: "a", .serverKept())),
      EventRow(id: 8, at: 1000, event: .error(code: "NETWORK_ERROR", message: "cut")),
      EventRow(id: 7, at: 0, event: .inWords(kind: "error", "known")),
    ]

    #expect(
      journal.lines(status(.offline), events) == [
        "1970-01-01T00:00:01.000Z error cut (NETWORK_ERROR)",
        "1970-01-01T00:00:02.000Z merge a: the server's values were kept",
        "1970-01-01T00:00:03.000Z state offline: Offline since 00:00:00: cut",
      ]
    )
    #expect(journal.lines(status(.offline), events).isEmpty)
  }

  @Test func `what the engine is at just now is not told, what it has come to is`() {
    var journal = Journal(after: 0, process: 1, format: Format(timeZone: .gmt))
    var queued = status(.idle)
    queued.queue.pending = 1
    let states = [
      status(.fetching), status(.idle, failed: 1), queued, status(.sending),
      status(.idle, failed: 1), status(.idle, failed: 2),
    ]

    #expect(
      states.flatMap { journal.lines($0, []) } == [
        "1970-01-01T00:00:03.000Z state 1 failed: 1 change failed and waits for a decision",
        "1970-01-01T00:00:03.000Z state 2 failed: 2 changes failed and wait for a decision",
      ]
    )
  }

  @Test func `an outage is told once, and its end when a pass has ended well`() {
    var journal = Journal(after: 0, process: 1, format: Format(timeZone: .gmt))
    let states = [
      status(.offline), status(.idle, lastSuccessAt: 1), status(.offline), status(.idle, lastSuccessAt: 4000),
    ]

    #expect(
      states.flatMap { journal.lines($0, []) }.map { $0.split(separator: " ", maxSplits: 1)[1] } == [
        "state offline: Offline since 00:00:00: cut",
        "state in sync: Everything is on the server; last full sync 00:00:04",
      ]
    )
  }

  @Test func `of what backs off one is told for each error, again only after all went well`() {
    var journal = Journal(after: 0, process: 1, format: Format(timeZone: .gmt))
    let rows = [waiting(7, "INTERNAL_ERROR"), waiting(8, "INTERNAL_ERROR"), waiting(9, "CONFLICT")]
    let first = journal.lines(status(.waiting, waiting: 3), [], waiting: rows)
    let second = journal.lines(status(.sending), [], waiting: Array(rows.prefix(1)))
    _ = journal.lines(status(.idle, lastSuccessAt: 4000), [])
    let again = journal.lines(status(.waiting, waiting: 1), [], waiting: Array(rows.prefix(1)))

    #expect(
      first.map { $0.split(separator: " ", maxSplits: 1)[1] } == [
        "retrying operation 9, save Task a in zone z: CONFLICT: of 9; will be retried",
        "retrying operation 7, save Task a in zone z and 1 more: INTERNAL_ERROR: of 7; will be retried",
        "state retrying: 3 changes wait to be tried again",
      ]
    )
    #expect(second.isEmpty)
    #expect(again.count == 2)
  }

  @Test func `the process that syncs instead of this one is logged once`() {
    var journal = Journal(after: 0, process: 1, format: Format(timeZone: .gmt))
    var other = status(.sending)
    other.syncingProcess = StoreStatus.SyncingProcess(pid: 9, host: "db1", isLive: true)
    var dead = other
    dead.syncingProcess?.isLive = false
    var ours = other
    ours.syncingProcess = StoreStatus.SyncingProcess(pid: 1, host: "db1", isLive: true)

    #expect(
      [ours, other, other, dead, ours].flatMap { journal.lines($0, []) }
        .map { $0.split(separator: " ", maxSplits: 1)[1] }
        == ["syncing process 9 on db1"]
    )
  }

  @Test(
    arguments: [
      (nil, "process 1 started syncing x.sqlite"),
      (StoreStatus.SyncingProcess(pid: 1, host: "db1", isLive: true), "process 1 started syncing x.sqlite"),
      (StoreStatus.SyncingProcess(pid: 9, host: "db1", isLive: false), "process 1 started syncing x.sqlite"),
      (
        StoreStatus.SyncingProcess(pid: 9, host: "db1", isLive: true),
        "process 1 waits to sync x.sqlite; process 9 on db1 is syncing it"
      ),
    ]
  )
  func `the first line says whether this process syncs, or waits for another`(
    _ driver: StoreStatus.SyncingProcess?,
    _ line: String
  ) {
    #expect(Journal.start(1, "x.sqlite", driver) == line)
  }

  private func waiting(_ id: Int64, _ code: String) -> QueueRow {
    let key = RecordKey(ZoneKey(zone: "z"), "a")
    var operation = QueuedOperation(
      .save,
      key,
      type: "Task",
      FieldChanges(),
      base: [:],
      baseTag: nil,
      group: nil,
      now: 0
    )
    operation.id = id
    operation.apply(.deferred(until: 0, isServersWait: false))
    operation.errorCode = code
    operation.errorMessage = "of \(id)"
    return QueueRow(operation, serverTag: nil)
  }

  /// A store that this process syncs, and these facts of it.
  private func status(_ state: StoreStatus.State, failed: Int = 0, waiting: Int = 0, lastSuccessAt: Int64? = nil)
    -> StoreStatus
  {
    var status = StoreStatus(generatedAt: 3000)
    status.activity = state == .sending ? .sending : state == .fetching ? .fetching : .idle
    status.syncingProcess = StoreStatus.SyncingProcess(pid: 1, host: "db1", isLive: true)
    (status.queue.failed, status.queue.waiting, status.queue.total) = (failed, waiting, failed + waiting)
    let zone = ZoneKey(zone: "z")
    for (state, count) in [(OperationState.failed, failed), (.waiting, waiting)] where count > 0 {
      status.queue.parts.append(QueuePart(state: state, zone: zone, type: "Task", count: count, bytes: 0))
    }
    if state == .offline {
      status.networkProblem = ScopeWait(
        scope: .network,
        until: 0,
        code: "NETWORK_ERROR",
        message: "cut",
        isOwn: true,
        since: 0
      )
    }
    (status.lastSuccessAt, status.reachedEnd) = (lastSuccessAt, lastSuccessAt != nil)
    return status
  }
}
