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
    guard let status = world.status else {
      let text = StyledText(world.readFailure ?? "", .error)
      for (line, part) in wrap(text, to: area.width, grid.glyphs).enumerated() { grid.put(part, in: area.row(line)) }
      return
    }
    let hasGauge = status.progress.map { $0.phase != .fetch && $0.total > 0 } ?? false
    var parts: [Part] = [.headline]
    if hasGauge { parts.append(.gauge) }
    parts.append(.who)
    for part in [Part.sent, .fetched, .today] where parts.count < area.height { parts.append(part) }
    let order: [Part] = [.headline, .gauge, .sent, .fetched, .today, .who]
    for (line, part) in order.filter(parts.contains).prefix(area.height).enumerated() {
      draw(part, status, on: &grid, in: area.row(line))
    }
  }

  private enum Part { case headline, gauge, sent, fetched, today, who }

  private func draw(_ part: Part, _ status: StoreStatus, on grid: inout Grid, in row: Rect) {
    switch part {
    case .headline: grid.put(headline(status), in: row)
    case .gauge:
      guard let progress = status.progress else { return }
      let fraction = Double(progress.done) / Double(max(1, progress.total))
      let percent = min(100, max(0, Int(clamping: fraction * 100)))
      grid.draw(Gauge(fraction, label: StyledText("\(percent)%")), in: row)
    case .sent: chart("sent", \.sent, on: &grid, in: row)
    case .fetched: chart("fetched", \.fetched, on: &grid, in: row)
    case .today: grid.put(StyledText(today(status), .dim), in: row)
    case .who: grid.put(StyledText(who(status), .dim), in: row)
    }
  }

  private func headline(_ status: StoreStatus) -> StyledText {
    if let progress = status.progress {
      let phase = progress.phase == .fetch ? "Fetching" : progress.phase == .upload ? "Uploading" : "Sending"
      func text(_ count: Int) -> String { progress.phase == .upload ? Format.bytes(count) : Format.number(count) }
      let (done, total) = (text(progress.done), text(progress.total))
      let amount = progress.total > 0 ? "\(done) of \(total)" : progress.done > 0 ? done : ""
      let rate = progress.perSecond.map { "  \(Format.number(Int(clamping: $0)))/s" } ?? ""
      let left = progress.etaSeconds.map { "  \(Format.duration($0)) left" } ?? ""
      return [.init(phase, .active), .init("  \(amount)\(rate)\(left)")]
    }
    if let wait = status.throttles.max(by: { $0.until < $1.until }) {
      let scope = WaitScope(name: wait.scope).asCause
      let until = world.time(wait.until)
      if scope == .network { return [.init("Offline", .warning), .init("  next try \(until)")] }
      return [.init("Waiting", .warning), .init("  \(scope.text) until \(until)")]
    }
    let next = status.nextActionAt.map { "  next \(status.nextAction ?? "action") \(world.time($0))" } ?? ""
    if status.isPaused { return StyledText("Paused", .warning) }
    let state = status.driver?.isLive == true ? "Idle" : world.syncing == .off ? "Not running" : "Starting"
    return [.init(state, .text), .init(next, .dim)]
  }

  private func chart(_ name: String, _ value: KeyPath<Throughput, Int>, on grid: inout Grid, in row: Rect) {
    let minutes = world.data.throughput ?? []
    let places = row.columns([.fixed(7), .flexible, .fixed(row.width >= 40 ? 16 : 0)], gap: 1)
    grid.put(StyledText(name, .dim), in: places[0])
    // One value a minute up to the last minute in which something happened, so that it moves only with the data.
    let end = minutes.last.map { $0.at / 60_000 } ?? world.now / 60_000
    let count = Int64(max(0, places[1].width * 2))
    let values = Dictionary(minutes.map { ($0.at / 60_000, $0[keyPath: value]) }) { $0 + $1 }
    grid.draw(Chart((0..<count).map { Double(values[end - count + 1 + $0] ?? 0) }), in: places[1])
    let last = minutes.last.map { "\(world.shortest($0.at)) \(Format.number($0[keyPath: value]))/min" } ?? "nothing yet"
    grid.put(StyledText(last, .dim), in: places[2], .trailing)
  }

  private func today(_ status: StoreStatus) -> String {
    let day = status.lastDay
    return
      "24 h  \(Format.number(day.sent)) sent  \(Format.number(day.fetched)) fetched  \(Format.number(day.failed)) failed"
  }

  private func who(_ status: StoreStatus) -> String {
    let last = status.lastSuccessAt.map { "; last full sync \(world.time($0))" } ?? ""
    guard let driver = status.driver, driver.isLive else {
      if world.syncing != .off { return "Starting to sync here" }
      return "No process is syncing\(last)"
    }
    let here = driver.pid == world.pid
    if world.syncing == .always, !here { return "Synced by PID \(driver.pid); this dashboard takes over after it" }
    let name = here ? "Syncing here" : "Synced by PID \(driver.pid)\(driver.program.map { " (\($0))" } ?? "")"
    return "\(name)\(last)"
  }

  /// Everything about syncing, for the view in full.
  var lines: [StyledText] {
    guard let status = world.status else { return [StyledText("loading…", .dim)] }
    func line(_ name: String, _ text: String, _ role: StyleRole = .text) -> StyledText {
      [.init(name.padding(to: 18), .dim), .init(text, role)]
    }
    var lines = [
      line("State", world.sentence, world.verdict?.urgency.role ?? .text),
      line("In sync", status.isInSync ? "yes" : "no"),
      line("Last full sync", world.time(status.lastSuccessAt)),
      line("Last local change", world.time(status.lastEnqueueAt)),
      line("Syncing process", process(status)), line("Last 24 hours", String(today(status).dropFirst(6))),
    ]
    lines += status.throttles.map { wait in
      let scope = WaitScope(name: wait.scope).asCause
      return line(
        "Wait",
        "\(scope.text) until \(world.time(wait.until)): \(Words.joined(wait.message, wait.error))",
        .warning
      )
    }
    if let error = status.lastError {
      lines.append(line("Last error", "\(world.time(error.at))  \(Words.joined(error.message, error.code))"))
    }
    if let problem = status.deliveryProblem { lines.append(line("The app", problem.message, .error)) }
    lines += [line("Conflict policy", status.settings.policy?.rawValue ?? "not set yet"), ""]
    lines.append(StyledText("EVENTS", .header))
    lines += (world.data.events ?? []).map { EventLine.text($0, world) }
    return lines
  }

  private func process(_ status: StoreStatus) -> String {
    guard let driver = status.driver else { return "none yet" }
    let program = driver.program.map { " (\($0))" } ?? ""
    let since = driver.since.map { " since \(world.time($0))" } ?? ""
    return "PID \(driver.pid)\(program) on \(driver.host)\(driver.isLive ? since : ", ended")"
  }
}

