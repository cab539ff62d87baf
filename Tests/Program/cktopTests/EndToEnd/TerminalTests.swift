import Foundation
import TestSupport
import Testing

/// The program in a real terminal: tmux holds it, types its keys and reads its screen.
@Suite(.serialized) struct TerminalTests {
  @Test(.timeLimit(.minutes(40)))
  func `the demo comes alive, is driven by keys, and gives the terminal back`() async throws {
    let terminal = try await Tmux(columns: 80, rows: 24)
    defer { terminal.close() }
    try await terminal.run(
      "'\(Binary.cktop().path)' demo; echo left with $?; case $(stty -a) in *' -icanon'*) echo r'a'w;; *) echo coo'ked';; esac"
    )

    try await terminal.screen { $0.contains("3 Queue") && $0.contains("2 Account") && $0.contains("Element") }
    try await terminal.type("D", "x")
    try await terminal.screen { $0.contains("1 failed") }
    try await terminal.type("!")
    try await terminal.screen { $0.contains(/! +\d+ +failed/) && $0.contains("problems") }
    try await terminal.type("Enter")
    try await terminal.screen { $0.contains("Operation ") && $0.contains("BAD_REQUEST") }
    try await terminal.type("q")
    try await terminal.screen { $0.contains("3 Queue") }
    // It is rejected again, and the notice passes: a machine that is busy may look too late. Until then another one is
    // selected; failed ones come first.
    try await terminal.screen(typing: "Home", "r") { $0.contains("Retried 1 operation") }
    try await terminal.type("D", "m")
    try await terminal.screen { $0.contains("conflict") }
    try await terminal.screen(typing: "5") { $0.contains("BASE") && $0.contains("LOCAL") && $0.contains("SERVER") }
    let desk = try await terminal.screen { $0.contains(/Element\/[A-Z]/) }
    let conflict = try #require(desk.firstMatch(of: /Element\/[A-Za-z]+ in zone/)).output
    // Where the demo's other device writes the record meanwhile, the decision does not count and is asked again.
    // Another one of the demo's own may follow it, and a slow machine look when the notice has passed.
    try await terminal.screen(typing: "L", "Enter") { !$0.contains(conflict) }
    try await terminal.resize(columns: 20, rows: 5)
    try await terminal.screen { !$0.contains("laboratory") }
    try await terminal.resize(columns: 200, rows: 50)
    try await terminal.screen { $0.contains("laboratory  development") }
    try await terminal.type("C-c")
    let last = try await terminal.screen { $0.contains("left with") && ($0.contains("cooked") || $0.contains("raw")) }

    #expect(last.contains("left with 130"))
    #expect(last.contains("cooked"))
  }

  @Test(.timeLimit(.minutes(40)))
  func `a discard that was asked about spares a change that was edited before the answer`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1"])
    try await machine.succeed("--database", "private", "records", "put", "--type", "Task", "--name", "t1", "a=1")
    let store = try #require(try await machine.run("--database", "private", "status", "--json").object()["store"])
    let terminal = try await Tmux(columns: 100, rows: 24)
    defer { terminal.close() }
    try await terminal.run("CLOUDKIT_URL=http://127.0.0.1:1 '\(Binary.cktop().path)' --store '\(store)'")
    try await terminal.screen { $0.contains("3 Queue") && $0.contains("t1") }
    try await terminal.type("d")
    try await terminal.screen { $0.contains("Discard the unsent change to Task/t1?") }

    try await machine.succeed("--database", "private", "records", "put", "--name", "t1", "a=2")
    try await terminal.type("y")
    try await terminal.message("Left operation 1 as it is: it has changed")

    let rows = try await machine.succeed("--database", "private", "queue", "list", "--json")
    #expect(try rows.object()["recordName"] as? String == "t1")
  }

  /// The shell has job control, as it has for a person.
  @Test(.timeLimit(.minutes(40))) func `a dashboard in the background stops, and draws only in the foreground`()
    async throws
  {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1"])
    try await machine.succeed("--database", "private", "records", "put", "--type", "Task", "--name", "t1", "a=1")
    let store = try #require(try await machine.run("--database", "private", "status", "--json").object()["store"])
    let terminal = try await Tmux(columns: 100, rows: 24)
    defer { terminal.close() }
    func isStopped(_ screen: String) -> Bool { screen.contains("tty output") || screen.contains("SIGTTOU") }

    try await terminal.run("CLOUDKIT_URL=http://127.0.0.1:1 '\(Binary.cktop().path)' --store '\(store)' &")
    #expect(!(try await terminal.screen(typing: "jobs", "Enter") { isStopped($0) }).contains("3 Queue"))
    try await terminal.type("clear; fg", "Enter")
    try await terminal.screen { $0.contains("3 Queue") && $0.contains("t1") }
    try await terminal.type("C-z")
    try await terminal.screen { $0.contains("Stopped") && !$0.contains("3 Queue") }
    try await terminal.run("bg")
    #expect(!(try await terminal.screen(typing: "jobs", "Enter") { isStopped($0) }).contains("3 Queue"))
    try await terminal.type("clear; fg", "Enter")
    try await terminal.screen { $0.contains("3 Queue") && $0.contains("t1") }
    try await terminal.type("q")
    try await terminal.screen { !$0.contains("3 Queue") }
  }

  @Test(.timeLimit(.minutes(40)), arguments: ["", "dumb"])
  func `a terminal that cannot be used is refused in one line`(term: String) async throws {
    let terminal = try await Tmux(columns: 100, rows: 10)
    defer { terminal.close() }
    let setting = term.isEmpty ? "env -u TERM" : "env TERM=\(term)"
    try await terminal.run("\(setting) '\(Binary.cktop().path)' demo; echo left with $?")

    let screen = try await terminal.screen { $0.contains(/left with [0-9]/) }

    #expect(screen.contains("cktop: ") && screen.contains("left with 2"))
  }

  @Test(.timeLimit(.minutes(40)))
  func `an unknown theme is refused with the names there are`() async throws {
    let terminal = try await Tmux(columns: 100, rows: 10)
    defer { terminal.close() }
    try await terminal.run("'\(Binary.cktop().path)' demo --theme nonesuch; echo left with $?")

    let screen = try await terminal.screen { $0.contains(/left with [0-9]/) }

    #expect(screen.contains("nonesuch") && screen.contains("midnight") && screen.contains("left with 2"))
  }
}

