import CloudKit
import CloudService
package import CloudSync
package import Facts
import TerminalUI

/// An operation as lines, each a label and a text: what it is, why it is in its state, and every attempt. It has no values
/// of fields, because they may be confidential, apart from what the cause and the server's messages quote.
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

  /// What the operation does to which record; nil if the store knows nothing of it.
  package var title: String? {
    (detail.operation.map { $0.kind.phrase($0.type, $0.key) }
      ?? detail.history.map { $0.kind.phrase($0.type, $0.key) })?.sentence
  }

  /// The facts, then the attempts, oldest first.
  package var lines: [String] {
    var facts = detail.operation.map(live) ?? detail.history.map(ended) ?? []
    facts += detail.dropped.map { ("Dropped", "\($0.parts) at \(time($0.at)): \(why($0.cause))") }
    return facts.map { Self.line($0, $1) }
      + detail.attempts.reversed().map { attempt in
        let request = attempt.requestID.map { ", request \($0)" } ?? ""
        let took = Format.seconds(attempt.seconds)
        return "  \(attempt.number)  \(time(attempt.at))  \(took)  \(attempt.result)\(request)"
      }
  }

  private func live(_ operation: QueuedOperation) -> [(String, String)] {
    let row = QueueRow(operation, serverTag: detail.server?.changeTag)
    // Attempts before a retry, or with an outside cause, do not count.
    let made = detail.attempts.count > row.attempts ? ", \(detail.attempts.count) made" : ""
    var facts = [
      ("Operation", String(row.id)), ("Version", row.version),
      ("State", "\(Words.state(row.state.rawValue)): \(why(row.cause))"),
      ("Enqueued", "\(enqueued(row.enqueuedAt, operation.enqueuedBy)), \(Format.bytes(row.bytes))"),
      ("Attempts", "\(row.attempts) of \(row.maxAttempts) used\(made)"),
    ]
    if let next = row.nextAttemptAt { facts.append(("Next attempt", time(next))) }
    if !row.blockedBy.isEmpty {
      facts.append(("Waits for", "operation \(row.blockedBy.map(String.init).joined(separator: ", "))"))
    }
    guard operation.state == .conflict else { return facts }
    let conflict = Conflict(operation, server: detail.server)
    let by = conflict.serverModifiedBy.map { " by \($0)" } ?? ""
    let server = conflict.isDeletedOnServer ? "deleted" : "\(conflict.serverModifiedAt.map(time) ?? "unknown")\(by)"
    return facts + [("Edited", time(conflict.editedAt)), ("On the server", server)]
  }

  private func ended(_ entry: HistoryEntry) -> [(String, String)] {
    [
      ("Operation", String(entry.id)), ("State", "\(entry.ending.words) \(time(entry.endedAt)): \(why(entry.cause))"),
      ("Enqueued", enqueued(entry.enqueuedAt, entry.enqueuedBy)),
    ]
  }

  private func enqueued(_ at: Int64, _ by: ProgramID?) -> String {
    time(at) + (by.map { " by \($0.name), PID \($0.pid)" } ?? "")
  }

  static func line(_ name: String, _ text: String) -> String { name.padding(to: 15) + text }

  private func time(_ milliseconds: Int64) -> String { time?(milliseconds) ?? format.time(milliseconds, now: now) }
  private func why(_ cause: Cause) -> String { cause.text(format, now: now) }
}

/// The facts of an operation for a ticket, with where and when they were read.
struct Ticket {
  var detail: OperationDetail
  var scope: SyncStore.Scope
  var host: String
  /// Milliseconds since 1970.
  var now: Int64
  var format: Format

  /// The lines, safe to show; nil if the store knows nothing of the operation.
  var text: String? {
    var facts = OperationFacts(detail, format, now: now)
    // A ticket is read on other machines, so its times have their offset.
    facts.time = { format.value($0) }
    guard let title = facts.title else { return nil }
    let place = "\(scope.container), \(scope.environment), \(scope.database.rawValue) database"
    let head = [("Time", format.value(now)), ("Host", host), ("Container", place)]
    return ([title] + head.map { OperationFacts.line($0, $1) } + facts.lines).map { sanitize($0) }
      .joined(separator: "\n")
  }
}

extension Attempt {
  /// What the server answered, or that it succeeded.
  var result: String { code.map { Words.joined(message ?? "", $0) } ?? "ok" }
}

extension DroppedChange {
  /// The dropped fields, and those of the server that were overwritten.
  package var parts: String {
    let dropped = kind == .delete ? "(deletion)" : changes.names.sorted().joined(separator: ", ")
    guard let overwritten else { return dropsChange ? dropped : Words.resolvedForThisSide }
    let names = overwritten.values?.names.sorted().joined(separator: ", ") ?? "(deletion)"
    return [dropped, "server's \(names)"].filter { !$0.isEmpty }.joined(separator: "; ")
  }
}

extension Conflict.Field {
  /// The three values on a line.
  package func line(_ format: Format) -> String {
    let values = [base, local, server].map { $0?.text(format) ?? "(none)" }
    return "  \(name): base \(values[0]) | local \(values[1]) | server \(values[2])"
  }
}
