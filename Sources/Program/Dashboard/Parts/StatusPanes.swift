import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The state of syncing: what moves, how fast, and who syncs.
struct SyncPane: Sendable {
  private let world: World

  init(_ world: World) { self.world = world }

  /// Draws as much as there is room for, the most important first.
  func draw(on grid: inout Grid, in area: Rect) {
    guard let status = world.status, world.readFailure == nil else {
      let text = StyledText(world.readFailure ?? "", .error)
      for (line, part) in wrap(text, to: area.width, grid.glyphs).enumerated() { grid.put(part, in: area.row(line)) }
      return
    }
    let hasGauge = status.progress.map { $0.phase != .fetch && $0.total > 0 } ?? false
    var parts: [Part] = [.headline]
    if hasGauge { parts.append(.gauge) }
    parts.append(.who)
    if !rules(status).isEmpty { parts.append(.rules) }
    for part in [Part.sent, .fetched, .today] where parts.count < area.height { parts.append(part) }
    let order: [Part] = [.headline, .gauge, .rules, .sent, .fetched, .today, .who]
    for (line, part) in order.filter(parts.contains).prefix(area.height).enumerated() {
      draw(part, status, on: &grid, in: area.row(line))
    }
  }

  private enum Part { case headline, gauge, rules, sent, fetched, today, who }

  private func draw(_ part: Part, _ status: StoreStatus, on grid: inout Grid, in row: Rect) {
    switch part {
    case .headline: grid.put(headline(status), in: row)
    case .gauge:
      guard let progress = status.progress else { return }
      let fraction = Double(progress.done) / Double(max(1, progress.total))
      grid.draw(Gauge(fraction, label: StyledText("\(Gauge.share(fraction, of: 100))%")), in: row)
    case .rules: grid.put(StyledText(rules(status), .warning), in: row)
    case .sent: chart("sent", \.sent, on: &grid, in: row)
    case .fetched: chart("fetched", \.fetched, on: &grid, in: row)
    case .today: grid.put(StyledText(today(status), .dim), in: row)
    case .who: grid.put(StyledText(who(status), .dim), in: row)
    }
  }

  private func headline(_ status: StoreStatus) -> StyledText {
    if let progress = status.progress { return progress.line }
    if let wait = status.throttles.max(by: { $0.until < $1.until }) {
      let text = wait.scope.asCause.wait(until: world.time(wait.until), isOwn: wait.isOwn)
      return StyledText(text.sentence, .warning)
    }
    let next = status.nextActionAt.map { "  next try \(world.moment($0))" } ?? ""
    if status.isPaused { return StyledText("Paused", .warning) }
    // What holds it up must not look like rest.
    if let verdict = world.verdict, [.act, .look].contains(verdict.urgency) {
      return StyledText(verdict.label.sentence, verdict.urgency.role)
    }
    let state = status.isSyncing ? "Idle" : world.syncing == .off ? "Not syncing" : "Starting"
    return [.init(state, .text), .init(next, .dim)]
  }

  /// The rules that pause zones and types, with who made them; empty if there are none.
  private func rules(_ status: StoreStatus) -> String {
    let rules = status.pauses.filter { $0.rule != .everything }.map { pause in
      let by = pause.actor.map { " by \($0)" } ?? ""
      return "\(pause.rule.text)\(by)\(pause.at > 0 ? " \(world.clock(pause.at))" : "")"
    }
    return rules.isEmpty ? "" : "Paused: \(Words.list(rules))"
  }

  private func chart(_ name: String, _ value: KeyPath<Throughput, Int>, on grid: inout Grid, in row: Rect) {
    ThroughputChart(world, name, value).draw(on: &grid, in: row)
  }

  private func today(_ status: StoreStatus) -> String { "24 h  \(status.lastDay.words)" }

  private func who(_ status: StoreStatus) -> String {
    let last = status.lastSuccessAt.map { "; last full sync \(world.moment($0))" } ?? ""
    if let process = status.syncingProcess, let since = process.stalledSince {
      let what = process.isStopped ? "is stopped since" : "has not moved since"
      return "PID \(process.pid) \(what) \(world.moment(since))\(last)"
    }
    guard status.isSyncing else {
      return world.syncing == .off ? "No process is syncing\(last)" : "Starting to sync here"
    }
    guard let process = world.otherProcess else { return "Syncing here\(last)" }
    if world.syncing == .always { return "Synced by PID \(process.pid); this dashboard takes over after it" }
    return "Synced by \(process.name)\(last)"
  }
}

/// The account on the server, and what exists only on this machine.
struct AccountPane: Sendable {
  private let world: World

  init(_ world: World) { self.world = world }

  func draw(on grid: inout Grid, in area: Rect) {
    guard let status = world.status else { return }
    grid.draw(KeyValues(facts(status)), in: area)
  }

  func facts(_ status: StoreStatus) -> [Fact] {
    [
      account(status), Fact("User", user(status)), unsent(status), quota(status),
      Fact("Store", world.storePath, .dim),
    ]
  }

  private func user(_ status: StoreStatus) -> String {
    if status.isAnonymous { return "none" }
    return status.identity.map { shortened($0) } ?? "not known yet"
  }

  private func shortened(_ user: String) -> String {
    user.count > 34 ? "\(user.prefix(9))…\(user.suffix(4))" : user
  }

  private func account(_ status: StoreStatus) -> Fact {
    if let problem = status.accountProblem {
      return Fact("Account", Words.joined(problem.message, problem.code).sentence, .error)
    }
    if status.isRefused { return Fact("Account", "wrong account for this store", .error) }
    let credential = Words.credential(world.credential)
    if !world.hasCredential { return Fact("Account", "no credential here", .warning) }
    if !world.canSync { return Fact("Account", "\(credential), no user signed in", .warning) }
    if status.identity == nil { return Fact("Account", "\(credential), not checked yet", .dim) }
    return Fact(status.isAnonymous ? "Account" : "Signed in", credential, .ok)
  }

  private func quota(_ status: StoreStatus) -> Fact {
    if let problem = status.quotaProblem {
      return Fact("Quota", problem.message.isEmpty ? "full" : "full: \(problem.message)", .error)
    }
    return status.identity == nil ? Fact("Quota", "not known yet") : Fact("Quota", "ok", .ok)
  }

  private func unsent(_ status: StoreStatus) -> Fact {
    guard status.queue.total > 0 else { return Fact("Unsent", "nothing", .ok) }
    return Fact("Unsent", "\(Format.number(status.queue.total)) (\(Format.bytes(status.queue.bytes)))", .warning)
  }
}
