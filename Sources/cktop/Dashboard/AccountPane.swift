import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// Who we are to the server, and what is at risk if that ends.
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
      KeyValues.Pair("signed", StyledText("\(model.credential) at \(model.url)", .text)),
      KeyValues.Pair("at stake", stake),
      KeyValues.Pair("zones", StyledText(zones, .text)),
      KeyValues.Pair("store", StyledText(model.storePath, .dim)),
    ]
    if model.scope.database == .public {
      pairs.append(KeyValues.Pair("feed", StyledText("none here: read by modification time, deletes by sweep", .dim)))
    }
    return pairs
  }

  private var verdict: StyledText {
    if let problem = model.status.accountProblem { return StyledText("\(problem.code): \(problem.message)", .error) }
    if model.status.identity == nil { return StyledText("not asked yet", .dim) }
    return StyledText("available", .ok)
  }

  /// What would be lost with this machine.
  private var stake: StyledText {
    let queue = model.status.queue
    guard queue.total > 0 else { return StyledText("nothing: all is on the server", .ok) }
    return StyledText(
      "\(Words.count(queue.total, "change")), \(Format.bytes(queue.bytes)), only here so far",
      .warning
    )
  }

  private var zones: String {
    model.snapshot.zones.map { "\($0.key.zone) \($0.records)" }.joined(separator: "  ")
  }
}
