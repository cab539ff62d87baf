import CloudKit
import CloudSync
import Facts

/// How a pass ended, read from what it reported and from the store behind it: a pass that another process made reports
/// its counts alone.
struct PassEnd {
  let summary: PassSummary
  let state: StoreStatus
  let status: CommandStatus
  /// What stopped the pass as a whole, or stands in its way.
  let error: WebServicesError?
  var failure: CommandFailure? { error.map { CommandFailure($0) } }

  /// - Parameters:
  ///   - startedAt: milliseconds since 1970.
  ///   - waitForCloud: how many rows wait because the cloud was not reached, or asked for it.
  init(_ summary: PassSummary, _ state: StoreStatus, startedAt: Int64, failedForPerson: Int, waitForCloud: Int) {
    self.summary = summary
    self.state = state
    error = summary.error ?? (summary.reachedEnd ? nil : Self.standing(state, since: startedAt))
    var codes = [error.map { CommandFailure($0).status } ?? .done]
    if state.needsPerson || failedForPerson > 0 || summary.waitForApp != nil { codes.append(.personNeeded) }
    let isHeld = !state.throttles.isEmpty && (state.unpaused(.pending) > 0 || !summary.reachedEnd)
    if isHeld || waitForCloud > 0 { codes.append(.cloudUnreachable) }
    if state.queue.failed > 0 || state.unpaused(.waiting) > 0 { codes.append(.itemsFailed) }
    status = .combined(codes)
  }

  /// What the store says stands in the way: an account's trouble, a wait, or the error that ended the pass.
  private static func standing(_ state: StoreStatus, since startedAt: Int64) -> WebServicesError? {
    if let problem = state.accountProblem { return WebServicesError(ServerErrorCode(problem.code), problem.message) }
    if let wait = state.throttles.first {
      let seconds = Double(max(0, wait.until - state.generatedAt)) / 1000
      return WebServicesError(ServerErrorCode(wait.error), wait.message, retryAfter: seconds)
    }
    guard let error = state.lastError, error.at >= startedAt else { return nil }
    return WebServicesError(ServerErrorCode(error.code), error.message)
  }

  /// The summary for people.
  var line: String {
    var line = "sent \(summary.sent), fetched \(summary.fetched), deleted \(summary.deleted)"
    let queue = state.queue
    let left = [
      (queue.pending + queue.inFlight, "to be sent"), (queue.waiting, "waiting"), (queue.failed, "failed"),
      (queue.paused, "paused"), (queue.conflicts, "in conflict"),
    ]
    for (count, word) in left where count > 0 { line += ", \(count) \(word)" }
    if let count = summary.waitForApp { line += ", \(count) waiting for the app" }
    if state.isInSync { return line + "; in sync" }
    guard !state.pauses.isEmpty else { return line + "; not in sync" }
    return line + "; \(state.pauses.map(\.reason).joined(separator: ", ")), cktop queue resume --all lifts that"
  }

  /// The summary for scripts.
  var json: JSONObject {
    [
      "sent": .integer(Int64(summary.sent)), "fetched": .integer(Int64(summary.fetched)),
      "deleted": .integer(Int64(summary.deleted)), "failed": .integer(Int64(state.queue.failed)),
      "waiting": .integer(Int64(state.queue.waiting)), "conflicts": .integer(Int64(state.queue.conflicts)),
      "queued": .integer(Int64(state.queue.total)), "requests": .integer(Int64(summary.requests)),
      "waitForApp": .integer(Int64(summary.waitForApp ?? 0)), "reachedEnd": .bool(summary.reachedEnd),
      "inSync": .bool(state.isInSync),
      "error": .error(error?.code.name, error?.reason),
    ]
  }

  private static let listed = 50

  /// Lists what failed, waits, conflicts or is held back, a line each on standard error.
  func listFailures(_ store: SyncStore) throws {
    // What stopped the pass as a whole has been told.
    if error == nil, state.queue.pending > 0 {
      for wait in state.throttles {
        CommandFailure("\(wait.scope) waits after \(wait.error): \(wait.message); cktop status says until when", status)
          .report()
      }
    }
    if let count = summary.waitForApp {
      let what = count == 1 ? "1 change waits" : "\(count) changes wait"
      CommandFailure("\(what) for the app; sync with the app, or release with cktop sync --without-app", status)
        .report()
    }
    let filter = try QueueFilter(parsing: "state in ('failed', 'waiting', 'conflict')")
    let found = try store.operations(matching: filter, limit: Self.listed)
    for row in found.rows {
      let what = row.kind.isOfZone ? "zone \(row.key.zone)" : "\(row.type ?? "record") \(row.key.name)"
      let why =
        row.state == .conflict
        ? "conflict" : row.cause.text
      let advice = row.state == .conflict ? "cktop conflicts show \(row.id)" : "cktop queue show \(row.id)"
      CommandFailure("\(what): \(why); \(advice)", status).report()
    }
    if found.total > Self.listed {
      CommandFailure("and \(found.total - Self.listed) more; cktop queue list tells all", status).report()
    }
    for unreadable in state.unreadable {
      let remedy = "the local copy may be out of date, give this credential the right to read"
      CommandFailure("\(unreadable.summary); \(remedy)", status).report()
    }
    for held in state.heldDeletions {
      let zone = held.zoneID.zoneName
      let what =
        held.isWholeZone
        ? "zone \(zone) was deleted on the server, its \(held.records) records are kept here"
        : "\(held.records) records of zone \(zone) were deleted on the server, they are kept here"
      CommandFailure(
        "\(what) until you decide: cktop zones restore \(zone.asArgument), or cktop zones accept \(zone.asArgument)",
        status
      ).report()
    }
  }
}
