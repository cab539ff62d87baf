import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts

/// `cktop queue show`.
struct QueueShow: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one operation: payload, base and server values, every attempt, what it waits for."
  )

  @Argument(help: "The operation's number.", transform: { try VersionedID.number($0, from: "cktop queue list") })
  var id: Int64
  @Flag(help: "Print one JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let detail = try session.reader().view({ try $0.detail(of: id) }), let object = detail.json else {
      throw CommandFailure.noOperation(id)
    }
    OutputStream.standard.lines(json ? [object.line] : OperationText(detail).lines.map(\.visible))
  }
}

/// `queue show` for people.
struct OperationText {
  private let detail: OperationDetail
  private let format: Format
  private let now: Int64

  init(_ detail: OperationDetail, format: Format = Format(), now: Int64 = SyncStore.currentTime) {
    (self.detail, self.format, self.now) = (detail, format, now)
  }

  /// A line for each fact, then for each field and each attempt.
  var lines: [String] {
    var lines: [String] = []
    if let operation = detail.operation {
      lines += head(QueueRow(operation, serverTag: detail.server?.changeTag), operation, made: detail.attempts.count)
      for name in operation.changes.names.sorted() {
        let values = [operation.base[name], operation.changes[name], detail.server?.fields[name]]
          .map { $0?.text(format) ?? "(none)" }
        lines.append("  \(name): base \(values[0]) | local \(values[1]) | server \(values[2])")
      }
    } else if let entry = detail.history {
      lines.append(
        "operation \(entry.id): \(entry.kind.phrase(entry.type, entry.key))"
      )
      lines.append("  ended      \(entry.ending.words) at \(time(entry.endedAt)): \(why(entry.cause))")
    }
    for dropped in detail.dropped {
      lines.append("  dropped    \(dropped.parts) at \(time(dropped.at)): \(why(dropped.cause))")
    }
    for attempt in detail.attempts.reversed() {
      let error = attempt.code.map { "\($0): \(attempt.message ?? "")" } ?? "ok"
      let request = attempt.requestID.map { ", request \($0)" } ?? ""
      lines.append("  attempt \(attempt.number) at \(time(attempt.at)): \(error)\(request)")
    }
    return lines
  }

  private func head(_ row: QueueRow, _ operation: QueuedOperation, made: Int) -> [String] {
    let program = operation.enqueuedBy.map { " by \($0.name), PID \($0.pid)" } ?? ""
    let spared =
      made > row.attempts
      ? "; \(made) were made, but those before a retry or with an outside cause do not count" : ""
    var lines = [
      "operation \(row.id): \(row.kind.phrase(row.type, row.key))",
      "  version    \(row.version)",
      "  state      \(Words.state(row.state.rawValue)), \(why(row.cause))",
      "  enqueued   \(time(row.enqueuedAt))\(program), \(row.bytes) bytes",
      "  attempts   \(row.attempts) of \(row.maxAttempts)\(spared)",
    ]
    if let next = row.nextAttemptAt { lines.append("  next       \(time(next))") }
    if !row.blockedBy.isEmpty { lines.append("  waits for  \(row.blockedBy.map(String.init).joined(separator: ", "))") }
    if let code = row.errorCode { lines.append("  error      \(code): \(row.errorMessage ?? "")") }
    return lines
  }

  private func time(_ milliseconds: Int64) -> String { format.time(milliseconds, now: now) }
  private func why(_ cause: Cause) -> String { cause.text(format, now: now) }
}
