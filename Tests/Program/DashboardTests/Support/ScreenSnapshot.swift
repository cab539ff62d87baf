import DisplaySupport
import TerminalUI
import TestSupport
import Testing

/// Compares a screen with the file of that name in `Screens`; with `RECORD_SNAPSHOTS=1` writes the file first.
///
/// A file holds the screen as a user sees it, framed by `|`, then one letter per cell for the style.
func expectScreen(_ grid: Grid, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let lines = grid.text.split(separator: "\n", omittingEmptySubsequences: false)
  let screen = "\(grid.size.width)x\(grid.size.height)\n" + lines.map { "|\($0)|" }.joined(separator: "\n")
  let styles = grid.snapshot.dropFirst(grid.text.count)
  let file = "Tests/Program/DashboardTests/Screens/\(name).txt"
  try expectFile(file, screen + "\n" + styles + "\n", sourceLocation: sourceLocation)
}

/// Compares a file of the package with what it should contain; with `RECORD_SNAPSHOTS=1` writes the file first.
func expectFile(_ path: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  #expect(try text == recorded(path, text), "\(path) is out of date", sourceLocation: sourceLocation)
}
