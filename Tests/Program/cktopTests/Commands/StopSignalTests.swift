import Foundation
import Glibc
import TestSupport
import Testing

@testable import cktop

@Suite(.serialized) struct StopSignalTests {
  @Test(arguments: [
    ([], [SIGINT, SIGTERM, SIGHUP]), ([SIGHUP], [SIGINT, SIGTERM]), ([SIGINT, SIGHUP], [SIGTERM]),
    ([SIGTERM], [SIGINT, SIGHUP]),
  ])
  func `signals that were ignored at the start do not stop the program`(ignored: [Int32], heeded: [Int32]) {
    #expect(StopSignals.heeded { ignored.contains($0) } == heeded)
  }

  @Test(.timeLimit(.minutes(40)), arguments: [["serve"], ["sync", "--watch"], ["events", "--follow"]])
  func `a program that was started with hang-ups and interrupts ignored goes on after them`(arguments: [String])
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let script = "trap '' HUP INT; exec \"$0\" \"$@\""
    let process = try Child(
      "/bin/sh",
      ["-c", script, try Binary.cktop().path] + arguments,
      environment: machine.environment
    )
    try await process.takesOver(SIGTERM)

    #expect(try process.signals("SigIgn").isSuperset(of: [SIGHUP, SIGINT]))
    process.send(SIGHUP)
    process.send(SIGINT)
    #expect(try process.signals("SigCgt").isDisjoint(with: [SIGHUP, SIGINT]))
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
    withExtendedLifetime(cloud) {}
  }

  @Test(.timeLimit(.minutes(40))) func `a program that waits for the reader of its output ends at SIGTERM`()
    async throws
  {
    let machine = try Machine()
    let pipe = machine.folder.path("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    let end = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(end) }
    // It is full before the program writes, and nothing reads it.
    let page = [UInt8](repeating: 0, count: 4096)
    while write(end, page, page.count) > 0 {}
    let process = try Child(Binary.cktop().path, ["serve"], environment: machine.environment, output: pipe)
    try await process.takesOver(SIGTERM)

    process.send(SIGTERM)

    #expect(await process.end() == .exited(128 + SIGTERM))
  }
}

extension Child {
  /// Waits until the process has a handler for a signal.
  fileprivate func takesOver(_ signal: Int32) async throws {
    while try !signals("SigCgt").contains(signal) {
      try #require(isRunning)
      await Task.yield()
    }
  }

  /// The signals of a set that the kernel keeps of the process, such as `SigIgn`.
  fileprivate func signals(_ set: String) throws -> Set<Int32> {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(set):") }
    let mask = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
    return Set((1...Int32(64)).filter { mask & (1 << UInt64($0 - 1)) != 0 })
  }
}
