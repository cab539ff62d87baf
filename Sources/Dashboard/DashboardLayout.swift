import TerminalUI

/// The areas of the screen at a given size. Lists span the whole width, so that scrolling by one row redraws one row.
/// If there is no room for four panes, the focused pane takes it all.
struct DashboardLayout: Hashable, Sendable {
  let banner: Rect
  let footer: Rect
  /// The area of overlays.
  let body: Rect
  private let panes: [Pane: Rect]
  /// Whether only the focused pane is shown.
  let isSingle: Bool
  /// Whether panes have frames.
  let isFramed: Bool

  static let smallestForFour = Size(width: 60, height: 18)

  /// The keys of the demo get a line of their own if there is room.
  init(_ size: Size, focus: Pane, hasDemo: Bool = false) {
    let footerRows = size.height > 1 ? (hasDemo && size.height >= 20 ? 2 : 1) : 0
    let rows = Rect(size).rows([.fixed(size.height > 2 ? 1 : 0), .flexible, .fixed(footerRows)])
    banner = rows[0]
    body = rows[1]
    footer = rows[2]
    isSingle = size.width < Self.smallestForFour.width || size.height < Self.smallestForFour.height
    isFramed = size.height >= 8 && size.width >= 30
    guard !isSingle else {
      panes = [focus: body]
      return
    }
    let strip = max(6, min(12, body.height / 4))
    let parts = body.rows([.fixed(strip), .flex(5), .flex(4)])
    let halves = parts[0].columns([.flex(3), .flex(2)])
    panes = [.sync: halves[0], .account: halves[1], .queue: parts[1], .records: parts[2]]
  }

  func frame(_ pane: Pane) -> Rect? { panes[pane] }

  /// The pane's area inside its frame.
  func inside(_ pane: Pane) -> Rect? {
    panes[pane].map { isFramed ? Box.inside($0) : $0 }
  }

  func visibleRows(_ pane: Pane) -> Int {
    inside(pane).map(Table.visibleRows(in:)) ?? 0
  }

  /// The rows of a view that covers the panes.
  var overlayRows: Int { body.height >= 3 ? Box.inside(body).height : body.height }
  var overlayColumns: Int { body.height >= 3 ? Box.inside(body).width : body.width }
}
