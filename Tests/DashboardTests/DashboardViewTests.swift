import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

@Suite(.serialized) struct DashboardViewTests {
  private func draw(
    _ size: Size,
    _ model: DashboardModel = Sample.model(),
    _ change: (inout ViewState) -> Void = { _ in }
  ) -> Grid {
    var state = ViewState(themeName: "midnight")
    change(&state)
    return DashboardView(model: model, state: state).draw(size).grid
  }

  @Test func `four panes at 80 by 24`() throws {
    try expectScreen(draw(Size(width: 80, height: 24)), "panes-80x24")
  }

  @Test func `four panes at 120 by 40 show identifiers, types, tries and times`() throws {
    try expectScreen(draw(Size(width: 120, height: 40)), "panes-120x40")
  }

  @Test func `a small terminal shows the focused pane alone`() throws {
    try expectScreen(draw(Size(width: 40, height: 10)), "panes-40x10")
    try expectScreen(draw(Size(width: 20, height: 5)), "panes-20x5")
  }

  @Test(arguments: [(0, 0), (1, 1), (1, 50), (300, 1), (2, 2), (59, 17), (60, 18), (300, 100)])
  func `every overlay draws at any size`(width: Int, height: Int) {
    let overlays: [ViewState.Overlay?] = [
      nil, .help(offset: 0, over: nil), .detail(title: "x", lines: Details(model: Sample.model()).sync(), offset: 2),
      .desk(ViewState.Desk(conflict: 13)), .desk(ViewState.Desk(conflict: 99)),
      .filter(InputLine(prompt: "/", text: "a")),
      .question(ViewState.Question(title: "Discard", text: "Discard it?", operations: [11])),
      .retryQuestion(containing: "order"),
    ]
    for pane in Pane.allCases {
      for overlay in overlays {
        let grid = draw(Size(width: width, height: height)) { state in
          state.focus = pane
          state.overlay = overlay
        }
        #expect(grid.size == Size(width: width, height: height))
      }
    }
  }

  @Test func `the desk shows base, local and server side by side with the choices made`() throws {
    let desk = ViewState.Desk(conflict: 13)
    guard case .choose(let chosen) = desk.pressed(.fieldLocal, Sample.conflict) else {
      return #expect(Bool(false), "no choice made")
    }
    try expectScreen(draw(Size(width: 80, height: 24)) { $0.overlay = .desk(chosen) }, "desk-80x24")
  }

  @Test func `records of one name in several zones are told apart where there is no column for zones`() {
    let model = Sample.model { model in
      var other = Sample.operations[0]
      other.id = 16
      other.key = RecordKey(ZoneKey(zone: "Archive"), other.key.name)
      model.snapshot.queue = Page(window: Window(total: 2, offset: 0, rows: [Sample.operations[0], other]))
    }
    let view = DashboardView(model: model, state: ViewState(themeName: "midnight"))
    let text = view.draw(Size(width: 80, height: 24)).grid.text

    #expect(text.contains("Shop/order-1") && text.contains("Archive/order-1"))
    #expect(text.contains("! order-1"), "the records of another list have names of their own")
  }

