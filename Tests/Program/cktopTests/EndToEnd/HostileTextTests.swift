import Foundation
import TestSupport
import Testing

/// Data that tries to leave its cells, drawn on a real terminal: tmux says what became of it.
///
/// `CELLS=10000000 SEED=3 swift test --filter HostileTextTests` draws ten million cells, which takes some ten minutes.
@Suite(.serialized) struct HostileTextTests {
  private static func setting(_ name: String, _ standard: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
  }

  /// The lines of a screen without the blanks at their ends, which tmux leaves out.
  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }
  }

  /// The lines with the last letter of the last line alone: the last cell of a screen shows no marks.
  private static func withoutMarksInCorner(_ lines: ArraySlice<String>) -> ArraySlice<String> {
    guard let last = lines.last, let letter = last.last?.unicodeScalars.first else { return lines }
    return lines.dropLast() + [last.dropLast() + String(Character(letter))]
  }

  @Test(.timeLimit(.minutes(40)))
  func `whatever a text contains, the terminal shows every cell as it was drawn`() async throws {
    let (columns, rows) = (80, 24)
    let frames = max(1, Self.setting("CELLS", 100_000) / (columns * (rows - 1)))
    let folder = try TemporaryFolder()
    let file = folder.path("frame")
    let terminal = try await Tmux(columns: columns, rows: rows)
    defer { terminal.close() }
    let sample = try Binary.named("terminal-sample").path
    try await terminal.run("env TERM=xterm-256color '\(sample)' hostile \(Self.setting("SEED", 1)) '\(file)'")

    for frame in 0..<frames {
      if frame > 0 { try await terminal.type("n") }
      try await terminal.screen { $0.hasPrefix("frame \(frame).") }
      let drawn = Self.lines(try String(contentsOfFile: file, encoding: .utf8)).prefix(rows)
      let wanted = [drawn, Self.withoutMarksInCorner(drawn)]
      // The terminal may be in the middle of a frame: it is looked at a hundred times.
      var looks = 0
      let screen = try await terminal.screen { screen in
        looks += 1
        return wanted.contains(Self.lines(screen).prefix(rows)) || looks > 100
      }
      let shown = Self.lines(screen).prefix(rows)
      let wrong = wanted.contains(shown) ? nil : zip(drawn, shown).enumerated().first { $0.element.0 != $0.element.1 }
      guard wrong == nil else {
        Issue.record("frame \(frame), row \(wrong?.offset ?? 0):\n\(wrong?.element.0 ?? "")\n\(wrong?.element.1 ?? "")")
        return
      }
    }
  }
}
