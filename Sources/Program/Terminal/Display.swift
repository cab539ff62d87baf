package import TerminalUI

/// The place where frames are shown: a terminal, or a recording in tests.
@MainActor
package protocol Display: AnyObject {
  /// The number of columns and rows.
  var size: Size { get }
  /// The glyphs that can be shown. Make grids with it.
  var glyphs: GlyphSet { get }

  /// Shows a grid, with the cursor at a position or hidden. Returns the bytes sent: 0 if nothing changed.
  @discardableResult
  func present(_ grid: Grid, theme: Theme, cursor: Position?) -> Int

  /// Sends the whole screen again, after another program has written over it.
  func redraw()

  /// Stops the program until the shell continues it, as ^Z does.
  ///
  /// - Parameter wholeGroup: Whether the other processes of its group stop too.
  func suspend(wholeGroup: Bool)

  /// Puts a text on the clipboard of the user's terminal. No terminal confirms that it took the text.
  ///
  /// Returns false, and copies nothing, if the text is longer than `longestCopy`.
  @discardableResult
  func copy(_ text: String) -> Bool

  /// Asks the terminal to report the mouse, or to stop, with the next frame.
  func reportMouse(_ isOn: Bool)

  /// Restores what was there before. Afterwards nothing is shown.
  func close()
}

extension Display {
  /// The length in bytes of the longest text that can be copied. Terminals drop longer ones without a word.
  package static var longestCopy: Int { 100_000 }
}
