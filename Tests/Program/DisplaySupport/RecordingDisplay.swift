import Terminal
package import TerminalUI

/// A display for tests: keeps what it is asked to show and do.
@MainActor
package final class RecordingDisplay: Display {
  /// A frame shown by one call of `present`.
  package struct Frame: Sendable, Equatable {
    package var grid: Grid
    package var theme: Theme
    package var cursor: Position?
  }

  /// A call that shows nothing by itself.
  package enum Call: Sendable, Equatable {
    case redraw
    case suspend(wholeGroup: Bool)
    case reportMouse(Bool)
    case close
  }

  package var size: Size
  package let glyphs: GlyphSet
  /// The frames, oldest first.
  package private(set) var frames: [Frame] = []
  /// The texts that were copied, oldest first.
  package private(set) var copies: [String] = []
  /// The other calls, oldest first.
  package private(set) var calls: [Call] = []

  package init(size: Size, glyphs: GlyphSet = .unicode) {
    self.size = size
    self.glyphs = glyphs
  }

  package func present(_ grid: Grid, theme: Theme, cursor: Position?) -> Int {
    let frame = Frame(grid: grid, theme: theme, cursor: cursor)
    defer { frames.append(frame) }
    return frame == frames.last ? 0 : grid.text.utf8.count
  }

  package func redraw() { calls.append(.redraw) }

  package func suspend(wholeGroup: Bool) { calls.append(.suspend(wholeGroup: wholeGroup)) }

  package func copy(_ text: String) -> Bool {
    guard text.utf8.count <= Self.longestCopy else { return false }
    copies.append(text)
    return true
  }

  package func reportMouse(_ isOn: Bool) { calls.append(.reportMouse(isOn)) }

  package func close() { calls.append(.close) }
}
