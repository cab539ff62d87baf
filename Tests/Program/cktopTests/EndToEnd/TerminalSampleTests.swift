import Foundation
import Testing

/// What the terminal is sent, tested with a program that shows a list and obeys single keys.
@Suite(.serialized) struct TerminalSampleTests {
  private func start(_ settings: String = "TERM=xterm-256color") async throws -> Tmux {
    let terminal = try await Tmux(columns: 80, rows: 24)
    try await terminal.run("env \(settings) '\(Binary.named("terminal-sample").path)'")
    try await terminal.screen { $0.contains("ready") && $0.contains("╰") }
    return terminal
  }

  @Test(.timeLimit(.minutes(40)))
  func `a frame sends little more than what changed, and nothing if nothing changed`() async throws {
    let terminal = try await start()
    defer { terminal.close() }

    // The list has 20 visible rows: the cursor moves 19 times before each key scrolls by one row.
    try await terminal.type(String(repeating: "j", count: 25))
    try await terminal.screen { $0.contains("▌  1025") }
    try await terminal.type("x", "q")
    let screen = try await terminal.screen { $0.contains(/sent [0-9,\n]+,0\n/) }

    let text = try #require(screen.firstMatch(of: /sent ([0-9,\n]+)/)).1
    let sent = text.replacing("\n", with: "").split(separator: ",").compactMap { Int($0) }
    try #require(sent.count == 27)
    #expect((1...3200).contains(sent[0]))
    // Two rows: the one that is left, and the selected one, which stands out whole.
    #expect((1...260).contains(sent[1...19].max() ?? 0))
    #expect((1...254).contains(sent[20...25].max() ?? 0))
    #expect(sent[26] == 0)
  }

  @Test(.timeLimit(.minutes(40)))
  func `tmux is given the text itself, since it ignores what programs in it send`() async throws {
    let terminal = try await start()
    defer { terminal.close() }

    try await terminal.type("c")

    #expect(try await terminal.buffer() == "two words\n한국어")
  }

  @Test(.timeLimit(.minutes(40)), arguments: ["-u TMUX", "PATH=/nowhere"])
  func `a terminal is sent the text where there is no tmux to give it to`(setting: String) async throws {
    let terminal = try await start("\(setting) TERM=xterm-256color")
    defer { terminal.close() }
    try await terminal.takeClipboard()

    try await terminal.type("c")

    #expect(try await terminal.buffer() == "two words\n한국어")
  }

  @Test(.timeLimit(.minutes(40)))
  func `a text that terminals would drop is refused`() async throws {
    let terminal = try await start()
    defer { terminal.close() }

    try await terminal.type("C")

    try await terminal.screen { $0.contains("refused") }
  }

  @Test(.timeLimit(.minutes(40)))
  func `a change of the size draws everything again, also when the size is what it was`() async throws {
    let terminal = try await start()
    defer { terminal.close() }
    let screen = try await terminal.screen { _ in true }
    let pid = try #require(screen.firstMatch(of: /([0-9]+) ready/).flatMap { pid_t($0.1) })
    try await terminal.write("\u{1B}[5;5Hgarbage")
    try await terminal.screen { $0.contains("garbage") }

    kill(pid, SIGWINCH)

    #expect(try await terminal.screen { !$0.contains("garbage") } == screen)
  }

  @Test(.timeLimit(.minutes(40)))
  func `text that cannot be told from its ground is black or white, and another theme has all colours`() async throws {
    let terminal = try await start("TERM=xterm")
    defer { terminal.close() }

    try await terminal.type("m")
    let many = try await terminal.screen(withColors: true) { $0.contains("[47m") }
    try await terminal.type("p")
    let plain = try await terminal.screen(withColors: true) { $0.contains("plain") }

    // Yellow on white would be lost, and black on black.
    #expect(!many.contains(/\[3([0-7])m\x1B\[4\1m/) && !many.contains("\u{1B}[33m\u{1B}[47m"))
    #expect(many.contains("\u{1B}[30m\u{1B}[47m"))
    #expect(plain.contains("\u{1B}[35m") && !plain.contains("[40m"))
  }

  @Test(.timeLimit(.minutes(40)))
  func `the mouse is reported only while it is asked for, and never after the end`() async throws {
    let terminal = try await start()
    defer { terminal.close() }
    #expect(try await !terminal.hasMouse())

    try await terminal.type("M")
    try await terminal.screen { $0.contains("mouse on") }
    #expect(try await terminal.hasMouse())
    // ESC [ < 0 ; 5 ; 3 M
    try await terminal.send(hex: "1b 5b 3c 30 3b 35 3b 33 4d")
    try await terminal.screen { $0.contains("press at 4,2") }
    try await terminal.type("N")
    try await terminal.screen { $0.contains("mouse off") }
    #expect(try await !terminal.hasMouse())

    try await terminal.type("M")
    try await terminal.screen { $0.contains("mouse on") }
    try await terminal.type("q")
    try await terminal.screen { $0.contains("sent ") }
    #expect(try await !terminal.hasMouse())
  }

  @Test(.timeLimit(.minutes(40)))
  func `the mouse is given back when the program is killed`() async throws {
    let terminal = try await start()
    defer { terminal.close() }
    let screen = try await terminal.screen { $0.contains("ready") }
    let pid = try #require(screen.firstMatch(of: /([0-9]+) ready/).flatMap { pid_t($0.1) })
    try await terminal.type("M")
    try await terminal.screen { $0.contains("mouse on") }
    #expect(try await terminal.hasMouse())

    kill(pid, SIGKILL)

    while try await terminal.hasMouse() {}
  }
}
