import Foundation
import TerminalUI
import Testing

/// Compares a screen with the file of that name in `Screens`; with `RECORD_SNAPSHOTS=1` writes the file instead.
///
/// A file holds the screen as a user sees it, framed by `|`, then one letter per cell for the style.
func expectScreen(_ grid: Grid, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Screens")
  let file = folder.appending(path: name + ".txt")
  let lines = grid.text.split(separator: "\n", omittingEmptySubsequences: false)
  let screen = "\(grid.size.width)x\(grid.size.height)\n" + lines.map { "|\($0)|" }.joined(separator: "\n")
  let styles = grid.snapshot.dropFirst(grid.text.count)
  let text = screen + "\n" + styles + "\n"
  if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return
  }
  let expected = try String(decoding: Data(contentsOf: file), as: UTF8.self)
  #expect(text == expected, "screen \(name) has changed", sourceLocation: sourceLocation)
}
