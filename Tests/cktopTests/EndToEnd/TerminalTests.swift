import Foundation
import Testing

/// The program in a real terminal: tmux holds it, types its keys and reads its screen.
@Suite(.serialized) struct TerminalTests {
  @Test(.timeLimit(.minutes(2)))
  func `the demo comes alive, is driven by keys, and gives the terminal back`() async throws {
    let terminal = try Tmux(columns: 80, rows: 24)
    defer { terminal.close() }
    try terminal.run(
      "'\(Binary.cktop().path)' demo; echo left with $?; case $(stty -a) in *' -icanon'*) echo r'a'w;; *) echo coo'ked';; esac"
    )

    try await terminal.screen { $0.contains("2 Queue") && $0.contains("4 Account") && $0.contains("Element") }
    try terminal.type("x")
    try await terminal.screen { $0.contains("1 failed") }
    try terminal.type("/", "failed")
    try terminal.type("Enter")
    try await terminal.screen { $0.contains("/failed") && $0.contains("! failed") }
    try terminal.type("Enter")
    try await terminal.screen { $0.contains("Operation ") && $0.contains("BAD_REQUEST") }
    try terminal.type("q")
    try await terminal.screen { $0.contains("2 Queue") }
    try terminal.type("r")
    try await terminal.screen { $0.contains("retried 1") }
    try terminal.type("m")
    try await terminal.screen { $0.contains("conflict") && $0.contains("c conflicts") }
    try terminal.type("c")
    try await terminal.screen { $0.contains("BASE") && $0.contains("LOCAL") && $0.contains("SERVER") }
    try terminal.type("L")
    try terminal.type("Enter")
    try await terminal.screen { $0.contains("settled") }
    try terminal.resize(columns: 20, rows: 5)
    try await terminal.screen { !$0.contains("─ 2 Queue") }
    try terminal.resize(columns: 200, rows: 50)
    try await terminal.screen { $0.contains("2 Queue") || $0.contains("BASE") }
    try terminal.type("C-c")
    let last = try await terminal.screen { $0.contains("left with") && ($0.contains("cooked") || $0.contains("raw")) }

    #expect(last.contains("left with 130"))
    #expect(last.contains("cooked"))
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["", "dumb"])
  func `a terminal that cannot be used is refused in one line`(term: String) async throws {
    let terminal = try Tmux(columns: 100, rows: 10)
    defer { terminal.close() }
    let setting = term.isEmpty ? "env -u TERM" : "env TERM=\(term)"
    try terminal.run("\(setting) '\(Binary.cktop().path)' demo; echo left with $?")

    let screen = try await terminal.screen { $0.contains(/left with [0-9]/) }

    #expect(screen.contains("cktop: ") && screen.contains("left with 2"))
  }

  @Test(.timeLimit(.minutes(5)))
  func `an unknown theme is refused with the names there are`() async throws {
    let terminal = try Tmux(columns: 100, rows: 10)
    defer { terminal.close() }
    try terminal.run("'\(Binary.cktop().path)' demo --theme nonesuch; echo left with $?")

    let screen = try await terminal.screen { $0.contains(/left with [0-9]/) }

    #expect(screen.contains("nonesuch") && screen.contains("midnight") && screen.contains("left with 2"))
  }
}

/// A terminal of a test's own, on a tmux server of its own.
private struct Tmux {
  private let folder: TemporaryFolder
  private let socket: String
  private let server: Process

  init(columns: Int, rows: Int) throws {
    folder = try TemporaryFolder()
    socket = folder.path("tmux")
    server = Process()
    server.standardOutput = FileHandle.nullDevice
    // A server that made itself a daemon would keep what Process waits for open.
    try Self.start(["-u", "-f", "/dev/null", "-S", socket, "-D"], server, folder)
    while !FileManager.default.fileExists(atPath: socket) { usleep(1_000) }
    // The shell outlives the program, so that its last screen stays readable.
    try call(["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "sh"])
  }

  func run(_ command: String) throws { try type("clear; \(command)", "Enter") }

  func type(_ keys: String...) throws {
    for key in keys { try call(["send-keys", key]) }
  }

  func resize(columns: Int, rows: Int) throws {
    try call(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// Reads the screen until it shows what is wanted; the test's time limit bounds the wait.
  @discardableResult
  func screen(_ isWanted: (String) -> Bool) async throws -> String {
    while true {
      let text = try call(["capture-pane", "-p"])
      if isWanted(text) { return text }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Ends the server with all in it. Nobody waits: what it started may keep what `Process` waits for open.
  func close() { kill(server.processIdentifier, SIGKILL) }

  /// Runs one tmux command. Its output goes to a file: tmux hands descriptors on to its server, so that a pipe might
  /// never end.
  @discardableResult
  private func call(_ arguments: [String]) throws -> String {
    let file = folder.url.appending(path: "output")
    _ = FileManager.default.createFile(atPath: file.path, contents: nil)
    let process = Process()
    process.standardOutput = try FileHandle(forWritingTo: file)
    try Self.start(["-S", socket] + arguments, process, folder)
    process.waitUntilExit()
    return try String(decoding: Data(contentsOf: file), as: UTF8.self)
  }

  private static func start(_ arguments: [String], _ process: Process, _ folder: TemporaryFolder) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["tmux"] + arguments
    process.environment = folder.environment
    process.standardInput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
  }
}
