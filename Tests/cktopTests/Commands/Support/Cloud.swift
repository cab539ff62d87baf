import Foundation
import Testing

/// A `cktop serve` of its own for a test.
final class Cloud: Sendable {
  let url: String
  private let folder: TemporaryFolder
  private let process: Stoppable

  /// `Process` is used from one test alone, which ends it.
  private final class Stoppable: @unchecked Sendable {
    let process = Process()
  }

  /// Starts a server and waits for its URL.
  ///
  /// - Parameter faults: a TOML plan.
  init(_ arguments: String..., faults: String? = nil) async throws {
    folder = try TemporaryFolder()
    process = Stoppable()
    var arguments = ["serve"] + arguments
    if let faults { arguments += ["--faults", try folder.write(faults, to: "faults.toml")] }
    let (output, log) = (folder.path("url"), folder.path("log"))
    for path in [output, log] { try Data().write(to: URL(fileURLWithPath: path)) }
    let process = process.process
    process.executableURL = try Binary.cktop()
    process.arguments = arguments
    process.environment = folder.environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: log)
    try process.run()
    var text = ""
    while !text.hasSuffix("\n") {
      let complaint = try String(contentsOfFile: log, encoding: .utf8)
      try #require(process.isRunning, "\(complaint)")
      // Another process tells when it is ready only by writing the line.
      try await Task.sleep(for: .milliseconds(10))
      text = try String(contentsOfFile: output, encoding: .utf8)
    }
    url = text.trimmingCharacters(in: .newlines)
  }

  deinit { if process.process.isRunning { process.process.terminate() } }

  /// Ends the server as a service manager does, and says how it took it.
  func stop() async -> Int32 {
    let process = process.process
    process.terminate()
    while process.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
    return process.terminationStatus
  }

  /// Ends the server as a power cut does.
  func kill() async {
    let process = process.process
    Foundation.kill(process.processIdentifier, SIGKILL)
    while process.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
  }

  /// The request log so far.
  func log() throws -> [String] {
    try String(contentsOfFile: folder.path("log"), encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// How many items each request of an operation carried.
  func items(of operation: String) throws -> [Int] {
    try log().compactMap { line in
      let words = line.split(separator: " ")
      guard words.count > 4, words[2].hasSuffix(operation), words[4] == "items" else { return nil }
      return Int(words[3])
    }
  }
}
