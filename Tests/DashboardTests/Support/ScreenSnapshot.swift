import DisplaySupport
import Foundation
import TerminalUI
import Testing

/// Compares a screen with the file of that name in `Screens`; with `RECORD_SNAPSHOTS=1` writes the file instead.
///
/// A file holds the screen as a user sees it, framed by `|`, then one letter per cell for the style.
func expectScreen(_ grid: Grid, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let lines = grid.text.split(separator: "\n", omittingEmptySubsequences: false)
  let screen = "\(grid.size.width)x\(grid.size.height)\n" + lines.map { "|\($0)|" }.joined(separator: "\n")
  let styles = grid.snapshot.dropFirst(grid.text.count)
  let file = "Tests/DashboardTests/Screens/\(name).txt"
  try expectFile(file, screen + "\n" + styles + "\n", sourceLocation: sourceLocation)
}

/// Compares a file of the package with what it should contain; with `RECORD_SNAPSHOTS=1` writes the file instead.
func expectFile(_ path: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let file = packageFile(path)
  if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return
  }
  let expected = try String(decoding: Data(contentsOf: file), as: UTF8.self)
  #expect(text == expected, "\(path) is out of date", sourceLocation: sourceLocation)
}

/// A file by its path in the package.
func packageFile(_ path: String) -> URL {
  URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../../\(path)").standardizedFileURL
}
