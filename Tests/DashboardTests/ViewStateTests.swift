import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

@Suite(.serialized) struct ViewStateTests {
  private let layout = DashboardLayout(Size(width: 80, height: 24), focus: .queue)

  private func state(at row: Int) -> ViewState {
    var state = ViewState(themeName: "midnight")
    state.follow(Sample.snapshot, layout)
    for _ in 0..<row { state.move(.down, layout, Sample.snapshot, Sample.model()) }
    return state
  }

  @Test func `the choice stays with its operation when rows above it go`() {
    var state = state(at: 3)
    var later = Sample.snapshot
    later.queue = Page(window: Window(total: 3, offset: 0, rows: Array(Sample.operations.dropFirst(2))))

    state.follow(later, layout)

    #expect(state.lists[.queue]?.cursor == 1)
    #expect(later.queue[1]?.id == 14)
  }

  @Test func `the choice falls back into the list when its operation is gone`() {
    var state = state(at: 4)
    var later = Sample.snapshot
    later.queue = Page(window: Window(total: 2, offset: 0, rows: Array(Sample.operations.prefix(2))))

    state.follow(later, layout)

    #expect(state.lists[.queue]?.cursor == 1)
  }

  @Test func `moving never leaves the list`() {
    var state = state(at: 0)
    state.move(.up, layout, Sample.snapshot, Sample.model())
    #expect(state.lists[.queue]?.cursor == 0)

    state.move(.bottom, layout, Sample.snapshot, Sample.model())
    state.move(.pageDown, layout, Sample.snapshot, Sample.model())
    #expect(state.lists[.queue]?.cursor == 4)
  }

  @Test func `an empty list has nothing to move over`() {
    var state = ViewState(themeName: "midnight")
    let empty = Snapshot(status: StoreStatus(generatedAt: 0))
    for command in [DashboardCommand.down, .up, .pageDown, .top, .bottom] {
      state.move(command, layout, empty, Sample.model { $0.snapshot = empty })
    }

    #expect(state.lists[.queue]?.cursor == 0)
  }

  @Test func `a filter starts its list from the top, and Escape clears it`() {
    var state = state(at: 4)
    state.setFilter("order")
    #expect(state.lists[.queue] == ViewState.List(filter: "order"))

    state.back()
    #expect(state.lists[.queue]?.filter == "")
  }

  @Test func `a conflict is settled only when every field has a side`() {
    let conflict = Sample.conflict
    let desk = ViewState.Desk(conflict: conflict.id)
    guard case .incomplete = desk.pressed(.apply, conflict) else { return #expect(Bool(false), "settled too early") }

    guard case .choose(let first) = desk.pressed(.fieldLocal, conflict),
      case .choose(let second) = first.pressed(.fieldServer, conflict)
    else { return #expect(Bool(false), "no choice made") }

    #expect(second.sides(conflict) == ["note": .local, "total": .server])
    #expect(second.pressed(.apply, conflict) == .resolve(["note": .local, "total": .server]))
    #expect(desk.pressed(.allServer, conflict) != .incomplete)
  }

  @Test func `a side counts for as long as what it was taken of is shown`() {
    let conflict = Sample.conflict
    guard case .choose(let desk) = ViewState.Desk(conflict: conflict.id).pressed(.allServer, conflict) else {
      return #expect(Bool(false), "no choice made")
    }
    var changed = conflict
    changed.fields[1].server = .string("written meanwhile")
    var deleted = conflict
    deleted.isDeletedOnServer = true

    #expect(desk.sides(changed) == ["note": .server])
    #expect(desk.pressed(.apply, changed) == .incomplete)
    #expect(desk.sides(deleted).isEmpty)
    #expect(desk.sides(conflict) == ["note": .server, "total": .server])
  }

  @Test func `what was chosen of a conflict is still chosen after a look at another, and at the keys`() {
    let conflict = Sample.conflict
    guard case .choose(let desk) = ViewState.Desk(conflict: conflict.id).pressed(.allLocal, conflict) else {
      return #expect(Bool(false), "no choice made")
    }
    #expect(desk.turned(to: 99).turned(to: conflict.id).sides(conflict).count == conflict.fields.count)

    var state = state(at: 0)
    state.overlay = .help(offset: 0, over: .desk(desk))
    state.move(.down, layout, Sample.snapshot, Sample.model())
    state.back()
    guard case .desk(desk) = state.overlay else { return #expect(Bool(false), "the desk is gone") }
    state.back()
    #expect(state.overlay == nil)
  }
}

@Suite(.serialized) struct ResolvedConflictTests {
  private let conflicts: [Conflict] = [13 as Int64, 14, 15].map { id in
    var conflict = Sample.conflict
    conflict.id = id
    return conflict
  }

  @Test func `keys typed quickly resolve one conflict after another, though the store still shows those before`() {
    var desk = ViewState.Desk(conflict: 14)
    var resolved: [Int64] = []
    for _ in conflicts {
      resolved.append(desk.conflict)
      desk = desk.next(among: desk.open(conflicts))
    }

    #expect(resolved == [14, 15, 13])
    #expect(desk.open(conflicts).isEmpty)
  }

  @Test func `the view stays open when the last conflict is resolved`() {
    let layout = DashboardLayout(Size(width: 80, height: 24), focus: .queue)
    var state = ViewState(themeName: "midnight")
    state.overlay = .desk(ViewState.Desk(conflict: 13).next(among: [conflicts[0]]))
    var later = Sample.snapshot
    later.conflicts = .empty
    state.follow(later, layout)

    #expect(state.context == .desk)
    let view = DashboardView(model: Sample.model { $0.snapshot = later }, state: state)
    #expect(view.draw(Size(width: 80, height: 24)).grid.text.contains("Every conflict is resolved. Esc goes back"))
  }

  @Test func `a conflict that comes again is shown again`() {
    var desk = ViewState.Desk(conflict: 13).next(among: conflicts)
    #expect(desk.open(conflicts).map(\.id) == [14, 15])
    desk.follow([conflicts[1]])

    #expect(desk.open(conflicts).map(\.id) == [13, 14, 15])
  }
}

@Suite(.serialized) struct FormatTests {
  @Test func `a time is spelt whole, with its date when that is not today's`() {
    #expect(Sample.format.time(Sample.now, now: Sample.now) == "03:04:05")
    #expect(Sample.format.time(Sample.now - 86_400_000, now: Sample.now) == "2026-01-01 03:04:05")
    #expect(Sample.format.time(-1, now: Sample.now) == "1970-01-01 00:00:00")
    #expect(Sample.format.time(nil, now: Sample.now) == "never")
  }

  @Test(arguments: [(0.2, "1 s"), (59, "59 s"), (61, "1 min"), (7200, "2 h"), (200_000, "2 d")])
  func `a duration has one unit`(seconds: Double, text: String) {
    #expect(Format.duration(seconds) == text)
  }

  @Test(arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB")])
  func `a size has one unit`(bytes: Int, text: String) {
    #expect(Format.bytes(bytes) == text)
  }
}
