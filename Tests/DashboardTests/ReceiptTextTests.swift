import CloudService
import Facts
import Testing

@testable import CloudSync
@testable import Dashboard

/// The one place where all sentences about commands stand together.
@Suite(.serialized) struct ReceiptTextTests {
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
    var status = StoreStatus(generatedAt: Sample.now)
    let until = Sample.now + 3_600_000
    status.throttles = [
      StoreStatus.Throttle(scope: "database", until: until, error: "THROTTLED", message: "", isOwn: false)
    ]
    return status
  }

  private static let sentences: [(Receipt, String)] = [
    (receipt(.perform(.retry, .all)) { ($0.verb, $0.changed) = (.retry, 12) }, "Retried 12 operations"),
    (
      receipt(.perform(.retry, .ids([4]))) { ($0.verb, $0.skipped) = (.retry, [4: .inState("pending")]) },
      "Left operation 4 as it is: it is already waiting to be sent"
    ),
    (
      receipt(.perform(.discard, .ids([4, 5, 6]))) {
        ($0.verb, $0.changed, $0.unanswered) = (.discard, 1, 1)
        $0.skipped = [5: .beingSent]
        $0.gone = [6]
      },
      "Discarded 1 operation; the reply to it was lost, so the server may have it; "
        + "left operation 5 as it is: it is being sent (and 1 more)"
    ),
    (receipt(.pause([.everything])) { $0.changed = 1 }, "Paused everything"),
    (receipt(.pause([.everything])), "Everything was paused already"),
    (receipt(.resume([.everything])) { $0.changed = 1 }, "Resumed everything"),
    (receipt(.resume([.type("Task")])), "Type Task was not paused"),
    (receipt(.pause([.zone(Sample.zone)])) { $0.changed = 1 }, "Paused zone Shop"),
    (receipt(.pause([.zone(Sample.zone), .everything])) { $0.changed = 1 }, "Paused 1 zone; 1 was paused already"),
    (receipt(.perform(.pause, .ids([4]))) { ($0.verb, $0.changed) = (.pause, 1) }, "Paused 1 operation"),
    (
      receipt(.perform(.pause, .ids([4]))) { ($0.verb, $0.skipped) = (.pause, [4: .inState("paused")]) },
      "Left operation 4 as it is: it is paused"
    ),
    (
      receipt(.perform(.retry, .ids([4, 5]))) {
        ($0.verb, $0.changed, $0.recreated) = (.retry, 2, ["notes"])
      },
      "Retried 2 operations; this creates zone notes again on the server"
    ),
    (receipt(.flush), "Trying again now"),
    (receipt(.flush) { $0.changed = 2 }, "Retrying 2 changes now"),
    (
      receipt(.resolve(4, take: .server, fields: [:], version: "v")) { $0.isToBeSent = true },
      "Resolved; the result will be sent"
    ),
    (receipt(.resolve(4, take: .server, fields: [:], version: "v")), "Resolved; the server's record is kept"),
    (receipt(.sync) { $0.summary = summary(sent: 3, fetched: 2) }, "Synced: 3 sent, 2 fetched"),
    (
      receipt(.sync) { ($0.summary, $0.status) = (summary(reachedEnd: false), paused()) },
      "Not everything is synced (0 sent, 0 fetched): syncing is paused"
    ),
    (
      receipt(.sync) { ($0.summary, $0.status) = (summary(reachedEnd: false), throttled()) },
      "Not everything is synced (0 sent, 0 fetched): throttled until "
        + Format().time(Sample.now + 3_600_000, now: Sample.now)
    ),
    (receipt(.undo([4])) { $0.changed = 1 }, "Restored 1 change; it will be sent"),
    (receipt(.undo([4, 5])) { $0.changed = 2 }, "Restored 2 changes; they will be sent"),
    (receipt(.undo([4])) { ($0.changed, $0.reopened) = (1, 1) }, "Restored 1 change; 1 conflict is open again"),
    (receipt(.undo([4])) { ($0.changed, $0.failedAgain) = (1, 1) }, "Restored 1 change; 1 is failed again, as before"),
    (
      receipt(.undo([4, 5, 6, 7, 8])) {
        ($0.changed, $0.failedAgain, $0.pausedAgain, $0.withdrawn) = (5, 2, 1, 1)
      },
      "Restored 5 changes; 1 will be sent, 2 are failed again, as before, 1 is paused again, as before, "
        + "1 is no longer sent"
    ),
    (
      receipt(.undo([4, 5, 6])) { ($0.changed, $0.reopened) = (3, 2) },
      "Restored 3 changes; 1 will be sent, 2 conflicts are open again"
    ),
    (Receipt(.sync, failure: CancellationError()), "The sync was stopped before it finished; s syncs again"),
    (Receipt(.sync, failure: CommandRefusal.alreadySyncing), "A sync is already running"),
    (Receipt(.flush, failure: CommandRefusal.readOnly), "Not allowed in read-only mode"),
    (Receipt(.keepSyncing, failure: StoreError(.diskFull, "no room")), "Syncing stopped: no room"),
    (Receipt(.flush, failure: StoreError(.missing, "there is no store x")), "There is no store x"),
  ]

  @Test(arguments: sentences) func `a receipt is one sentence`(receipt: Receipt, sentence: String) {
    #expect(receipt.text { ($0 as? StoreError)?.message ?? "\($0)" } == sentence)
    #expect(receipt.isError == (receipt.failure != nil))
  }
}
