package import CloudService
package import CloudSync
import Dispatch
import Facts
import Foundation
package import Terminal
package import TerminalUI

/// The dashboard on the terminal: keys become commands, commands become verbs of the service, and the screen shows the
/// service's snapshot. Nothing here waits for the store or the network.
@MainActor
package final class Dashboard {
  /// The end of a dashboard.
  package enum End: Sendable {
    case quit
    /// By the user, with commands that were not finished in time.
    case unfinished
    /// By a signal, which determines the exit status.
    case signal(Int32)
    case lineLost
  }

  private let service: CloudKitService
  private let setting: Setting
  private let demo: (any DemoControls)?
  private var screen: TerminalScreen?
  private var state: ViewState
  private var timer: (any DispatchSourceTimer)?
  private var isCalm = false
  private var theme: Theme
  private var ending: CheckedContinuation<End, Never>?
  private var ended: End?
  private var isSuspending = false
  /// Keys that wait until the rows for a new filter are read: one that acts on a row of the queue, and all later ones.
  private var held: [Key] = []
  private var shownNotice: (notice: DashboardModel.Notice, until: Int64)?
  private var lastRateAt: Int64 = 0

  /// The settings of a dashboard from the command line.
  package struct Setting: Sendable {
    var scope: SyncStore.Scope
    var credential: String
    var url: String
    var storePath: String
    var theme: Theme
    var themes: [Theme]
    var isMonochrome: Bool
    var hasCredential: Bool
    /// Whether the dashboard syncs from the start.
    var syncs: Bool
    var format = Format()
    /// Returns the message of an error, as commands print it.
    var message: @Sendable (any Error) -> String
    /// Prints a line after the terminal is restored.
    var report: @Sendable (String) -> Void

    package init(
      scope: SyncStore.Scope,
      credential: String,
      url: String,
      storePath: String,
      theme: Theme,
      themes: [Theme],
      isMonochrome: Bool,
      hasCredential: Bool = true,
      syncs: Bool = false,
      message: @escaping @Sendable (any Error) -> String,
      report: @escaping @Sendable (String) -> Void
    ) {
      self.scope = scope
      self.credential = credential
      self.url = url
      self.storePath = storePath
      self.theme = theme
      self.themes = themes
      self.isMonochrome = isMonochrome
      self.hasCredential = hasCredential
      self.syncs = syncs
      self.message = message
      self.report = report
    }
  }

  package init(service: CloudKitService, setting: Setting, demo: (any DemoControls)? = nil) {
    self.service = service
    self.setting = setting
    self.demo = demo
    theme = setting.theme
    state = ViewState(themeName: setting.theme.name)
  }

  // MARK: - Life

  /// Takes over the terminal until the user or the system ends the program, then restores it.
  package func run() async throws(ScreenError) -> End {
    let screen = try TerminalScreen(isMonochrome: setting.isMonochrome) { [weak self] event in self?.handle(event) }
    self.screen = screen
    service.changed = { [weak self] in self?.followStore() }
    service.received = { [weak self] in self?.take($0) }
    service.show(state.scope(layout))
    draw()
    if setting.syncs { service.give(.keepSyncing) }
    startTimer()
    let end = await withCheckedContinuation { continuation in
      if let ended { continuation.resume(returning: ended) } else { ending = continuation }
    }
    timer?.cancel()
    service.changed = nil
    screen.close()
    return await leave(end)
  }

  /// The time to wait at the end for commands and syncing to finish.
  private static let patience = Duration.seconds(5)

  /// Waits for the given commands, stops syncing, and prints what is unfinished.
  private func leave(_ end: End) async -> End {
    service.received = { [setting] receipt in
      guard let failure = receipt.failure else { return }
      let isUnfinished = failure is CancellationError
      let message = "the sync was stopped before it finished; run `cktop sync` to continue"
      setting.report(isUnfinished ? message : setting.message(failure))
    }
    async let hasStopped = service.stop(within: Self.patience)
    let undone = await service.drain(within: Self.patience)
    if undone > 0 {
      let what = undone == 1 ? "the last command was" : "the last \(undone) commands were"
      let advice = "check `cktop status`, and repeat what is missing"
      setting.report("\(what) not finished within 5 s; \(advice)")
    }
    if await !hasStopped {
      setting.report("syncing did not stop within 5 s; the next sync verifies what it was sending")
    }
    guard undone > 0, case .quit = end else { return end }
    return .unfinished
  }

  /// Checks for changes four times a second, or once a second while syncing is paused. If nothing changed, nothing is
  /// drawn or written.
  private func startTimer() {
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.setEventHandler { [weak self] in
      MainActor.assumeIsolated { self?.tick() }
    }
    self.timer = timer
    schedule(isCalm: false)
    timer.activate()
  }

  private func schedule(isCalm: Bool) {
    self.isCalm = isCalm
    let interval = DispatchTimeInterval.milliseconds(isCalm ? 1000 : 250)
    timer?.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(50))
  }

  private func tick() {
    let isPaused = service.snapshot.status.isPaused
    if isPaused != isCalm { schedule(isCalm: isPaused) }
    demo?.tick(isPaused: isPaused)
    service.refresh()
    if let shown = shownNotice, shown.until <= now {
      shownNotice = nil
      draw()
    }
  }

  private func end(_ end: End) {
    guard ended == nil else { return }
    ended = end
    ending?.resume(returning: end)
    ending = nil
  }

  private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  // MARK: - Drawing

  private var layout: DashboardLayout {
    DashboardLayout(screen?.size ?? .zero, focus: state.focus, hasDemo: demo != nil)
  }

  private var model: DashboardModel {
    DashboardModel(
      snapshot: service.snapshot,
      scope: setting.scope,
      credential: setting.credential,
      url: setting.url,
      storePath: setting.storePath,
      notice: shownNotice?.notice,
      isReadOnly: service.isReadOnly,
      demo: demo?.hints ?? [],
      now: now,
      format: setting.format,
      syncing: service.syncing,
      hasCredential: setting.hasCredential,
      readFailure: service.readFailure.map { service.redact(setting.message($0).sentence) },
      syncFailure: service.syncFailure.map { service.redact(setting.message($0)) }
    )
  }

  private func draw() {
    guard let screen, ended == nil else { return }
    let (grid, cursor) = DashboardView(model: model, state: state).draw(screen.size, glyphs: screen.glyphs)
    screen.present(grid, theme: theme, cursor: cursor)
  }

  /// Applies a new snapshot. The cursor stays on its row if the row still exists.
  private func followStore() {
    state.follow(service.snapshot, layout)
    sampleRate()
    service.show(state.scope(layout))
    pressHeld()
    draw()
  }

  /// Whether the rows for the queue's filter are still being read.
  private var waitsForRows: Bool {
    service.snapshot.hasStore && service.readFailure == nil && state.focus == .queue
      && state.lists[.queue]?.filter != service.snapshot.queue.text
  }

  private func pressHeld() {
    guard !held.isEmpty, !waitsForRows else { return }
    let keys = held
    held = []
    for key in keys { press(key) }
  }

  /// Shows a message for six seconds.
  private func tell(_ text: String, isError: Bool) {
    shownNotice = (DashboardModel.Notice(text: service.redact(text), isError: isError), now + 6_000)
    draw()
  }

  /// Shows the result of a command. A conflict that could not be resolved is open again.
  private func take(_ receipt: Receipt) {
    if receipt.failure != nil, case .resolve(let id, _, _, _) = receipt.command, case .desk(var desk) = state.overlay {
      desk.resolved.remove(id)
      state.overlay = .desk(desk)
    }
    tell(receipt.text(setting.message), isError: receipt.isError)
  }

  private func sampleRate() {
    guard let rate = service.snapshot.status.progress?.perSecond, now - lastRateAt >= 1000 else { return }
    lastRateAt = now
    state.rates = (state.rates + [rate]).suffix(24)
  }

  // MARK: - Events

  private func handle(_ event: TerminalScreen.Event) {
    switch event {
    case .keys(let keys): for key in keys { press(key) }
    case .resized: state.fit(layout, service.snapshot)
    case .stopAsked: suspend(wholeGroup: false)
    case .resumed: break
    case .terminated(let signal): end(.signal(signal))
    case .lineLost: end(.lineLost)
    }
    service.show(state.scope(layout))
    draw()
  }

  private func press(_ key: Key) {
    guard ended == nil else { return }
    guard held.isEmpty || key == .ctrl("c") else { return held.append(key) }
    if case .filter(let input) = state.overlay { return type(key, into: input) }
    guard let context = state.context else { return }
    if context == .panes, case .character(let character) = key, let demo,
      demo.hints.contains(where: { $0.key == character })
    {
      return tell(demo.press(character), isError: false)
    }
    guard let command = DashboardCommand.command(for: key, in: context) else { return }
    if waitsForRows, [.open, .retry, .pauseOne, .discard].contains(command) { return held.append(key) }
    perform(command, context)
  }

  private func type(_ key: Key, into input: InputLine) {
    var input = input
    switch key {
    case .enter: state.overlay = nil
    case .escape:
      state.setFilter("")
      state.overlay = nil
    case .ctrl("c"): end(.signal(SIGINT))
    default:
      guard input.handle(key) else { return }
      state.overlay = .filter(input)
      state.setFilter(input.text)
    }
  }

  // MARK: - Commands

  private func perform(_ command: DashboardCommand, _ context: DashboardCommand.Context) {
    let view = DashboardView(model: model, state: state)
    guard let entry = DashboardCommand.entry(command) else { return }
    if entry.isChange, service.isReadOnly { return take(Receipt(.flush, failure: CommandRefusal.readOnly)) }
    switch command {
    case .quitAtOnce: end(.signal(SIGINT))
    case .quit: state.overlay == nil ? end(.quit) : state.back()
    case .suspend: suspend(wholeGroup: true)
    case .redraw: screen?.redraw()
    case .theme: nextTheme()
    case .help: state.overlay = .help(offset: 0, over: state.overlay)
    case .back: state.back()
    case .nextPane: focus(state.focus.next(1))
    case .previousPane: focus(state.focus.next(-1))
    case .pane1: focus(.records)
    case .pane2: focus(.queue)
    case .pane3: focus(.sync)
    case .pane4: focus(.account)
    case .down, .up, .pageDown, .pageUp, .top, .bottom: state.move(command, layout, service.snapshot, model)
    case .filter:
      guard state.focus.isList else { return }
      state.overlay = .filter(InputLine(prompt: "/", text: state.lists[state.focus]?.filter ?? ""))
    case .open: open(view)
    case .conflicts: openDesk()
    case .retry, .pauseOne, .discard: actOnSelected(command, view)
    case .retryAll: askToRetryAll(view)
    case .flush: service.give(.flush)
    case .syncNow: service.give(.sync)
    case .keepSyncing: toggleSyncing()
    case .pause: service.give(.togglePause)
    case .yes: confirmed()
    case .fieldLocal, .fieldServer, .fieldBase, .allLocal, .allServer, .apply, .nextConflict, .previousConflict:
      desk(command)
    }
  }

  private func focus(_ pane: Pane) {
    state.focus = pane
    state.fit(layout, service.snapshot)
  }

  private func nextTheme() {
    guard let index = setting.themes.firstIndex(where: { $0.name == theme.name }) else { return }
    theme = setting.themes[(index + 1) % setting.themes.count]
    state.themeName = theme.name
    tell("Theme \(theme.name)", isError: false)
  }

  private func actOnSelected(_ command: DashboardCommand, _ view: DashboardView) {
    guard let operation = view.selectedOperation else {
      return tell("Select an operation in the Queue first (2)", isError: true)
    }
    if case .detail(let title, _, _) = state.overlay, title != Self.title(operation.id) {
      // The cursor has moved to another row under the detail: never act on a row that is not shown.
      return tell("That operation is no longer in the queue", isError: true)
    }
    var shown = operation.version
    if case .detail = state.overlay, let opened = state.openedVersion { shown = opened }
    // The command makes the detail outdated.
    state.overlay = nil
    switch command {
    case .retry: service.give(.perform(.retry, .ids([operation.id])))
    case .pauseOne: service.give(.togglePauseOf(operation.id))
    default:
      let name = RecordNames(service.snapshot.queue.rows.map(\.key)).text(operation.key)
      state.overlay = .question(
        ViewState.Question(
          title: "Discard",
          text:
            "Discard the \(operation.cause.isUnconfirmed ? "unconfirmed" : "unsent") \(operation.kind.noun) \(name)?"
            + (operation.cause.isUnconfirmed ? " The server may have applied it already." : "")
            + (operation.key.name.isEmpty ? "" : " You can undo this until the record is edited again."),
          operations: [operation.id],
          versions: [operation.id: shown]
        )
      )
    }
  }

  private func confirmed() {
    let overlay = state.overlay
    state.overlay = nil
    switch overlay {
    case .question(let question):
      service.give(.perform(.discard, .ids(question.operations), versions: question.versions))
    case .retryQuestion(let text): service.give(.perform(.retry, .retryable(containing: text)))
    default: state.overlay = overlay
    }
  }

  /// Asks before retrying everything that the current filter matches.
  private func askToRetryAll(_ view: DashboardView) {
    let text = state.lists[.queue]?.filter ?? ""
    guard view.retryable(containing: text) != 0 else {
      let what = text.isEmpty ? "No change" : "No change with the text \"\(text)\""
      return tell("\(what) failed or waits to be retried", isError: false)
    }
    state.overlay = .retryQuestion(containing: text)
  }

  private func toggleSyncing() {
    guard service.syncing == .always else { return service.give(.keepSyncing) }
    service.stopSyncing()
    tell("Stopped syncing here", isError: false)
  }

  /// Suspends the program after the given commands are done and the lease is released. Then it syncs as before.
  private func suspend(wholeGroup: Bool) {
    guard !isSuspending else { return }
    isSuspending = true
    let syncing = service.syncing
    Task {
      async let hasStopped = service.stop(within: Self.patience)
      _ = await (service.drain(within: Self.patience), hasStopped)
      screen?.suspend(wholeGroup: wholeGroup)
      isSuspending = false
      if syncing == .always, ended == nil { service.give(.keepSyncing) }
    }
  }

  // MARK: - Details and conflicts

  private func open(_ view: DashboardView) {
    let details = Details(model: view.model)
    switch state.focus {
    case .queue:
      guard let operation = view.selectedOperation else { return }
      let service = service
      Task { [weak self] in
        let result: Result<OperationDetail?, any Error>
        do { result = .success(try await service.detail(of: operation.id)) } catch { result = .failure(error) }
        guard let self, self.state.overlay == nil else { return }
        guard case .success(let detail?) = result else {
          if case .failure(let error) = result { self.tell(self.setting.message(error).sentence, isError: true) }
          return
        }
        self.state.openedVersion = detail.operation?.version(serverTag: detail.server?.changeTag)
        self.state.overlay = .detail(title: Self.title(operation.id), lines: details.operation(detail), offset: 0)
        self.draw()
      }
    case .records:
      guard let row = service.snapshot.records[state.lists[.records]?.cursor ?? 0] else { return }
      state.overlay = .detail(title: row.record.key.name, lines: details.record(row), offset: 0)
    case .sync: state.overlay = .detail(title: "Sync", lines: details.sync(), offset: 0)
    case .account: state.overlay = .detail(title: "Account", lines: details.account(), offset: 0)
    }
  }

  private static func title(_ operation: Int64) -> String { "Operation \(operation)" }

  private func openDesk() {
    guard let first = service.snapshot.conflicts.rows.first else { return tell("No conflicts", isError: false) }
    let chosen = service.snapshot.conflicts.rows.first {
      $0.id == DashboardView(model: model, state: state).selectedOperation?.id
    }
    state.overlay = .desk(ViewState.Desk(conflict: (chosen ?? first).id))
  }

  private func desk(_ command: DashboardCommand) {
    guard case .desk(let desk) = state.overlay else { return }
    let conflicts = desk.open(service.snapshot.conflicts.rows)
    guard let index = conflicts.firstIndex(where: { $0.id == desk.conflict }) else {
      // The conflict was resolved meanwhile; ignore the key.
      if command == .nextConflict || command == .previousConflict, let first = conflicts.first {
        state.overlay = .desk(desk.turned(to: first.id))
      }
      return
    }
    switch desk.pressed(command, conflicts[index]) {
    case .choose(let changed): state.overlay = .desk(changed)
    case .incomplete: tell("Choose a side for every field first", isError: true)
    case .resolve(let choices):
      service.give(.resolve(desk.conflict, take: .server, fields: choices, version: conflicts[index].version))
      state.overlay = .desk(desk.next(among: conflicts))
    case .move(let step):
      let next = conflicts[(index + step + conflicts.count) % conflicts.count]
      state.overlay = .desk(desk.turned(to: next.id))
    }
  }
}
