import CloudKit
import CloudSync
import Facts
import TerminalUI

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
    let head = [
      Fact("Time", format.value(now)), Fact("cktop", Words.version), Fact("Host", host), Fact("Container", place),
    ]
    return ([title] + head.map(\.line.plain) + facts.lines).map { sanitize($0) }
      .joined(separator: "\n")
  }
}
