import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The lines of detail views.
struct Details: Sendable {
  let model: DashboardModel

  private typealias Line = ViewState.Line

  /// One operation: kind, cause, payload beside base and server values, every attempt.
  func operation(_ detail: OperationDetail) -> [ViewState.Line] {
    guard let operation = detail.operation else {
      return detail.history.map { [Line(name: "ended", text: StyledText("\($0.ending.words): \($0.cause.text)"))] }
        ?? []
    }
    var lines = [
      line("operation", operation.kind.phrase(operation.type, operation.key)),
      Line(name: "state", text: StyledText(Words.state(operation.state.rawValue), operation.state.role)),
      line("why", operation.cause.text),
      line("attempts", "\(operation.attempts) of \(operation.maxAttempts)"),
      line(
        "enqueued",
        time(operation.enqueuedAt) + (operation.enqueuedBy.map { " by \($0.name), PID \($0.pid)" } ?? "")
      ),
    ]
    if let next = operation.nextAttemptAt { lines.append(line("next", time(next))) }
    if !operation.blockedBy.isEmpty {
      lines.append(line("waits for", operation.blockedBy.map { "operation \($0)" }.joined(separator: ", ")))
    }
    if let message = operation.errorMessage {
      lines.append(Line(name: "error", text: StyledText("\(operation.errorCode ?? "") \(message)", .error)))
    }
    for name in operation.changes.names.sorted() {
      let local = operation.changes.cleared.contains(name) ? "(cleared)" : value(operation.changes[name])
      lines.append(
        Line(
          name: name,
          text: [
            .init(local, .local), .init("   base ", .dim), .init(value(operation.base[name]), .base),
            .init("   server ", .dim), .init(value(detail.server?.fields[name]), .server),
          ]
        )
      )
    }
    for attempt in detail.attempts {
      let text = "\(time(attempt.at))  \(attempt.code ?? "ok")  \(attempt.message ?? "")"
      lines.append(line("attempt \(attempt.number)", text))
      if let response = attempt.response { lines.append(line("reply", response)) }
    }
    return lines
  }

  func record(_ row: RecordRow) -> [ViewState.Line] {
    let record = row.record
    var lines = [
      line("type", record.type), line("zone", record.key.zone),
      line("change tag", row.changeTag ?? "none, not on the server yet"),
      line("created", time(record.createdAt)),
      line("modified", "\(time(record.modifiedAt)) \(record.modifiedBy ?? "")"),
    ]
    if let operation = row.operation, let state = row.operationState {
      lines.append(
        Line(name: "pending", text: StyledText("operation \(operation), \(Words.state(state.rawValue))", state.role))
      )
    }
    for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
      lines.append(Line(name: name, text: [.init(self.value(value), .text), .init("  \(value.wireType)", .dim)]))
    }
    return lines
  }

  func sync() -> [ViewState.Line] {
    let status = model.status
    var lines = [
      line("state", "\(model.verdict.label): \(model.verdict.sentence(model.format, now: model.now))"),
      line("in sync", status.isInSync ? "yes" : "no"),
      line("last full sync", time(status.lastSuccessAt)),
      line("last local change", time(status.lastEnqueueAt)),
      line(
        "syncing process",
        status.driver.map { driver in
          let program = driver.program.map { " (\($0))" } ?? ""
          let since = driver.since.map { " since \(time($0))" } ?? ""
          return "PID \(driver.pid)\(program) on \(driver.host)\(driver.isLive ? since : ", ended")"
        } ?? "none yet"
      ),
    ]
    lines += status.throttles.map { wait in
      let scope = WaitScope(name: wait.scope).asCause
      return line("wait", "\(scope.text) until \(time(wait.until)): \(Words.joined(wait.message, wait.error))")
    }
    if let error = status.lastError {
      lines.append(line("last error", "\(time(error.at))  \(Words.joined(error.message, error.code))"))
    }
    lines += model.snapshot.zones.map { zone in
      line("zone \(zone.key.zone)", "\(zone.state), \(zone.records) records, fetched \(time(zone.lastFetchAt))")
    }
    return lines + model.snapshot.events.map { line(time($0.at), $0.message) }
  }

  func account() -> [ViewState.Line] {
    AccountPane(model: model).pairs.map { ViewState.Line(name: $0.key, text: $0.value) }
  }

  private func line(_ name: String, _ text: String) -> ViewState.Line { Line(name: name, text: StyledText(text)) }
  private func time(_ milliseconds: Int64?) -> String { model.format.time(milliseconds, now: model.now) }
  private func value(_ value: FieldValue?) -> String { value?.text ?? "(none)" }
}
