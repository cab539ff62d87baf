import CloudService
import CloudSync
import TerminalUI

/// The user's position: state that the keyboard changes and that is not in the store.
struct ViewState: Sendable {
  /// The position in one list.
  struct List: Hashable, Sendable {
    var cursor = 0
    var offset = 0
    var filter = ""

    /// Moves the cursor, keeping it in the list and visible.
    mutating func move(to row: Int, visible: Int, total: Int) {
      cursor = max(0, min(row, total - 1))
      offset = Table.offset(showing: cursor, from: offset, visible: visible, total: total)
    }
  }

  /// A view over the panes.
  indirect enum Overlay: Sendable {
    /// All keys, over the previous overlay.
    case help(offset: Int, over: Overlay?)
    case detail(title: String, lines: [Line], offset: Int)
    case desk(Desk)
    case filter(InputLine)
    case question(Question)
    /// The question before retrying all failed and retrying operations with a text.
    case retryQuestion(containing: String)
  }

  /// A line of a detail view.
  struct Line: Hashable, Sendable {
    var name: String
    var text: StyledText
  }

  /// A question before operations are discarded.
  struct Question: Hashable, Sendable {
    var title: String
    var text: String
    var operations: [Int64]
    /// The versions that were shown. Operations that changed since are left alone.
    var versions: [Int64: String] = [:]
  }

  var focus = Pane.queue
  var lists: [Pane: List] = [.records: List(), .queue: List()]
  var syncOffset = 0
  /// The operation under the queue's cursor, which the cursor follows when rows change.
  var chosenOperation: Int64?
  var overlay: Overlay?
  /// The version of the operation whose detail is shown.
  var openedVersion: String?
  var themeName: String
  /// Records a second, one sample a second while sending.
  var rates: [Double] = []

  init(themeName: String) { self.themeName = themeName }

  /// The view that has the keyboard; nil while a filter is typed.
  var context: DashboardCommand.Context? {
    switch overlay {
    case nil: .panes
    case .help: .help
    case .detail: .detail
    case .desk: .desk
    case .question, .retryQuestion: .question
    case .filter: nil
    }
  }

  /// The part of the lists that is on the screen, with some rows around it.
  func scope(_ layout: DashboardLayout) -> SnapshotScope {
    var scope = SnapshotScope()
    scope.records = part(.records, layout)
    scope.queue = part(.queue, layout)
    return scope
  }

  private func part(_ pane: Pane, _ layout: DashboardLayout) -> SnapshotScope.Part {
    let list = lists[pane] ?? List()
    let visible = layout.visibleRows(pane)
    // Whole pages, so that moving within one asks for nothing new.
    let page = max(50, visible * 2)
    let offset = max(0, list.offset / page - 1) * page
    return SnapshotScope.Part(text: list.filter, offset: offset, limit: page * 4)
  }
}
