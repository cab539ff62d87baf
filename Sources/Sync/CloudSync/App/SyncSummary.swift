public import CloudKit
import Facts

/// The results of a sync.
public struct SyncSummary: Sendable, Hashable, Codable {
  /// Changes that the server accepted.
  public package(set) var sent = 0
  /// Changes that became dead letters.
  public package(set) var failed = 0
  /// Records that were added or changed.
  public package(set) var fetched = 0
  /// Records that were deleted.
  public package(set) var deleted = 0
  /// Requests made.
  public package(set) var requests = 0
  /// Whether all changes were fetched to the end and nothing more could be sent.
  public package(set) var reachedEnd = false
  /// Requested record types that the server does not know.
  package var unknownTypes: [String] = []
  /// Changes that wait for the app, because the process of this sync could not ask it; nil if there are none.
  public package(set) var waitForApp: Int?
  package var error: WebServicesError?
  package var lastItemError: WebServicesError?

  package init() {}

  /// Adds the results of a sync of another database.
  package mutating func add(_ other: SyncSummary) {
    sent += other.sent
    failed += other.failed
    fetched += other.fetched
    deleted += other.deleted
    requests += other.requests
    reachedEnd = reachedEnd && other.reachedEnd
    waitForApp = [waitForApp, other.waitForApp].compactMap(\.self).reduce(0, +)
    if waitForApp == 0 { waitForApp = nil }
    lastItemError = lastItemError ?? other.lastItemError
  }

  /// Whether anything was changed.
  var hasChanged: Bool { sent + failed + fetched + deleted > 0 }

  /// The event of a sync, or of several, of a process that keeps syncing.
  func synced(seconds: Double) -> Event {
    .synced(sent: sent, fetched: fetched, deleted: deleted, failed: failed, seconds: seconds)
  }

  /// The event of the end of a sync that ran once.
  func ended(seconds: Double, _ stop: Event.SyncStop?) -> Event {
    let results = Event.SyncResults(sent: sent, fetched: fetched, deleted: deleted, failed: failed)
    return .syncEnded(by: .current, results, seconds: seconds, stop: stop)
  }

  /// The error that stopped the sync; nil if it reached its end or is waiting.
  public var failure: CKError? { error.map { CKError(stopping: $0) } }

  /// The last error that did not stop the sync: of a single change, a zone's change feed or a polled query. That change
  /// is retried or failed for good; the feed is fetched again by a later sync, and `reachedEnd` is false.
  public var itemFailure: CKError? { lastItemError.map { CKError(ofItem: $0) } }

  private enum CodingKeys: String, CodingKey { case sent, failed, fetched, deleted, requests, reachedEnd, waitForApp }
}