/// A terminal of a test's own, on a tmux server of its own.
struct Tmux {
  private let folder: TemporaryFolder
  private let socket: String
  private let server: Child

  init(columns: Int, rows: Int, environment: [String: String]? = nil) async throws {
    folder = try TemporaryFolder()
    socket = folder.path("tmux")
    let settings = environment ?? folder.environment
    // In the foreground, so that it is ours to end.
    server = try Child("tmux", ["-u", "-f", "/dev/null", "-S", socket, "-D"], environment: settings)
    while !FileManager.default.fileExists(atPath: socket) { try await Task.sleep(for: .milliseconds(1)) }
    // The shell outlives the program, so that its last screen stays readable.
    try await call(["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "sh"])
  }

  func run(_ command: String) async throws { try await type("clear; \(command)", "Enter") }

  func type(_ keys: String...) async throws {
    for key in keys { try await call(["send-keys", key]) }
  }

  func resize(columns: Int, rows: Int) async throws {
    try await call(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// Writes to the terminal, as another program on it does.
  func write(_ text: String) async throws {
    let path = try await call(["display-message", "-p", "#{pane_tty}"]).trimmingCharacters(in: .newlines)
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  /// Takes what programs in the terminal send for the clipboard. By default it is ignored.
  func takeClipboard() async throws { try await call(["set-option", "-s", "set-clipboard", "on"]) }

  /// Waits for the text that was copied last; the test's time limit bounds the wait.
  func buffer() async throws -> String {
    while true {
      let text = try await call(["show-buffer"])
      if !text.isEmpty { return text }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Whether the program on the terminal has asked for reports of the mouse.
  func hasMouse() async throws -> Bool {
    try await call(["display-message", "-p", "#{mouse_standard_flag}#{mouse_sgr_flag}"]).hasPrefix("11")
  }

  /// Sends bytes as the terminal does.
  func send(hex: String) async throws {
    try await call(["send-keys", "-H"] + hex.split(separator: " ").map(String.init))
  }

  /// Reads the screen until it shows what is wanted; the test's time limit bounds the wait, and then the screen is
  /// told.
  ///
  /// - Parameters:
  ///   - keys: typed after each look that does not show it.
  ///   - withColors: whether the text has the sequences for its colours in it.
  @discardableResult
  func screen(
    typing keys: String...,
    withColors: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ isWanted: (String) -> Bool
  ) async throws -> String {
    while true {
      let text = try await call(["capture-pane", "-p"] + (withColors ? ["-e"] : []))
      if isWanted(text) { return text }
      for key in keys { try await type(key) }
      // Nothing tells when a terminal's screen has changed: it is looked at again, until the time limit cancels that.
      do { try await Task.sleep(for: .milliseconds(50)) } catch {
        Issue.record("the wanted did not come; the screen shows\n\(text)", sourceLocation: sourceLocation)
        throw error
      }
    }
  }

  /// Waits for a message in the dashboard's view of messages, and returns to the overview. The footer shows a message for
  /// seconds only, so that a busy machine may look too late. Refusals are not kept there.
  func message(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await type("0")
    try await screen(typing: "Home", sourceLocation: sourceLocation) { $0.contains("Messages") && $0.contains(text) }
    try await type("Escape")
    try await screen(sourceLocation: sourceLocation) { $0.contains("3 Queue") }
  }

  /// Ends the server with all in it.
  func close() { server.send(SIGKILL) }

  /// Runs one tmux command and returns what it printed.
  @discardableResult
  private func call(_ arguments: [String]) async throws -> String {
    let output = folder.path("output")
    let process = try Child("tmux", ["-S", socket] + arguments, environment: folder.environment, output: output)
    await process.end()
    return try String(contentsOfFile: output, encoding: .utf8)
  }
}
