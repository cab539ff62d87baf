import CloudKit
import Facts
import Testing

@testable import CloudService
@testable import CloudSync

/// The one place where all sentences about commands stand together.
@Suite(.serialized) struct ReceiptTextTests {
  private static let zone = ZoneKey(zone: "Shop")
  private static let now: Int64 = 1_780_000_000_000

  private static func receipt(_ command: ServiceCommand, _ change: (inout Receipt) -> Void = { _ in }) -> Receipt {
    var receipt = Receipt(command)
    change(&receipt)
    return receipt
  }

  private static func summary(sent: Int = 0, fetched: Int = 0, reachedEnd: Bool = true) -> SyncSummary {
    var summary = SyncSummary()
    summary.sent = sent
    summary.fetched = fetched
    summary.reachedEnd = reachedEnd
    return summary
  }

  private static func paused() -> StoreStatus {
    var status = StoreStatus(generatedAt: 0)
    status.pauses = [Pause(rule: .everything, at: 0, actor: "ana")]
    return status
  }

  private static func throttled() -> StoreStatus {
    var status = StoreStatus(generatedAt: now)
    let until = now + 3_600_000
    status.throttles = [
      ScopeWait(scope: .database, until: until, code: "THROTTLED", message: "", isOwn: false, since: now)
    ]
    return status
  }

  private static func resolved(_ left: FieldChanges?, _ kind: OperationKind = .save) -> (Conflict, Resolution) {
    let operation = QueuedOperation(.save, RecordKey(zone, "a"), type: "Task", now: 0)
    let server = MirrorRecord(key: operation.key, type: "Task", changeTag: "1", fields: [:])
    return (Conflict(operation, server: server), Resolution(kind, left))
  }

  private static func changes(_ names: String...) -> FieldChanges {
    names.reduce(into: FieldChanges()) { $0[$1] = .int64(1) }
  }

  /// A receipt of an undo that queued operations again in these states; nil: there is nothing left to send.
  private static func undone(_ states: OperationState?...) -> Receipt {
    var result = CommandResult()
    for (index, state) in states.enumerated() {
      let id = Int64(index + 4)
      result.changed.append(id)
      result.restored[id] = CommandResult.Restored(id, state)
    }
    return receipt(.undo(result.changed)) { $0.record(result) }
  }

  private static func performed(
    _ verb: QueueVerb,
    dryRun: Bool = false,
    _ change: (inout CommandResult) -> Void
  ) -> Receipt {
    var result = CommandResult()
    change(&result)
    return receipt(.perform(verb, .all, dryRun: dryRun)) { $0.record(result) }
  }

