import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The account on the server, and the changes that exist only on this machine.
struct AccountPane: Sendable {
  let model: DashboardModel

  func draw(on grid: inout Grid, in area: Rect) {
    grid.draw(KeyValues(pairs), in: area)
  }

  var pairs: [KeyValues.Pair] {
    let status = model.status
    var pairs = [
      KeyValues.Pair("account", verdict),
      KeyValues.Pair("user", StyledText(status.identity ?? "not known yet", .text)),
      KeyValues.Pair("sign-in", StyledText("\(Words.credential(model.credential)), \(model.url)", .text)),
      KeyValues.Pair("unsent", stake),
      KeyValues.Pair("zones", StyledText(zones, .text)),
      KeyValues.Pair("store", StyledText(model.storePath, .dim)),
    ]
    if model.scope.database == .public {
      pairs.append(KeyValues.Pair("changes", StyledText("polled; deletions are found by a full scan", .dim)))
    }
    return pairs
  }

  private var verdict: StyledText {
    if let problem = model.status.accountProblem {
      return StyledText(Words.joined(problem.message, problem.code), .error)
    }
    if model.status.identity == nil { return StyledText("not checked yet", .dim) }
    return StyledText("signed in", .ok)
  }

  /// Changes that exist only on this machine.
  private var stake: StyledText {
    let queue = model.status.queue
    guard queue.total > 0 else { return StyledText("nothing", .ok) }
    return StyledText(
      "\(Words.count(queue.total, "change")), \(Format.bytes(queue.bytes)), only on this machine",
      .warning
    )
  }

  private var zones: String {
    model.snapshot.zones.map { "\($0.key.zone) \($0.records)" }.joined(separator: "  ")
  }
}