  @Test func `the help lists every command of the table`() throws {
    let grid = draw(Size(width: 80, height: 70)) { $0.overlay = .help(offset: 0, over: nil) }

    for entry in DashboardCommand.table { #expect(grid.text.contains(entry.help), "\(entry.command)") }
  }

  @Test func `no control character of a record's name reaches the screen`() {
    let grid = draw(Size(width: 120, height: 40))

    for y in 0..<grid.size.height {
      for cell in grid.row(y) {
        for scalar in cell.character.unicodeScalars {
          #expect(scalar.value >= 0x20 && scalar.value != 0x202E && !(0x7F...0x9F).contains(scalar.value))
        }
      }
    }
  }

  @Test func `while all is paused, what ends the pause is among the first keys that the footer shows`() {
    let paused = DashboardView(
      model: Sample.model { $0.snapshot.status.pauses = [Pause(rule: .everything, at: 0)] },
      state: ViewState(themeName: "midnight")
    )
    let running = DashboardView(model: Sample.model(), state: ViewState(themeName: "midnight"))

    #expect(Set(paused.hints.prefix(3).map(\.key)) == ["?", "q", "p"])
    #expect(paused.hints.first { $0.key == "p" }?.label == "resume")
    #expect(Set(running.hints.prefix(2).map(\.key)) == ["?", "q"])
  }

  @Test func `the footer offers only what would do something`() {
    var state = ViewState(themeName: "midnight")
    state.lists[.queue]?.cursor = 4
    let pending = DashboardView(model: Sample.model(), state: state).hints.map(\.key)
    state.lists[.queue]?.cursor = 0
    let failed = DashboardView(model: Sample.model(), state: state).hints.map(\.key)
    let readOnly = DashboardView(model: Sample.model { $0.isReadOnly = true }, state: state).hints.map(\.key)

    #expect(!pending.contains("r") && failed.contains("r"))
    #expect(failed.contains("c") && failed.contains("R") && failed.contains("d"))
    #expect(!readOnly.contains("r") && !readOnly.contains("d") && !readOnly.contains("s") && readOnly.contains("q"))
  }

  @Test func `a row that waits for a scope says until when`() {
    let model = Sample.model { model in
      model.snapshot.queue.window.rows[3].cause = .waits(.database, code: "THROTTLED", until: Sample.now + 30_000)
    }

    #expect(draw(Size(width: 80, height: 24), model).text.contains("throttled by the server"))
  }

  @Test func `the question before retrying all has the number that the filter shows`() {
    func question(_ text: String, _ change: (inout Snapshot) -> Void) -> String {
      let model = Sample.model { change(&$0.snapshot) }
      return DashboardView(model: model, state: ViewState(themeName: "midnight")).retryQuestion(containing: text)
    }
    #expect(question("") { $0.retryable = 12 } == "Retry 12 failed or retrying changes?")
    let filtered = question("STRING") { ($0.queue.text, $0.retryable) = ("STRING", 1) }
    #expect(filtered == "Retry 1 failed or retrying change with the text \"STRING\"?")
    // The number of another filter is no number for this one.
    let unread = question("STRING") { $0.retryable = 12 }
    #expect(unread == "Retry all failed or retrying changes with the text \"STRING\"?")
  }

  @Test func `no row is selected while the rows of a new filter are still being read`() {
    var state = ViewState(themeName: "midnight")
    #expect(DashboardView(model: Sample.model(), state: state).selectedOperation?.id == 11)
    state.setFilter("order-2")

    #expect(DashboardView(model: Sample.model(), state: state).selectedOperation == nil)
    let read = Sample.model { model in

      model.snapshot.queue = Page(text: "order-2", window: Window(total: 1, offset: 0, rows: [Sample.operations[1]]))
    }
    #expect(DashboardView(model: read, state: state).selectedOperation?.id == 12)
  }

  @Test func `who syncs is said before what waits`() {
    func schedule(_ change: (inout DashboardModel) -> Void) -> String {
      SyncPane(model: Sample.model(change), state: ViewState(themeName: "midnight")).schedule
    }
    func nobody(_ change: (inout DashboardModel) -> Void = { _ in }) -> String {
      schedule { model in
        model.snapshot.status.driver?.isLive = false
        change(&model)
      }
    }
    #expect(schedule { $0.syncing = .off } == "next: retry at 03:04:17")
    #expect(schedule { $0.syncing = .always } == "PID 4711 is syncing; this dashboard is next")
    #expect(schedule { ($0.syncing, $0.pid) = (.always, 4711) } == "next: retry at 03:04:17")
    #expect(nobody() == "Not syncing. s syncs once, S keeps syncing")
    #expect(nobody { $0.syncing = .once } == "Starting to sync")
    #expect(nobody { $0.syncFailure = "no room" } == "Syncing stopped: no room")
    #expect(nobody { $0.isReadOnly = true } == "No process is syncing this store")
    #expect(nobody { $0.hasCredential = false } == "No process is syncing this store")
  }

  @Test func `a store that is missing or cannot be read is never shown as fine`() {
    func view(_ change: (inout DashboardModel) -> Void) -> DashboardView {
      DashboardView(model: Sample.model(change), state: ViewState(themeName: "midnight"))
    }
    func missing(_ change: (inout DashboardModel) -> Void = { _ in }) -> DashboardView {
      view { model in
        model.snapshot = Snapshot(status: StoreStatus(generatedAt: 0))
        model.snapshot.status.hasStore = false
        change(&model)
      }
    }
    #expect(missing().verdict.text == "no store yet")
    #expect(missing().model.firstStep == "No store yet. Press s to sync")
    #expect(missing { $0.isReadOnly = true }.model.firstStep == "No store yet; `cktop sync` creates it")
    #expect(missing { $0.hasCredential = false }.model.firstStep == "No store yet; `cktop sync` creates it")
    let damaged = view { $0.readFailure = "The store is damaged" }
    #expect(damaged.verdict.role == .error)
    let screen = damaged.draw(Size(width: 80, height: 24)).grid.text
    #expect(screen.contains("unreadable") && screen.contains("unreadable  The store is damaged"))
    let idle = view { model in
      model.snapshot.status.driver = nil
      (model.snapshot.status.queue.failed, model.snapshot.status.queue.conflicts) = (0, 0)
      let part = QueuePart(state: .pending, zone: Sample.zone, type: "Order", count: 1, bytes: 1)
      model.snapshot.status.queue.parts = [part]
      model.snapshot.status.canSendLater = true
    }
    #expect(idle.verdict.text == "not syncing" && idle.verdict.role == .error)
  }
}
