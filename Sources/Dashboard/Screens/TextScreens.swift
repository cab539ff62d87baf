import CloudService
import CloudSync
import Facts
import TerminalUI

/// The values of one field in full, over the screen that it belongs to.
struct ValueScreen: Screen, Hashable {
  /// One value under its heading.
  struct Part: Hashable, Sendable {
    var heading: String
    var text: String
    var role: StyleRole
  }

  let field: String
  let parts: [Part]
  private let copy: String?
  private var offset = 0

  /// - Parameter copy: the text to copy; nil: all parts.
  init(_ field: String, _ parts: [(heading: String, text: String, role: StyleRole)], copy: String? = nil) {
    (self.field, self.parts) = (field, parts.map { Part(heading: $0.heading, text: $0.text, role: $0.role) })
    self.copy = copy
  }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .moving, .copying, .closing] }

  private var lines: [StyledText] {
    parts.flatMap { part in
      [StyledText(part.heading, .header)]
        + part.text.split(separator: "\n", omittingEmptySubsequences: false).map { StyledText(String($0), part.role) }
        + [""]
    }
  }

  func copied(_ world: World) -> [Step] {
    [.effect(.copy(copy ?? parts.map { "\($0.heading)\t\($0.text)" }.joined(separator: "\n")))]
  }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    offset = TextView(lines).scrolled(id, from: offset, in: Box.text(world.body), world.glyphs)
    return []
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area)
    Box(title: StyledText(field), isFocused: true).draw(on: &frame.grid, in: area)
    TextView(lines, offset: offset).draw(on: &frame.grid, in: Box.text(area))
  }
}

extension TextView {
  /// The offset after a command that moves.
  func scrolled(_ id: CommandID, from offset: Int, in area: Rect, _ glyphs: GlyphSet) -> Int {
    let total = rows(in: area, glyphs)
    guard let target = ListState<Int>.target(of: id, from: offset, visible: area.height, total: total) else {
      return offset
    }
    return max(0, min(target, total - area.height))
  }
}
