import DisplaySupport
import Foundation
import Terminal
import TerminalUI

/// Shows a list on the terminal and does what single keys say. At its end it prints the bytes that each frame took.
@main
@MainActor
final class TerminalSample {
  private var screen: TerminalScreen?
  private var ending: CheckedContinuation<Void, Never>?
  private var theme = Theme.builtIn.first { $0.name == "midnight" } ?? Theme.builtIn[0]
  private var selection = 0
  private var offset = 0
  private var status = "ready"
  private var showsColors = false
  private var frames = 0
  private var sent: [Int] = []
  /// The hostile text to draw; nil: the list.
  private var hostile: (text: HostileText, file: URL)?

  static func main() async throws {
    TerminalScreen.startGuard()
    try await TerminalSample().run()
  }

  private func run() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.count == 3, arguments[1] == "hostile", let seed = UInt64(arguments[2]) {
      hostile = (HostileText(seed: seed), URL(fileURLWithPath: arguments[3]))
    }
    let screen = try TerminalScreen(isMonochrome: false) { [weak self] in self?.handle($0) }
    self.screen = screen
    present()
    await withCheckedContinuation { ending = $0 }
    screen.close()
    print("sent", sent.map(String.init).joined(separator: ","))
  }

  private func handle(_ event: TerminalScreen.Event) {
    switch event {
    case .keys(let keys):
      for case .mouse(let mouse) in keys {
        status = "\(mouse.action) at \(mouse.position.x),\(mouse.position.y)"
        present()
      }
      for case .character(let key) in keys { act(key) }
    case .terminated, .lineLost: end()
    case .resized, .stopAsked, .resumed: present()
    }
  }

  private func end() {
    ending?.resume()
    ending = nil
  }

  private func act(_ key: Character) {
    switch key {
    case "j": selection += 1
    case "c": status = screen?.copy("two words\n한국어") == true ? "copied" : "refused"
    case "C": status = screen?.copy(String(repeating: "x", count: 100_001)) == true ? "copied" : "refused"
    case "M":
      screen?.reportMouse(true)
      status = "mouse on"
    case "N":
      screen?.reportMouse(false)
      status = "mouse off"
    case "m": (theme, showsColors) = (Self.manyColors, true)
    case "p": (theme, showsColors) = (Self.plain, true)
    case "n": frames += 1
    case "q": return end()
    default: break
    }
    present()
  }

  private func present() {
    guard let screen else { return }
    var grid = Grid(screen.size, glyphs: screen.glyphs)
    grid.put(hostile == nil ? "\(getpid()) \(status)" : "frame \(frames).", at: Position(x: 0, y: 0))
    let body = Rect(x: 0, y: 1, width: grid.size.width, height: grid.size.height - 1)
    if var hostile {
      // Every cell is drawn, from texts that begin at any of them.
      for row in 0..<body.height { grid.put(hostile.text.next(cells: body.width), at: Position(x: 0, y: 1 + row)) }
      self.hostile = hostile
      try? Data(grid.text.utf8).write(to: hostile.file, options: .atomic)
    } else if showsColors {
      drawColors(on: &grid, in: body)
    } else {
      drawList(on: &grid, in: body)
    }
    sent.append(screen.present(grid, theme: theme, cursor: nil))
  }

  private func drawList(on grid: inout Grid, in area: Rect) {
    grid.draw(Box(title: "Queue", note: "50", isFocused: true), in: area)
    let inside = Box.inside(area)
    let visible = Table.visibleRows(in: inside)
    offset = Table.offset(showing: selection, from: offset, visible: visible, total: 50)
    let rows = (offset..<50).prefix(visible).map { row in
      Table.Row(["\(1000 + row)", StyledText("pending", .pending), "Task/t\(row)", StyledText("ready", .dim)])
    }
    let columns: [Table.Column] = [.init("ID", .fixed(4)), .init("STATE", .fixed(8)), .init("RECORD"), .init("WHY")]
    let table = Table(
      columns: columns,
      rows: rows,
      offset: offset,
      total: 50,
      selection: selection,
      isFocused: true
    )
    grid.draw(table, in: inside)
  }

  // MARK: - Colours

  /// Roles that stand for the eight colours and the terminal's own, as text and as ground.
  private static let texts: [StyleRole] = [.dim, .strong, .ok, .info, .pending, .active, .warning, .error, .title]
  private static let grounds: [StyleRole] = [
    .banner, .dialog, .input, .selection, .header, .base, .local, .server, .key,
  ]
  private static let colors = (0..<8).map { Color.indexed($0) } + [.standard]

  private static let manyColors: Theme = {
    var looks: [StyleRole: Theme.Look] = [.text: .init(foreground: .indexed(7), background: .indexed(0))]
    for (index, color) in colors.enumerated() {
      looks[texts[index]] = .init(foreground: color, attributes: [])
      looks[grounds[index]] = .init(background: color, attributes: [])
    }
    return Theme(name: "many", background: .dark, looks: looks)
  }()

  private static let plain = Theme(
    name: "plain",
    background: .dark,
    looks: [.text: .init(foreground: .indexed(5), background: .standard)]
  )

  /// Draws a text in every colour on every ground.
  private func drawColors(on grid: inout Grid, in area: Rect) {
    guard theme == Self.manyColors else { return grid.put(StyledText("plain"), in: area.row(9)) }
    for (y, ground) in Self.grounds.enumerated() {
      let line = StyledText(Self.texts.enumerated().map { .init("\($0)", $1) }).on(ground)
      grid.put(line, in: area.row(y))
    }
  }
}
