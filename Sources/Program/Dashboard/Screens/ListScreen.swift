import CloudService
import CloudSync
import TerminalUI

/// A view of one list, with the selected row in detail beside or under it where there is room.
protocol ListScreen: Screen {
  associatedtype Kind: ListKind
  var list: RowList<Kind> { get set }
  /// The remark at the right of the frame.
  func note(_ world: World) -> StyledText
  /// Draws the frame of the list.
  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World)
}

extension ListScreen {
  func layout(_ world: World) -> SplitLayout { SplitLayout(world.body, isSplit: Kind.hasDetail) }
  func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(layout(world).list)) }

  var rows: (any ListActions)? {
    get { list }
    set { if let changed = newValue as? RowList<Kind> { list = changed } }
  }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    Kind.request(list, visible: visible(world), in: &scope)
    if layout(world).detail != nil, let row = list.selected(world) { Kind.requestDetail(of: row, in: &scope) }
    return scope
  }

  func isWaiting(_ world: World) -> Bool { list.isWaiting(world) }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { list.type(key) }
  func prompt(_ world: World) -> Prompt? { list.prompt(world) }

  mutating func follow(_ world: World) {
    list.follow(world, visible: visible(world), isFocused: !Kind.followsTop)
  }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, world, visible: visible(world))
  }

  mutating func back(_ world: World) -> [Step] { list.clear() ? [] : [.pop] }

  func note(_ world: World) -> StyledText { list.note(world) }

  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World) {
    Box(title: StyledText(title ?? ""), note: note(world), isFocused: true).draw(on: &frame.grid, in: area)
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = SplitLayout(area, isSplit: Kind.hasDetail)
    drawFrame(on: &frame, in: layout.list, world)
    list.draw(on: &frame, in: Box.inside(layout.list), world)
    guard let place = layout.detail else { return }
    let detail = list.selected(world).flatMap { Kind.detail(of: $0, world) }
    Box(title: StyledText(detail?.title ?? "Detail")).draw(on: &frame.grid, in: place)
    detail?.inspector.draw(on: &frame.grid, in: Box.text(place), isShort: !layout.showsWholeDetail)
  }
}

/// A view whose rows are all in memory, with a cursor.
protocol CursorScreen: Screen {
  associatedtype ID: Hashable, Sendable
  var list: ListState<ID> { get set }
  func ids(_ world: World) -> [ID]
}

extension CursorScreen {
  mutating func follow(_ world: World) { list.follow(.init(ids(world)), visible: visible(world)) }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    list.move(by: id, .init(ids(world)), visible: visible(world))
    return []
  }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, .init(ids(world)), visible: visible(world))
  }
}

extension Box {
  /// The cells inside of a frame for text, with a blank at both sides.
  static func text(_ area: Rect) -> Rect { area.inset(horizontally: 2, vertically: 1) }
}

/// A list with what is selected beside it, else under it, where there is room.
struct SplitLayout: Hashable, Sendable {
  let list: Rect
  /// Nil where there is no room.
  let detail: Rect?

  init(_ area: Rect, isSplit: Bool) {
    let isWide = area.width >= Breakpoint.detailBesideList
    let parts =
      !isSplit || !isWide && area.height < Breakpoint.listAboveDetail
      ? [area] : isWide ? area.columns([.flexible, .flexible]) : area.rows([.flexible, .flexible])
    (list, detail) = (parts[0], parts.count > 1 ? parts[1] : nil)
  }

  /// Whether most details have room, so that Enter goes on from there.
  var showsWholeDetail: Bool { detail?.height ?? 0 >= Breakpoint.wholeDetail }
}

extension World {
  /// The area between the top line and the footer, or the card above the footer.
  var body: Rect { Rect(x: 0, y: 1, width: size.width, height: size.height - 2 - cardLines.count) }

  /// Whether the card has the key for the next one beside it.
  var hasNextKey: Bool { size.width >= Breakpoint.keyBesideCard }

  /// The lines of the card: one, or more where it is narrow.
  var cardLines: [StyledText] {
    guard let card else { return [] }
    return hasNextKey ? [card] : wrap(card, to: size.width - 2, glyphs)
  }
}
