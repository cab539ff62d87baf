import CloudService
import CloudSync
import Facts
import TerminalUI

/// The whole screen: a pure function of the model and the view state.
struct DashboardView: Sendable {
  let model: DashboardModel
  let state: ViewState

  /// Draws at a size; any size, down to nothing.
  func draw(_ size: Size, glyphs: GlyphSet = .unicode) -> (grid: Grid, cursor: Position?) {
    var grid = Grid(size, glyphs: glyphs)
    let layout = DashboardLayout(size, focus: state.focus, hasDemo: !model.demo.isEmpty)
    drawBanner(on: &grid, in: layout.banner)
    for pane in Pane.allCases {
      guard let frame = layout.frame(pane), let inside = layout.inside(pane) else { continue }
      if layout.isFramed { drawFrame(pane, on: &grid, in: frame) }
      draw(pane, on: &grid, in: inside)
    }
    let cursor = drawOverlay(on: &grid, layout)
    drawFooter(on: &grid, in: layout.footer)
    return (grid, cursor)
  }

  // MARK: - Banner and footer

  private func drawBanner(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    grid.fill(area, Style(.banner))
    let (verdict, role) = verdict
    let right: StyledText = [.init(" \(verdict) ", role)]
    grid.put(right, in: area, .trailing)
    let room = Rect(x: area.x, y: area.y, width: area.width - right.cells(in: grid.glyphs) - 1, height: 1)
    let left = " cktop  \(model.scope.text)\(model.isReadOnly ? "  read-only" : "")"
    grid.put(StyledText(left, .banner), in: room)
  }

  /// The label of the verdict.
  var verdict: (text: String, role: StyleRole) {
    if !model.snapshot.hasStore, model.readFailure == nil { return ("no store yet", .warning) }
    let verdict = model.verdict
    return (verdict.label, verdict.urgency.role)
  }

  private func drawFooter(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    let last = area.row(area.height - 1)
    if case .filter(let input) = state.overlay { return grid.draw(input, in: last) }
    let failure = model.readFailure.map { DashboardModel.Notice(text: $0, isError: true) }
    let note = (model.notice ?? failure).map { StyledText($0.text, $0.isError ? .error : .info) } ?? ""
    if area.height > 1 {
      let demo = model.demo.map { KeyHints.Hint(String($0.key), $0.label) }
      grid.draw(KeyHints(state.context == .panes ? demo : [], note: note), in: area.row(0))
      grid.draw(KeyHints(hints), in: last)
    } else {
      grid.draw(KeyHints(hints, note: note.clipped(to: area.width / 2, grid.glyphs)), in: last)
    }
  }

  /// The keys that work now.
  var hints: [KeyHints.Hint] {
    guard let context = state.context else { return [] }
    var hints = DashboardCommand.table
      .filter { $0.contexts.contains(context) && !$0.label.isEmpty && applies($0) }
      .map { KeyHints.Hint($0.name, label($0)) }
    if context == .desk {
      // Resolve and back come first.
      hints = hints.filter { ["Enter", "Esc"].contains($0.key) } + hints.filter { !["Enter", "Esc"].contains($0.key) }
    }
    if context == .panes {
      // Help and quit come first, and resume while all is paused: later hints may not fit.
      let needed: Set = model.status.isPaused ? ["?", "q", "p"] : ["?", "q"]
      hints = hints.filter { needed.contains($0.key) } + hints.filter { !needed.contains($0.key) }
    }
    return hints
  }

  private func label(_ entry: DashboardCommand.Entry) -> String {
    switch entry.command {
    case .pause where model.status.isPaused: "resume"
    case .filter where !(state.lists[state.focus]?.filter ?? "").isEmpty: "filter (on)"
    default: entry.label
    }
  }

