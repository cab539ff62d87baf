import CloudKit
import Foundation

/// The result of a requested sync, with its errors.
private struct FinishedSync: Codable {
  struct Failure: Codable {
    var code: String
    var reason: String
    var retryAfter: Double?

    init(_ error: WebServicesError) {
      (code, reason, retryAfter) = (error.code.name, error.reason, error.retryAfter)
    }

    var error: WebServicesError { WebServicesError(ServerErrorCode(code), reason, retryAfter: retryAfter) }
  }

  var summary: SyncSummary
  var error: Failure?
  var itemError: Failure?

  init(_ summary: SyncSummary) {
    self.summary = summary
    (error, itemError) = (summary.error.map(Failure.init), summary.lastItemError.map(Failure.init))
  }

  var whole: SyncSummary {
    var whole = summary
    (whole.error, whole.lastItemError) = (error?.error, itemError?.error)
    return whole
  }
}

/// The requests that a sync serves.
struct SyncRequests: Sendable {
  var ids: [Int64] = []
  /// Record types to poll without a change feed, in addition to the known ones.
  var types: [String] = []
  /// Whether an operator released what waits for the app.
  var isWithoutApp = false
}

/// Syncs that other processes request.
extension SyncStore {
  enum RequestState {
    case requested
    case started
    case finished(SyncSummary)
  }

  /// Requests a sync from the syncing process, without waiting for it.
  package func requestSync() throws(StoreError) {
    _ = try requestSync([])
  }

  /// - Parameter isWithoutApp: whether to release what waits for the app.
  func requestSync(_ types: [String], isWithoutApp: Bool = false) throws(StoreError) -> Int64 {
    let now = now()
    return try write { try $0.insertRequest(requestedAt: now, types: types, isWithoutApp: isWithoutApp) }
  }

  func requestState(_ id: Int64) throws(StoreError) -> RequestState {
    try read { ledger in
      guard let request = try ledger.request(id) else { return .finished(SyncSummary()) }
      if let summary = request.summary, request.finishedAt != nil {
        return .finished(try JSONDecoder().decode(FinishedSync.self, from: Data(summary.utf8)).whole)
      }
      return request.startedAt == nil ? .requested : .started
    }
  }

  func hasSyncRequest() throws(StoreError) -> Bool {
    try read { try !$0.openRequests().isEmpty }
  }

  /// Starts a sync, which serves all requests at once. Writes nothing if there is none.
  func startSync(_ lease: Lease) throws(StoreError) -> SyncRequests {
    lease.joined.add { ledger, now in try Self.noteTime(now, ledger) }
    guard try hasSyncRequest() else { return SyncRequests() }
    return try write(lease) { ledger, now in
      let requests = try ledger.openRequests()
      for var request in requests where request.startedAt == nil {
        request.startedAt = now
        try ledger.put(request)
      }
      return SyncRequests(
        ids: requests.map(\.id),
        types: requests.flatMap { $0.types.split(separator: ",").map(String.init) },
        isWithoutApp: requests.contains(where: \.isWithoutApp)
      )
    }
  }

  static func finish(_ requests: [Int64], _ summary: SyncSummary, now: Int64, _ ledger: Ledger) throws {
    guard !requests.isEmpty else { return }
    let text = String(decoding: try JSONEncoder().encode(FinishedSync(summary)), as: UTF8.self)
    for id in requests {
      guard var request = try ledger.request(id) else { continue }
      request.finishedAt = now
      request.summary = text
      try ledger.put(request)
    }
    // Their requesters have read old results by now.
    try ledger.removeRequests(finishedBefore: now - SystemClock.hour)
  }
}
