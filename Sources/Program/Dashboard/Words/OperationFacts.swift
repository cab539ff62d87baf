import CloudKit
import CloudService
package import CloudSync
package import Facts
import TerminalUI

/// An operation as facts: what it is, why it is in its state, and every attempt. It has no values of fields, because
/// they may be confidential, apart from what the cause and the server's messages quote.
package struct OperationFacts {
  let detail: OperationDetail
  let format: Format
  /// Milliseconds since 1970.
  let now: Int64
  /// Returns a time as text; nil: as in lists.
  var time: ((Int64) -> String)?

  package init(_ detail: OperationDetail, _ format: Format, now: Int64) {
    (self.detail, self.format, self.now) = (detail, format, now)
  }

  /// The operation and its record; nil if the store knows nothing of it.
  package var title: String? {
    (detail.operation.map { $0.kind.phrase($0.type, $0.key) }
      ?? detail.history.map { $0.kind.phrase($0.type, $0.key) })?.sentence
  }

  /// The facts, the state first.
  var facts: [Fact] {
    (detail.operation.map(live) ?? detail.history.map(ended) ?? [])
      + detail.dropped.map { Fact("Dropped", "\($0.parts) at \(time($0.at)): \(why($0.cause))") }
  }

  /// The facts, then the attempts, oldest first.
  package var lines: [String] {
    facts.map(\.line.plain) + detail.attempts.reversed().map { "  \(line($0).plain)" }
  }

  /// When an attempt was made, how long it took and what came of it.
  func line(_ attempt: Attempt) -> StyledText {
    let request = attempt.requestID.map { ", request \($0)" } ?? ""
    let result = attempt.code.map { Words.joined(attempt.message ?? "", $0) } ?? "ok"
    return [
      .init("\(attempt.number)  \(time(attempt.at))  \(Format.seconds(attempt.seconds))  ", .dim),
      .init(result + request),
    ]
  }

  private func live(_ operation: QueuedOperation) -> [Fact] {
    let row = QueueRow(operation, serverTag: detail.server?.changeTag)
    // Attempts before a retry, or with an outside cause, do not count.
    let made = detail.attempts.count > row.attempts ? ", \(detail.attempts.count) made" : ""
    let state = StyledText(Words.state(row.state.rawValue), row.state.role)
    var facts = [
      Fact("State", state + StyledText(": \(why(row.cause))")),
      Fact("Attempts", "\(row.attempts) of \(row.maxAttempts) used\(made)"),
    ]
    if let remedy = row.cause.remedy { facts.append(Fact("Next step", remedy)) }
    if let next = row.nextAttemptAt { facts.append(Fact("Next attempt", time(next))) }
    if !row.blockedBy.isEmpty {
      facts.append(Fact("Waits for", "operation \(Words.list(row.blockedBy.map(String.init)))"))
    }
    facts.append(Fact("Enqueued", "\(enqueued(row.enqueuedAt, operation.enqueuedBy)), \(Format.bytes(row.bytes))"))
    if operation.state == .conflict {
      facts += Conflict(operation, server: detail.server).edits(time)
    } else if operation.editedAt != row.enqueuedAt {
      facts.append(Fact("Edited", time(operation.editedAt)))
    }
    return facts + [Fact("Operation", String(row.id)), Fact("Version", row.version)]
  }

  private func ended(_ entry: HistoryEntry) -> [Fact] {
    [
      Fact("State", "\(entry.ending.words) \(time(entry.endedAt)): \(why(entry.cause))"),
      Fact("Enqueued", enqueued(entry.enqueuedAt, entry.enqueuedBy)), Fact("Operation", String(entry.id)),
    ]
  }

  private func enqueued(_ at: Int64, _ by: ProgramID?) -> String {
    "\(time(at)) (\(Format.ago(at, now: now)))" + (by.map { " by \($0.name), PID \($0.pid)" } ?? "")
  }

  private func time(_ milliseconds: Int64) -> String { time?(milliseconds) ?? format.time(milliseconds, now: now) }
  private func why(_ cause: Cause) -> String { cause.text(format, now: now) }
}
