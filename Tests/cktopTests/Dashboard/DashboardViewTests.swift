import CloudKit
import CloudService
import TerminalUI
import Testing

@testable import CloudSync
@testable import cktop

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
      model.snapshot.queue = Window(total: 2, offset: 0, rows: [Sample.operations[0], other])
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
      model.snapshot.status.throttles = [
        StoreStatus.Throttle(
          scope: "database",
          until: Sample.now + 30_000,
          error: "THROTTLED",
          message: "",
          isOwn: false
        )
      ]
    }

    #expect(draw(Size(width: 80, height: 24), model).text.contains("THROTTLED until 03:04:35"))
  }
}
