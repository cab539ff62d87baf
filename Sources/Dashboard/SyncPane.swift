import CloudService
import CloudSync
import Facts
import TerminalUI

/// The state of syncing, its progress, and the latest events.
struct SyncPane: Sendable {
  let model: DashboardModel
  let state: ViewState

  func draw(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    grid.put(headline, in: area.row(0))
    drawProgress(on: &grid, in: area.row(1))
    grid.put(counts, in: area.row(2))
    grid.put(StyledText(schedule, .dim), in: area.row(3))
    guard area.height > 5 else { return }
    let rest = Rect(x: area.x, y: area.y + 5, width: area.width, height: area.height - 5)
    for (row, event) in model.snapshot.events.dropFirst(state.syncOffset).prefix(rest.height).enumerated() {
      let role: StyleRole = event.kind == "error" ? .error : .text
      let time = model.format.time(event.at, now: model.now)
      grid.put([.init(time, .dim), .init("  \(event.message)", role)], in: rest.row(row))
    }
  }

  private var status: StoreStatus { model.status }

  private var headline: StyledText {
    if let failure = model.readFailure { return [.init("unreadable", .error), .init("  \(failure)", .text)] }
    guard model.snapshot.hasStore else { return StyledText(model.firstStep, .warning) }
    let verdict = model.verdict
    return StyledText(verdict.sentence(model.format, now: model.now), verdict.urgency.role)
  }

  private func drawProgress(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    guard let progress = status.progress, progress.phase != .fetch, progress.total > 0 else {
      let text =
        status.progress.map { "\(Words.count($0.done, "change")) fetched" }
        ?? "last full sync \(time(status.lastSuccessAt))"
      grid.put(StyledText(text, .dim), in: area)
      return
    }
    let rate = progress.perSecond.map { "  \(Int($0))/s" } ?? ""
    let eta = progress.etaSeconds.map { "  \(Format.duration($0)) left" } ?? ""
    let parts = area.columns([.flexible, .fixed(min(12, state.rates.isEmpty ? 0 : 12))], gap: 1)
    grid.draw(
      Gauge(
        Double(progress.done) / Double(progress.total),
        label: StyledText("\(progress.amount)/\(progress.whole)\(rate)\(eta)")
      ),
      in: parts[0]
    )
    grid.draw(Chart(state.rates), in: parts[1])
  }

  private var counts: StyledText {
    let queue = status.queue
    let parts: [(Int, String, StyleRole)] = [
      (queue.pending, "pending", .pending), (queue.inFlight, "sending", .active),
      (queue.waiting, "retrying", .warning), (queue.failed, "failed", .error), (queue.conflicts, "conflict", .conflict),
      (queue.paused, "paused", .dim),
    ]
    var spans: [StyledText.Span] = []
    for (count, name, role) in parts where count > 0 {
      if !spans.isEmpty { spans.append(.init("  ", .text)) }
      spans.append(.init("\(count) \(name)", role))
    }
    return spans.isEmpty ? StyledText("queue empty", .ok) : StyledText(spans)
  }

  /// The syncing process if it is not the expected one, otherwise the next action.
  var schedule: String {
    let driver = status.driver.flatMap { $0.isLive ? $0 : nil }
    guard let driver else {
      if model.syncing != .off { return "Starting to sync" }
      if let failure = model.syncFailure { return "Syncing stopped: \(failure)" }
      if !model.snapshot.hasStore { return "" }
      if model.isReadOnly || !model.hasCredential { return "No process is syncing this store" }
      return "Not syncing. s syncs once, S keeps syncing"
    }
    if model.syncing == .always, driver.pid != model.pid {
      return "PID \(driver.pid) is syncing; this dashboard is next"
    }
    if let wait = status.throttles.max(by: { $0.until < $1.until }) {
      return "\(WaitScope(name: wait.scope).asCause.text) until \(time(wait.until))"
    }
    if let at = status.nextActionAt, let action = status.nextAction { return "next: \(action) at \(time(at))" }
    return driver.pid == model.pid ? "Syncing here; S stops" : "Synced by PID \(driver.pid) on \(driver.host)"
  }

  private func time(_ milliseconds: Int64?) -> String { model.format.time(milliseconds, now: model.now) }
}
