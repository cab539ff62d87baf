package import CloudKit
package import CloudSync
package import Facts

/// The end of a sync, computed from its summary and the store: the summary of another process's sync has only counts.
package struct SyncReport {
  package let summary: SyncSummary
  package let state: StoreStatus
  package let status: CommandStatus
  /// The error that stopped the sync, or that keeps it from completing.
  package let error: WebServicesError?
  /// The error in words, and the remedy.
  package let failure: CommandFailure?

  /// - Parameters:
  ///   - startedAt: milliseconds since 1970.
  ///   - waitForCloud: the number of rows that wait because the cloud was unreachable or asked to wait.
  package init(_ summary: SyncSummary, _ state: StoreStatus, startedAt: Int64, failedForPerson: Int, waitForCloud: Int)
  {
    (self.summary, self.state) = (summary, state)
    error = summary.error ?? (summary.reachedEnd ? nil : Self.standing(state, since: startedAt))
    var codes = [error?.failure.status ?? .done]
    let problems = state.verdicts(hasCredential: true).problems
    let block = problems.first { $0.kind == .blocked }
    failure = error.map { error in
      // The server rejects it at the next try, too: the problem behind it needs a person.
      guard summary.error == nil, error.code == .badRequest, let block, let step = block.nextStep else {
        return error.failure
      }
      let sentence = block.sentence(Format(), now: state.generatedAt)
      return CommandFailure("\(sentence.prefix(1).lowercased())\(sentence.dropFirst()); run \(step)", .personNeeded)
    }
    // Other processes may sync later; changes for the app are counted in the summary.
    let isForPerson = { (verdict: Verdict) in
      verdict.status == .personNeeded && ![.notSyncing, .waitingForApp].contains(verdict.kind)
    }
    if problems.contains(where: isForPerson) || failedForPerson > 0
      || summary.waitForApp != nil
    {
      codes.append(.personNeeded)
    }
    let isHeld = !state.throttles.isEmpty && (state.unpaused(.pending) > 0 || !summary.reachedEnd)
    if isHeld || waitForCloud > 0 { codes.append(.cloudUnreachable) }
    if state.queue.failed > 0 || state.unpaused(.waiting) > 0 { codes.append(.itemsFailed) }
    status = .combined(codes)
  }

  /// Reads the store after a sync that began at `startedAt`.
  package init(_ summary: SyncSummary, startedAt: Int64, _ reader: StoreReader) throws {
    self = try reader.view { view in
      SyncReport(
        summary,
        try view.status(),
        startedAt: startedAt,
        failedForPerson: try view.failuresForPerson(),
        waitForCloud: try view.waitsForCloud()
      )
    }
  }

  /// Returns notes about the changes that a sync dropped.
  package static func dropped(in store: SyncStore, since startedAt: Int64) throws -> [String] {
    var notes: [String] = []
    let lost = try store.lostChanges()
    if lost > 0 {
      let what = "\(Words.count(lost, "change")) lost with a damaged row of the store"
      notes.append(
        "\(what); run cktop conflicts dropped, make the change again, then run cktop conflicts dropped --seen"
      )
    }
    let dropped = try store.view { try $0.dropped() }.count { $0.at >= startedAt && $0.isAutomatic }
    if dropped > 0 {
      notes.append(
        "dropped \(Words.count(dropped, "change")); run cktop conflicts dropped to see why and what can be undone"
      )
    }
    return notes
  }

  /// The obstacle that the store records: an account problem, a wait, or the error that ended the sync.
  private static func standing(_ state: StoreStatus, since startedAt: Int64) -> WebServicesError? {
    if let wait = state.standingWait {
      let seconds = wait.scope == .account ? nil : Double(max(0, wait.until - state.generatedAt)) / 1000
      return WebServicesError(ServerErrorCode(wait.code), wait.message, retryAfter: seconds)
    }
    guard let error = state.lastError, error.at >= startedAt else { return nil }
    return WebServicesError(ServerErrorCode(error.code), error.message)
  }

  /// The summary for people.
  package var line: String {
    var line = "sent \(summary.sent), fetched \(summary.fetched), deleted \(summary.deleted)"
    if !state.queue.words.isEmpty { line += ", \(state.queue.words)" }
    if let count = summary.waitForApp { line += ", \(count) waiting for the app" }
    if state.isInSync { return line + "; in sync" }
    guard !state.pauses.isEmpty else { return line + "; not in sync" }
    return line + "; \(state.pauses.reasons); run \(state.pauses.resumeCommands) to resume"
  }

  private static let listed = 50

  /// Returns the failures, retries, conflicts, waits and deletions on hold that the sync leaves.
  package func failures(_ reader: StoreReader) throws -> [CommandFailure] {
    try waits + operations(reader) + unreadable + held
  }

  private var waits: [CommandFailure] {
    var waits: [CommandFailure] = []
    // The error that stopped the sync is reported by itself.
    if error == nil, state.queue.pending > 0 {
      waits += state.throttles.map { wait in
        let what = "\(wait.scope.asCause.text): \(Words.joined(wait.message, wait.code))"
        return CommandFailure("\(what); run cktop status to see until when", status)
      }
    }
    if let count = summary.waitForApp {
      let what = "\(Words.changes(count, "wait")) for the app"
      waits.append(CommandFailure("\(what); sync with the app, or run cktop sync --without-app", status))
    }
    return waits
  }

  private func operations(_ reader: StoreReader) throws -> [CommandFailure] {
    let filter = try QueueFilter(parsing: "state in ('failed', 'waiting', 'conflict')")
    let found = try reader.view { try $0.operations(matching: filter, limit: Self.listed) }
    let operations = found.rows.map { row in
      let what = row.kind.isOfZone ? "zone \(row.key.zone)" : "\(row.type ?? "record") \(row.key.name)"
      let isConflict = row.state == .conflict
      let why = isConflict ? "conflict" : row.cause.text(Format(), now: state.generatedAt)
      let advice = isConflict ? "cktop conflicts show \(row.id)" : "cktop queue show \(row.id)"
      return CommandFailure("\(what): \(why); run \(advice)", status)
    }
    let more = found.total - Self.listed
    guard more > 0 else { return operations }
    return operations + [CommandFailure("and \(more) more; run cktop queue list to see all", status)]
  }

  private var unreadable: [CommandFailure] {
    state.unreadable.map { unreadable in
      let remedy =
        unreadable.record == nil
        ? "the local copy may be out of date, grant this credential read access"
        : "the local copy keeps its last version, correct the value on the server"
      return CommandFailure("\(unreadable.summary); \(remedy)", status)
    }
  }

  private var held: [CommandFailure] {
    state.heldDeletions.map {
      CommandFailure("\($0.text), local copies are kept; run \($0.waysOfDeciding)", status)
    }
  }
}
