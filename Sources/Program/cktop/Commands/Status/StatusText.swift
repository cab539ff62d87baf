import CloudKit
import CloudService
import CloudSync
import Dashboard
import Facts
import TerminalUI

/// `status` for people.
struct StatusText {
  private let status: StoreStatus
  private let object: StatusObject
  private let format: Format

  init(_ object: StatusObject, format: Format = Format()) {
    (self.object, self.format) = (object, format)
    status = object.status
  }

  /// One line, for a status bar.
  ///
  /// - Parameter width: the columns of the terminal that it has to fit; nil: it is whole.
  func line(width: Int? = nil) -> String {
    let line = "\(object.verdict.label): \(sentence)".visible
    return width.map { line.cut(toColumns: $0) } ?? line
  }

  private var sentence: String { object.verdicts.sentence(format, now: status.generatedAt) }

  /// Everything, the verdict first, then a fact a line.
  var lines: [String] {
    let verdict = object.verdict
    let step = verdict.nextStep.map { "; run \($0)" } ?? ""
    var lines = ["\(object.verdicts.urgency.rawValue) \(verdict.label): \(sentence)\(step)"]
    // The rest of what is wrong, each with its own way out.
    for other in object.verdicts.others where other.urgency != .fine {
      let step = other.nextStep.map { "; run \($0)" } ?? ""
      lines.append(
        "\(other.urgency.rawValue) \(other.label): \(other.sentence(format, now: status.generatedAt))\(step)"
      )
    }
    lines += [
      fact("Store", object.storePath ?? "none"),
      fact("Cloud", "\(object.scope.container), \(object.scope.environment), \(object.scope.database.rawValue)"),
      fact("Account", account),
    ]
    lines += status.syncFacts(format, now: status.generatedAt).map(\.line.plain)
    if let progress = status.progress { lines.append(Fact("Progress", progress.line).line.plain) }
    lines.append(fact("Queue", queue))
    let zones = sums { $0.zone.title }
    let types = sums { $0.type.isEmpty ? "(no type)" : $0.type }
    for (name, parts) in [("  by zone", zones), ("  by type", types)] where parts.count > 1 {
      lines.append(fact(name, parts.joined(separator: ", ")))
    }
    lines.append(fact("Records", records))
    lines += status.heldDeletions.map { fact("On hold", "\($0.text); \($0.waysOfDeciding)") }
    for unreadable in status.unreadable {
      let since = "since \(time(unreadable.since)); the local copy may be out of date"
      lines.append(fact("Unreadable", "\(unreadable.summary) \(since)"))
    }
    if status.dropped.unseen > 0 {
      let count = Words.count(status.dropped.unseen, "local change")
      lines.append(
        fact("Dropped", "\(count) not seen by a person; cktop conflicts dropped lists them, --seen marks them as seen")
      )
    }
    for pause in status.pauses {
      let since = pause.at > 0 ? " since \(time(pause.at))" : ""
      lines.append(fact("Paused", "\(pause.rule.text)\(pause.actor.map { " by \($0)" } ?? "")\(since)"))
    }
    return lines + status.waitFacts(format, now: status.generatedAt).map(\.line.plain)
  }

  private func fact(_ label: String, _ text: String) -> String { Fact(label, text).line.plain }
  private func time(_ milliseconds: Int64) -> String { format.time(milliseconds, now: status.generatedAt) }

  private var account: String {
    let user = object.account.user.map { " as \($0)" } ?? ""
    let state = object.account.status
    let status = object.account.words + (state == .noAccount || state == .couldNotDetermine ? "" : user)
    return "\(status); \(object.account.detail)"
  }

  private var queue: String {
    let queue = status.queue
    guard !queue.words.isEmpty else { return "empty" }
    return "\(Words.count(queue.total, "change")) (\(queue.words)), \(Format.bytes(queue.bytes))"
  }

  /// How much of the queue there is of each, by its name.
  private func sums(_ name: (QueuePart) -> String) -> [String] {
    let parts = Dictionary(grouping: status.queue.parts, by: name).sorted { $0.key < $1.key }
    return parts.map { name, parts in
      let (count, bytes) = parts.reduce((0, 0)) { ($0.0 + $1.count, $0.1 + $1.bytes) }
      return "\(name) \(count) (\(Format.bytes(bytes)))"
    }
  }

  private var records: String {
    let types = status.recordsByType.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    return types.isEmpty ? "0" : "\(status.recordCount) (\(types.joined(separator: ", ")))"
  }
}
