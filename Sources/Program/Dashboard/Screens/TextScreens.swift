import CloudService
import CloudSync
import Facts
import TerminalUI

/// A view of text that is scrolled.
protocol TextScreen: Screen {
  var offset: Int { get set }
  /// The title of its frame.
  var heading: String { get }
  func lines(_ world: World) -> [StyledText]
  /// The text that a key copies.
  func text(_ world: World) -> String
  /// The place of the text, in the area of the view.
  static func place(_ area: Rect, _ world: World) -> Rect
}

extension TextScreen {
  var heading: String { title ?? "" }
  static func place(_ area: Rect, _ world: World) -> Rect { Box.text(area) }

  func subject(_ world: World) -> Subject { Subject(copy: Offer([.effect(.copy(text(world)))])) }
  func text(_ world: World) -> String { lines(world).map(\.plain).joined(separator: "\n") }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    let area = Self.place(world.body, world)
    let total = TextView(lines(world)).rows(in: area, world.glyphs)
    if let target = ListState<Int>.target(of: id, from: offset, visible: area.height, total: total) {
      offset = max(0, min(target, total - area.height))
    }
    return []
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) { drawText(on: &frame, in: area, world) }

  /// Draws the frame with the text.
  func drawText(on frame: inout Frame, in area: Rect, _ world: World) {
    if isOverlay { frame.grid.fill(area) }
    Box(title: StyledText(heading), isFocused: true).draw(on: &frame.grid, in: area)
    TextView(lines(world), offset: offset).draw(on: &frame.grid, in: Self.place(area, world))
  }
}

/// The values of one field in full, over the screen that it belongs to.
struct ValueScreen: TextScreen, Hashable {
  /// One value under its heading.
  struct Part: Hashable, Sendable {
    var heading: String
    var text: String
    var role: StyleRole
  }

  let heading: String
  let parts: [Part]
  private let copy: String?
  var offset = 0

  /// - Parameter copy: the text to copy; nil: all parts.
  init(_ heading: String, _ parts: [(heading: String, text: String, role: StyleRole)], copy: String? = nil) {
    (self.heading, self.parts) = (heading, parts.map { Part(heading: $0.heading, text: $0.text, role: $0.role) })
    self.copy = copy
  }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .moving, .copying, .closing] }

  func lines(_ world: World) -> [StyledText] {
    parts.flatMap { part in
      [StyledText(part.heading, .header)]
        + part.text.split(separator: "\n", omittingEmptySubsequences: false).map { StyledText(String($0), part.role) }
        + [""]
    }
  }

  func text(_ world: World) -> String {
    copy ?? parts.map { "\($0.heading)\t\($0.text)" }.joined(separator: "\n")
  }
}
