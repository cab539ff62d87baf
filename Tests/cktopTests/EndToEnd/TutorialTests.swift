import CloudKitEmulator
import Foundation
import Testing

@testable import cktop

/// The article "From a struct to a synced server", and its program.
@Suite(.serialized) struct TutorialTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `the program has every block of Swift in the tutorial`() throws {
    let program = Self.lines(of: try Self.text("Tests/Tutorial/Orders.swift"))
    let blocks = try Self.blocks("swift")

    #expect(blocks.count > 5)
    for block in blocks where !Self.contains(program, block) {
      Issue.record("Not in Orders.swift: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `the commands of the tutorial print what it says`() async throws {
    let server = EmulatorServer(try Emulator())
    let port = try await server.start()
    var environment: [String: String] = [:]
    var (expected, printed): ([String], [String]) = ([], [])

    for line in try Self.blocks("console").joined() {
      guard line.hasPrefix("$ ") else {
        expected.append(line)
        continue
      }
      let words = line.split(separator: " ").dropFirst().map { String($0) }
      expected.append(line)
      printed.append(line)
      switch words[0] {
      case "export":
        for word in words.dropFirst() {
          let setting = word.replacing("PORT", with: "\(port)").split(separator: "=", maxSplits: 1)
          environment[String(setting[0])] = String(setting[1])
        }
      case "Orders": printed += try await orders(Array(words.dropFirst()), environment)
      // The test has started the server.
      default: #expect(words.starts(with: ["cktop", "serve"]))
      }
    }

    #expect(printed == expected)
    try await server.stop()
  }

  @Test func `an order that is taken while no server can be reached is sent by a later sync`() async throws {
    let emulator = try Emulator()
    let absent = EmulatorServer(emulator)
    let unreachable = Self.environment(port: try await absent.start())
    try await absent.stop()
    _ = try await orders(["take", "till", "Ana", "12.5"], unreachable)
    let failed = try await orders(["sync", "till"], unreachable)
    #expect(failed.count == 1 && failed[0].hasPrefix("not synced: "))

    let server = EmulatorServer(emulator)
    let reachable = Self.environment(port: try await server.start())
    #expect(try await orders(["sync", "till"], reachable) == ["sent 1, fetched 0"])
    #expect(try await orders(["unpaid"], reachable) == ["Ana 12.5 unpaid"])
    try await server.stop()
  }

  private static func environment(port: Int) -> [String: String] {
    [
      "CLOUDKIT_CONTAINER": "iCloud.org.example.shop", "CLOUDKIT_URL": "http://127.0.0.1:\(port)",
      "CLOUDKIT_API_TOKEN": "any", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ]
  }

  /// Runs the program and returns the lines that it prints.
  private func orders(_ arguments: [String], _ environment: [String: String]) async throws -> [String] {
    let process = try Child(
      Binary.named("Orders").path,
      arguments,
      environment: folder.environment.merging(environment) { $1 },
      in: folder.url.path,
      output: folder.path("output")
    )
    #expect(await process.end() == .exited(0))
    return try String(contentsOfFile: folder.path("output"), encoding: .utf8).split(separator: "\n").map { String($0) }
  }

  // MARK: - The article

  private static func text(_ path: String) throws -> String {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: top.appending(path: path), encoding: .utf8)
  }

  /// The lines without their indentation.
  private static func lines(of text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The fenced blocks of a language, as lines.
  private static func blocks(_ language: String) throws -> [[String]] {
    let article = try text("Sources/CloudSyncModels/CloudSyncModels.docc/Tutorial.md")
    let parts = article.split(separator: "```", omittingEmptySubsequences: false)
    let fenced = stride(from: 1, to: parts.count, by: 2).map { lines(of: parts[$0]) }
    #expect(fenced.allSatisfy { ["swift", "console"].contains($0[0]) })
    return fenced.filter { $0[0] == language }.map { Array($0.dropFirst()) }
  }

  /// Whether the lines stand together in the program.
  private static func contains(_ program: [String], _ block: [String]) -> Bool {
    program.indices.contains { program[$0...].starts(with: block) }
  }
}
