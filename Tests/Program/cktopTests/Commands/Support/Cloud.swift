import Foundation
import TestSupport
import Testing

/// A `cktop serve` of its own for a test.
final class Cloud: Sendable {
  let url: String
  private let folder: TemporaryFolder
  private let process: Child

  /// Starts a server and waits for its URL.
  ///
  /// - Parameter faults: a TOML plan.
  init(_ arguments: String..., faults: String? = nil) async throws {
    folder = try TemporaryFolder()
    var arguments = ["serve"] + arguments
    if let faults { arguments += ["--faults", try folder.write(faults, to: "faults.toml")] }
    let (output, log) = (folder.path("url"), folder.path("log"))
    process = try Child(
      Binary.cktop().path,
      arguments,
      environment: folder.environment,
      output: output,
      error: log
    )
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

  deinit { process.send(SIGTERM) }

  /// Ends the server as a service manager does, and says how it took it.
  func stop() async -> Child.End {
    process.send(SIGTERM)
    return await process.end()
  }

  /// Ends the server as a power cut does.
  func kill() async {
    process.send(SIGKILL)
    await process.end()
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
