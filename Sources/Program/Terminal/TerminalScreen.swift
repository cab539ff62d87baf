import CNcurses
import Dispatch
import Foundation
import Glibc
package import TerminalUI

/// The terminal: grids go in, keys and other events come out.
///
/// The only Swift type that uses ncurses. It waits on file descriptors, never on a clock, so that it costs nothing
/// while idle.
@MainActor
package final class TerminalScreen: Display {
  /// The events of the terminal.
  package enum Event: Sendable, Equatable {
    /// Everything that was typed since the last event.
    case keys([Key])
    /// The terminal has another size; the last grid is no longer on it.
    case resized(Size)
    /// A signal asks the program to stop, as ^Z does in other programs; call `suspend`.
    case stopAsked
    /// The program continues after it was stopped; the last grid is on the terminal again.
    case resumed
    /// A signal asks the program to end. Its exit status should be 128 plus the signal.
    case terminated(signal: Int32)
    /// The terminal is gone.
    case lineLost
  }

  package private(set) var size: Size
  package let glyphs: GlyphSet
  /// The number of colours of the terminal.
  package let depth: ColorDepth

  private let onEvent: @MainActor (Event) -> Void
  private var sources: ScreenSources?
  private var parser = KeyParser()
  private var presented: Presented?
  /// A frame that waits until a stalled line accepts output again.
  private var waiting: Presented?
  /// Whether a signal asked the program to end. Then nothing is sent that could wait for a stalled line.
  private var isEnding = false
  /// A text for the clipboard that waits as well.
  private var copied: String?
  private var palette: (theme: Theme, entries: Palette)?
  private var readings = 0
  private let resizing = Debounce(quiet: .milliseconds(40), atMost: .milliseconds(200))

  private struct Presented {
    var grid: Grid
    var theme: Theme
    var cursor: Position?
  }

  /// Starts the process that restores the terminal if this one is killed.
  ///
  /// Call it before threads start and files are opened, and only in a program that will open a screen.
  package nonisolated static func startGuard() {
    _ = cknc_guard_start()
  }

  /// Looks up what the terminal can show, without taking it over. Not while a screen is open.
  package nonisolated static func examine() -> (error: ScreenError?, colors: Int, isASCII: Bool, version: String) {
    var (colors, isASCII): (Int32, Int32) = (0, 0)
    let status = cknc_examine(Int32(CKNC_DIRECT_COLOR.rawValue), &colors, &isASCII)
    return (ScreenError(rawValue: status), max(0, Int(colors)), isASCII == 1, String(cString: cknc_version()))
  }

  /// Takes over the terminal.
  ///
  /// - Parameters:
  ///   - isMonochrome: Whether the user asked for no colours, as by `NO_COLOR`.
  ///   - onEvent: Called on the main actor with everything that happens.
  package init(isMonochrome: Bool, onEvent: @escaping @MainActor (Event) -> Void) throws(ScreenError) {
    let options = isMonochrome ? CKNC_MONOCHROME.rawValue : CKNC_DIRECT_COLOR.rawValue
    let status = cknc_open(Int32(options))
    guard status == 0 else { throw ScreenError(rawValue: status) ?? .systemError }
    self.onEvent = onEvent
    size = Size(width: Int(cknc_columns()), height: Int(cknc_rows()))
    glyphs = GlyphSet(isASCII: cknc_is_ascii() == 1, term: ProcessInfo.processInfo.environment["TERM"] ?? "")
    depth = ColorDepth(colors: Int(cknc_colors()))
    sources = ScreenSources(
      inputDescriptor: cknc_input_fd(),
      signalDescriptor: cknc_signal_fd(),
      input: { [weak self] in self?.readInput() },
      signals: { [weak self] in self?.readSignals() },
      output: { [weak self] in self?.presentWaiting() }
    )
  }

  /// Restores the terminal. Afterwards nothing is drawn and no event is sent either.
  package func close() {
    guard let sources else { return }
    sources.cancel()
    self.sources = nil
    cknc_close()
  }

  /// Shows a grid, with the cursor at a position or hidden. Returns the bytes sent: 0 if nothing changed.
  ///
  /// While the line is stalled, nothing is sent. The newest grid is shown as soon as the line accepts output.
  @discardableResult
  package func present(_ grid: Grid, theme: Theme, cursor: Position?) -> Int {
    guard let sources else { return 0 }
    let frame = Presented(grid: grid, theme: theme, cursor: cursor)
    guard cknc_is_foreground() == 1 else {
      waiting = frame
      takeBack()
      return 0
    }
    guard waiting == nil, cknc_is_writable() == 1 else {
      waiting = frame
      sources.awaitOutput()
      return 0
    }
    return draw(frame)
  }

  package func reportMouse(_ isOn: Bool) {
    guard sources != nil else { return }
    cknc_mouse(isOn ? 1 : 0)
  }

  package func redraw() {
    guard sources != nil, let frame = waiting ?? presented else { return }
    cknc_redraw()
    presented = nil
    present(frame.grid, theme: frame.theme, cursor: frame.cursor)
  }

  // MARK: - Clipboard

  /// Puts a text on the clipboard of the user's terminal, with OSC 52 or through tmux.
  @discardableResult
  package func copy(_ text: String) -> Bool {
    guard let sources, text.utf8.count <= Self.longestCopy else { return false }
    // As tmux is set up by default, it ignores OSC 52 of the programs in it.
    if getenv("TMUX") != nil, copyThroughTmux(text) { return true }
    copied = text
    guard waiting == nil, cknc_is_writable() == 1 else {
      sources.awaitOutput()
      return true
    }
    if addCopied() { send() }
    return true
  }

  private func copyThroughTmux(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let process = cknc_tmux_copy(bytes, Int32(bytes.count))
    guard process > 0 else { return false }
    DispatchQueue.global().async { _ = cknc_tmux_await(process) }
    return true
  }

  /// Adds the text that waits for the clipboard to what is sent next. Returns whether there was one.
  private func addCopied() -> Bool {
    guard let text = copied else { return false }
    copied = nil
    cknc_add("\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{07}")
    return true
  }

  // MARK: - Drawing

  private func draw(_ frame: Presented) -> Int {
    let palette = palette(for: frame.theme)
    let isNew = presented == nil || presented?.theme != frame.theme
    var isDirty = addCopied() || isNew || presented?.cursor != frame.cursor
    if isNew {
      let ground = palette[.text]
      cknc_background(Int32(ground.foreground), Int32(ground.background))
    }
    for y in 0..<size.height where isNew || presented?.grid.row(y) != frame.grid.row(y) {
      isDirty = true
      put(frame.grid.row(y), at: y, palette)
    }
    presented = frame
    guard isDirty else { return 0 }
    if let cursor = frame.cursor, Rect(size).contains(cursor) {
      cknc_cursor(Int32(cursor.y), Int32(cursor.x))
    } else {
      cknc_cursor(-1, 0)
    }
    return send()
  }

  /// Sends what was drawn. Returns the number of bytes.
  @discardableResult
  private func send() -> Int {
    if isEnding { return 0 }
    let count = Int(cknc_flush())
    guard count >= 0 else {
      lose()
      return 0
    }
    return count
  }

  private func put(_ row: ArraySlice<Cell>, at y: Int, _ palette: Palette) {
    cknc_erase(Int32(y))
    let ground = palette[.text].background
    // A grid of another size than the terminal is cut or padded.
    var rest = row.prefix(size.width)
    // ncurses writes the last cell of the screen by inserting what stands before it, which parts marks from their
    // letter.
    if y == size.height - 1, rest.count == size.width, let corner = rest.last(where: { $0.columns > 0 }) {
      rest = rest.dropLast(Int(corner.columns)) + [corner.withoutMarks] + rest.suffix(Int(corner.columns) - 1)
    }
    var x = 0
    while let first = rest.first {
      let run = rest.prefix { $0.style == first.style && $0.isBlank == first.isBlank }
      let look = first.isBlank ? palette.blank(first.style) : palette[first.style]
      let isErased = first.isBlank && look.background == ground && look.attributes.isEmpty
      if !isErased { put(run, at: Position(x: x, y: y), look) }
      x += run.count
      rest = rest.dropFirst(run.count)
    }
  }

  private func put(_ run: ArraySlice<Cell>, at position: Position, _ look: Palette.Entry) {
    let text = codePoints(of: run)
    cknc_put(
      Int32(position.y),
      Int32(position.x),
      text,
      Int32(text.count),
      Int32(look.foreground),
      Int32(look.background),
      Int32(look.attributes.rawValue)
    )
  }

  private func codePoints(of run: ArraySlice<Cell>) -> [UInt32] {
    var result: [UInt32] = []
    for cell in run where cell.columns > 0 {
      result += glyphs.sent(for: cell.character).unicodeScalars.lazy.map(\.value)
      if glyphs == .ascii, cell.columns == 2 { result.append(0x20) }
    }
    return result
  }

  private func palette(for theme: Theme) -> Palette {
    if let palette, palette.theme == theme { return palette.entries }
    let entries = Palette(theme, depth: depth)
    palette = (theme, entries)
    return entries
  }

  private func presentWaiting() {
    guard let frame = waiting else {
      if addCopied() { send() }
      return
    }
    waiting = nil
    present(frame.grid, theme: frame.theme, cursor: frame.cursor)
  }

  // MARK: - Events

  private func readInput() {
    guard cknc_is_foreground() == 1 else { return takeBack() }
    var keys: [Key] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    // Input that never ends must not hold up signals.
    for _ in 0..<16 {
      let count = Int(cknc_read(&buffer, Int32(buffer.count)))
      guard count >= 0 else { return lose() }
      guard count > 0 else { break }
      keys += parser.feed(buffer.prefix(count))
    }
    readings += 1
    if !keys.isEmpty { onEvent(.keys(keys)) }
    if let time = parser.millisecondsToFlush { decide(in: time) }
  }

  /// Reads an Escape that nothing follows as the Escape key, and ends a paste whose end does not come.
  private func decide(in milliseconds: Int) {
    let reading = readings
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
      MainActor.assumeIsolated {
        guard let self, self.readings == reading, self.sources != nil else { return }
        let keys = self.parser.flush()
        if !keys.isEmpty { self.onEvent(.keys(keys)) }
      }
    }
  }

  private func readSignals() {
    while sources != nil {
      let signal = cknc_next_signal()
      switch signal {
      case 0: return
      case SIGWINCH: resizing.schedule { [weak self] in self?.resize() }
      case SIGTSTP: onEvent(.stopAsked)
      case SIGCONT:
        // The process was stopped by SIGSTOP, and the shell has used the terminal meanwhile.
        takeBack()
      default:
        if signal == SIGHUP { cknc_ignore_hangups() }
        isEnding = true
        onEvent(.terminated(signal: signal))
      }
    }
  }

  private func resize() {
    guard sources != nil else { return }
    // A size that changed and changed back has cost the terminal what was outside of the smaller one.
    guard cknc_resize() == 1 else { return redraw() }
    adoptSize()
    onEvent(.resized(size))
  }

  private func adoptSize() {
    size = Size(width: Int(cknc_columns()), height: Int(cknc_rows()))
    presented = nil
  }

  package func suspend(wholeGroup: Bool) {
    guard sources != nil else { return }
    cknc_leave()
    cknc_stop(wholeGroup ? 1 : 0)
    comeBack()
  }

  /// Takes the terminal over again after another program has used it. In the background the process stops until a shell
  /// brings it to the foreground.
  private func takeBack() {
    guard cknc_await_foreground() == 0 else { return lose() }
    cknc_leave()
    comeBack()
  }

  private func comeBack() {
    let frame = waiting ?? presented
    let oldSize = size
    guard cknc_enter() == 0 else { return lose() }
    adoptSize()
    if size != oldSize {
      onEvent(.resized(size))
    } else if let frame {
      present(frame.grid, theme: frame.theme, cursor: frame.cursor)
    }
    onEvent(.resumed)
  }

  private func lose() {
    guard sources != nil else { return }
    // More hang-ups may come, from the kernel and from the shell, while the commands given before are carried out.
    cknc_ignore_hangups()
    // A lost line often sends a signal too, and a signal ends a stalled write.
    var signal = cknc_next_signal()
    while signal != 0, ![SIGTERM, SIGHUP, SIGINT].contains(signal) { signal = cknc_next_signal() }
    close()
    onEvent(signal == 0 ? .lineLost : .terminated(signal: signal))
  }
}