  private static let sentences: [(Receipt, String)] = [
    (performed(.retry) { $0.changed = Array(1...12) }, "Retried 12 operations"),
    (performed(.retry, dryRun: true) { $0.changed = [1] }, "Would retry 1 operation"),
    (performed(.retry) { _ in }, "Nothing to retry: no operation matches"),
    (performed(.discard, dryRun: true) { _ in }, "Nothing to discard: no operation matches"),
    (performed(.retry) { $0.notReached = 2 }, "Retried 0 operations"),
    (
      performed(.retry) { $0.skipped = [4: .inState("pending")] },
      "Left operation 4 as it is: it is already waiting to be sent"
    ),
    (
      performed(.discard) {
        ($0.changed, $0.unconfirmed, $0.skipped, $0.unknown) = ([4], [4], [5: .beingSent], [6])
      },
      "Discarded 1 operation; the reply to it was lost, so the server may have it; "
        + "left operation 5 as it is: it is being sent (and 1 more)"
    ),
    (receipt(.pause([.everything])) { $0.changed = 1 }, "Paused everything"),
    (receipt(.pause([.everything], dryRun: true)) { $0.changed = 1 }, "Would pause everything"),
    (receipt(.pause([.everything])), "Everything was paused already"),
    (receipt(.resume([.everything])) { $0.changed = 1 }, "Resumed everything"),
    (receipt(.resume([.type("Task")])), "Type Task was not paused"),
    (receipt(.resume(nil)), "Nothing was paused by a rule"),
    (receipt(.resume(nil)) { $0.record([.everything, .type("Task")]) }, "Resumed everything, type Task"),
    (receipt(.pause([.zone(zone)])) { $0.changed = 1 }, "Paused zone Shop"),
    (receipt(.pause([.zone(zone), .everything])) { $0.changed = 1 }, "Paused 1 zone; 1 was paused already"),
    (performed(.pause) { $0.changed = [4] }, "Paused 1 operation"),
    (performed(.pause) { $0.skipped = [4: .inState("paused")] }, "Left operation 4 as it is: it is paused"),
    (
      performed(.retry) { ($0.changed, $0.recreated) = ([4, 5], ["notes"]) },
      "Retried 2 operations; this creates zone notes again on the server"
    ),
    (receipt(.flush()), "Nothing waited to retry"),
    (receipt(.flush()) { $0.endsWaits = true }, "Trying again now"),
    (receipt(.flush()) { $0.changed = 2 }, "Retrying 2 changes now"),
    (
      receipt(.resolve(4, take: .server, fields: [:], version: "v")) { $0.resolutions = [resolved(changes("a", "b"))] },
      "Resolved conflict 4; 2 fields will be sent"
    ),
    (
      receipt(.resolve(4, take: .local, fields: [:], version: nil, dryRun: true)) {
        $0.resolutions = [resolved(changes("a"), .delete)]
      },
      "Would resolve conflict 4; the deletion will be sent"
    ),
    (
      receipt(.resolve(4, take: .server, fields: [:], version: "v")) { $0.resolutions = [resolved(nil)] },
      "Resolved conflict 4; the server's record is kept"
    ),
    (
      receipt(.resolveAll([4: "v", 5: "v"], take: .server, fields: [:])) {
        ($0.changed, $0.result.skipped) = (1, [5: .changed(state: "conflict")])
      },
      "Resolved 1 conflict; left conflict 5 as it is: it has changed meanwhile and is now in conflict"
    ),
    (
      receipt(.edit(4, [], version: nil)) { $0.isToBeSent = true }, "Edited operation 4; it will be sent again"
    ),
    (
      receipt(.acceptDeletions(zone, version: "v", dryRun: true)) { $0.changed = 2 },
      "Would delete 2 local copies in zone Shop"
    ),
    (
      receipt(.restoreDeletions(zone, version: "v")) { $0.changed = 1 },
      "Restored 1 record in zone Shop; they will be sent"
    ),
    (receipt(.fetchAgain([zone])) { $0.changed = 1 }, "The next sync fetches 1 zone again"),
    (
      receipt(.fetchAgain([zone])),
      "Nothing is fetched again: the zone is not on the server yet, or its deletion is on hold"
    ),
    (receipt(.sync) { $0.summary = summary(sent: 3, fetched: 2) }, "Synced: 3 sent, 2 fetched"),
    (
      receipt(.sync) { ($0.summary, $0.status) = (summary(reachedEnd: false), paused()) },
      "Not everything is synced (0 sent, 0 fetched): syncing is paused"
    ),
    (
      receipt(.sync) { ($0.summary, $0.status) = (summary(reachedEnd: false), throttled()) },
      "Not everything is synced (0 sent, 0 fetched): throttled until "
        + Format().time(now + 3_600_000, now: now)
    ),
    (undone(.pending), "Restored 1 change; it will be sent"),
    (undone(.pending, .waiting), "Restored 2 changes; they will be sent"),
    (undone(.conflict), "Restored 1 change; 1 conflict is open again"),
    (undone(.failed), "Restored 1 change; 1 is failed again, as before"),
    (
      undone(.failed, .failed, .paused, nil, .pending),
      "Restored 5 changes; 1 will be sent, 2 are failed again, as before, 1 is paused again, as before, "
        + "1 is no longer sent"
    ),
    (
      undone(.conflict, .pending, .conflict), "Restored 3 changes; 1 will be sent, 2 conflicts are open again"
    ),
    (
      receipt(.undo([4])) { $0.result.skipped = [4: .unchanged] },
      "Nothing was restored; left operation 4 as it is: the server's record has these values already"
    ),
    (Receipt(.sync, failure: CancellationError()), "The sync was stopped before it finished; sync again to continue"),
    (Receipt(.undo([4]), failure: CommandRefusal.doesNotApply("it was undone; stop")), "It was undone; stop"),
    (Receipt(.sync, failure: CommandRefusal.alreadySyncing), "A sync is already running"),
    (Receipt(.flush(), failure: CommandRefusal.readOnly), "Not allowed in read-only mode"),
    (Receipt(.keepSyncing, failure: StoreError(.diskFull, "no room")), "Syncing stopped: no room"),
    (Receipt(.flush(), failure: StoreError(.missing, "there is no store x")), "There is no store x"),
  ]

  @Test(arguments: sentences) func `a receipt is one sentence`(receipt: Receipt, sentence: String) {
    #expect(receipt.text { ($0 as? StoreError)?.message ?? "\($0)" } == sentence)
    #expect(receipt.isError == (receipt.failure != nil))
  }
}