  /// Whether a command would do anything now.
  func applies(_ entry: DashboardCommand.Entry) -> Bool {
    if entry.isChange, model.isReadOnly { return false }
    let selected = selectedOperation
    switch entry.command {
    case .retry: return selected?.state == .failed || selected?.state == .waiting
    case .retryAll: return model.status.queue.retryable > 0
    case .flush: return model.status.queue.waiting > 0 || model.status.throttles.contains { $0.isOwn }
    case .discard: return selected != nil && selected?.state != .inFlight
    case .pauseOne: return selected?.state == .paused || selected?.state == .pending || selected?.state == .waiting
    case .conflicts: return !model.snapshot.conflicts.rows.isEmpty
    case .filter: return state.focus.isList
    case .open: return state.focus.isList ? selectedIndexExists : true
    case .nextConflict, .previousConflict: return model.snapshot.conflicts.rows.count > 1
    case .back: return state.overlay != nil || !(state.lists[state.focus]?.filter ?? "").isEmpty
    default: return true
    }
  }

  /// The operation under the queue's cursor while the queue has the focus; nil while the rows for a new filter are
  /// being read.
  var selectedOperation: QueueRow? {
    guard state.focus == .queue, let list = state.lists[.queue], list.filter == model.snapshot.queue.text else {
      return nil
    }
    return model.snapshot.queue[list.cursor]
  }

  private var selectedIndexExists: Bool {
    let cursor = state.lists[state.focus]?.cursor ?? 0
    return state.focus == .queue ? model.snapshot.queue[cursor] != nil : model.snapshot.records[cursor] != nil
  }

  // MARK: - Panes

  private func drawFrame(_ pane: Pane, on grid: inout Grid, in area: Rect) {
    let filter = state.lists[pane]?.filter ?? ""
    let title = "\(pane.rawValue) \(pane.title)\(filter.isEmpty ? "" : " /\(filter)")"
    Box(title: StyledText(title), note: note(pane), isFocused: pane == state.focus).draw(on: &grid, in: area)
  }

  private func note(_ pane: Pane) -> StyledText {
    switch pane {
    case .records: StyledText("\(model.snapshot.records.total)", .dim)
    case .queue: StyledText("\(model.snapshot.queue.total)  \(Format.bytes(model.status.queue.bytes))", .dim)
    case .sync, .account: ""
    }
  }

  private func draw(_ pane: Pane, on grid: inout Grid, in area: Rect) {
    switch pane {
    case .records: RecordsPane(model: model, state: state).draw(on: &grid, in: area)
    case .queue: QueuePane(model: model, state: state).draw(on: &grid, in: area)
    case .sync: SyncPane(model: model, state: state).draw(on: &grid, in: area)
    case .account: AccountPane(model: model).draw(on: &grid, in: area)
    }
  }

  // MARK: - Overlays

  private func drawOverlay(on grid: inout Grid, _ layout: DashboardLayout) -> Position? {
    switch state.overlay {
    case nil: return nil
    case .help(let offset, _):
      HelpView(model: model, offset: offset).draw(on: &grid, in: layout.body)
    case .detail(let title, let lines, let offset):
      DetailView(title: title, lines: lines, offset: offset).draw(on: &grid, in: layout.body)
    case .desk(let desk):
      DeskView(model: model, desk: desk).draw(on: &grid, in: layout.body)
    case .question(let question): drawQuestion(question.title, question.text, on: &grid, layout)
    case .retryQuestion(let text): drawQuestion("Retry", retryQuestion(containing: text), on: &grid, layout)
    case .filter(let input):
      return input.cursor(in: layout.footer.row(layout.footer.height - 1), grid.glyphs)
    }
    return nil
  }
}

extension DashboardView {
  private func drawQuestion(_ title: String, _ text: String, on grid: inout Grid, _ layout: DashboardLayout) {
    let keys = [KeyHints.Hint("Esc", "no"), KeyHints.Hint("y", "yes")]
    grid.draw(Dialog(title: StyledText(title), message: StyledText(text), keys: keys, defaultKey: 0), in: layout.body)
  }

  /// The number of failed or retrying operations with a text; nil while it is being read.
  func retryable(containing text: String) -> Int? {
    text == model.snapshot.queue.text ? model.snapshot.retryable : nil
  }

  /// The question before retrying all, with the current number.
  func retryQuestion(containing text: String) -> String {
    let count = retryable(containing: text)
    let what = count.map { Words.count($0, "failed or retrying change") } ?? "all failed or retrying changes"
    return text.isEmpty ? "Retry \(what)?" : "Retry \(what) with the text \"\(text)\"?"
  }
}
