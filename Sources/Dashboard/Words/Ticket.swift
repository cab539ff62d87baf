import CloudKit
import CloudSync
import Facts
import TerminalUI

/// An operation as lines for a ticket: what and where it is, why it is in its state, and every attempt. It has no values of
/// fields, because they may be confidential, apart from what the cause and the server's messages quote.
struct Ticket {
  var detail: OperationDetail
  var scope: SyncStore.Scope
  var host: String
  /// Milliseconds since 1970.
  var now: Int64
  var format: Format

  /// The lines, safe to show; nil if the store knows nothing of the operation.
  var text: String? {
    guard let head else { return nil }
    let place = "\(scope.container), \(scope.environment), \(scope.database.rawValue) database"
    let lines =
      [head.title, line("Time", time(now)), line("Host", host), line("Container", place)] + head.lines + attempts
    return lines.map { sanitize($0) }.joined(separator: "\n")
  }

  private var head: (title: String, lines: [String])? {
    if let operation = detail.operation {
      let state = "\(Words.state(operation.state.rawValue)): \(why(operation.cause))"
      let lines = [
        line("Operation", String(operation.id)), line("State", state),
        line("Enqueued", enqueued(operation.enqueuedAt, operation.enqueuedBy)),
        line("Attempts", "\(operation.attempts) of \(operation.maxAttempts) used"),
      ]
      return (operation.kind.phrase(operation.type, operation.key).sentence, lines + sides(operation))
    }
    return detail.history.map { ended in
      let lines = [
        line("Operation", String(ended.id)),
        line("State", "\(ended.ending.words) \(time(ended.endedAt)): \(why(ended.cause))"),
        line("Enqueued", enqueued(ended.enqueuedAt, ended.enqueuedBy)),
      ]
      return (ended.kind.phrase(ended.type, ended.key).sentence, lines)
    }
  }

  /// When each side of a conflict was edited.
  private func sides(_ operation: QueuedOperation) -> [String] {
    guard operation.state == .conflict else { return [] }
    let conflict = Conflict(operation, server: detail.server)
    let by = conflict.serverModifiedBy.map { " by \($0)" } ?? ""
    let server = conflict.isDeletedOnServer ? "deleted" : "\(conflict.serverModifiedAt.map(time) ?? "unknown")\(by)"
    return [line("Edited", time(conflict.editedAt)), line("On the server", server)]
  }

  private var attempts: [String] {
    detail.attempts.reversed().map { attempt in
      let result = attempt.code.map { Words.joined(attempt.message ?? "", $0) } ?? "ok"
      let request = attempt.requestID.map { ", request \($0)" } ?? ""
      return "  \(attempt.number)  \(time(attempt.at))  \(Format.seconds(attempt.seconds))  \(result)\(request)"
    }
  }

  private func enqueued(_ at: Int64, _ by: ProgramID?) -> String {
    time(at) + (by.map { " by \($0.name), PID \($0.pid)" } ?? "")
  }

  private func line(_ name: String, _ text: String) -> String { name.padding(to: 15) + text }

  // A ticket is read on other machines, so its times have their offset.
  private func time(_ milliseconds: Int64) -> String { format.value(milliseconds) }
  private func why(_ cause: Cause) -> String { cause.text(format, now: now) }
}