/// A line of the event log.
enum EventLine {
  static func text(_ event: EventRow, _ world: World) -> StyledText {
    let role: StyleRole =
      ["error", "failed"].contains(event.kind) ? .error : event.kind == "conflict" ? .conflict : .text
    let by = event.actor.map { " (\($0))" } ?? ""
    let text = event.kind == "sync" ? "Synced: \(event.message)" : event.message.sentence
    return [.init(world.time(event.at), .dim), .init("  \(text)", role), .init(by, .dim)]
  }
}

/// The account on the server, and what exists only on this machine.
struct AccountPane: Sendable {
  private let world: World

  init(_ world: World) { self.world = world }

  func draw(on grid: inout Grid, in area: Rect) {
    guard let status = world.status else { return }
    grid.draw(KeyValues(pairs(status).map { KeyValues.Pair($0.0, $0.1) }), in: area)
  }

  private func pairs(_ status: StoreStatus) -> [(String, StyledText)] {
    [
      account(status), ("User", StyledText(status.identity.map { shortened($0) } ?? "not known yet")),
      ("Unsent", unsent(status)),
      ("Quota", quota(status)),
      ("Store", StyledText(world.storePath, .dim)),
    ]
  }

  private func shortened(_ user: String) -> String {
    user.count > 34 ? "\(user.prefix(9))…\(user.suffix(4))" : user
  }

  private func account(_ status: StoreStatus) -> (String, StyledText) {
    if let problem = status.accountProblem {
      return ("Account", StyledText(Words.joined(problem.message, problem.code).sentence, .error))
    }
    if status.isRefused { return ("Account", StyledText("wrong account for this store", .error)) }
    let credential = Words.credential(world.credential)
    if !world.hasCredential { return ("Account", StyledText("no credential here", .warning)) }
    return status.identity == nil
      ? ("Account", StyledText("\(credential), not checked yet", .dim)) : ("Signed in", StyledText(credential, .ok))
  }

  private func quota(_ status: StoreStatus) -> StyledText {
    if let problem = status.quotaProblem { return StyledText("full: \(problem.message)", .error) }
    return status.identity == nil ? StyledText("not known yet") : StyledText("ok", .ok)
  }

  private func unsent(_ status: StoreStatus) -> StyledText {
    guard status.queue.total > 0 else { return StyledText("nothing", .ok) }
    return StyledText("\(Format.number(status.queue.total)) (\(Format.bytes(status.queue.bytes)))", .warning)
  }

  /// Everything about the account, for the view in full: what is wrong, and how to mend it.
  var lines: [StyledText] {
    guard let status = world.status else { return [StyledText("loading…", .dim)] }
    func line(_ name: String, _ text: StyledText) -> StyledText { [.init(name.padding(to: 18), .dim)] + text }
    var lines = pairs(status).map { line($0.0, $0.1) }
    lines += [
      line("Server", StyledText(world.url)), line("Container", StyledText(world.scope.container)),
      line("Environment", StyledText(world.scope.environment)),
      line("Database", StyledText(world.scope.database.rawValue)), "",
    ]
    lines += advice(status).map { StyledText($0) }
    if world.scope.database == .public {
      lines.append(
        StyledText(
          "This database has no change feed: changes are polled, and deletions are found by a full scan.",
          .dim
        )
      )
    }
    return lines
  }

  private func advice(_ status: StoreStatus) -> [String] {
    switch world.verdict {
    case .wrongAccount: [world.sentence, "Use the credential of the store's user, or another store (--store)."]
    case .signedOut:
      [world.sentence] + (world.signInURL.map { ["Sign in at \($0)"] } ?? []) + [
        "Unsent changes are kept in the store and follow after you have signed in."
      ]
    case .blocked(.quota):
      [world.sentence, "Free space in the user's iCloud, or let the user buy more; saves follow by themselves."]
    case .blocked: [world.sentence, "Give the user or the key the permission in the CloudKit console; then press f."]
    default: status.accountProblem == nil && status.quotaProblem == nil ? ["Nothing is wrong with the account."] : []
    }
  }
}

extension String {
  /// The text filled with blanks, for a column of names.
  func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - cells(self))) }
}
