import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@testable import cktop

/// The page "From a struct to a synced server" and the first page of the models, with their programs.
@Suite(.serialized, .timeLimit(.minutes(40))) struct TutorialTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `the program has every block of Swift in the tutorial`() throws {
    let program = trimmedLines(of: try packageText("Tests/Models/Tutorial/Orders.swift"))
    let blocks = try Self.blocks("swift").filter { !Self.isManifest($0) }

    #expect(blocks.count > 5)
    for block in blocks where !Self.contains(program, block) {
      Issue.record("Not in Orders.swift: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `the manifest of the tutorial has the products that its program imports`() throws {
    let manifest = try #require(try Self.blocks("swift").first(where: Self.isManifest)).joined()
    let package = try packageText("Package.swift")
    let imports = trimmedLines(of: try packageText("Tests/Models/Tutorial/Orders.swift")).filter {
      $0.hasPrefix("import ")
    }
    .map { String($0.dropFirst("import ".count)) }

    #expect(imports == ["CloudKitModels", "CloudSyncModels"])
    for name in imports {
      #expect(manifest.contains("\"\(name)\""))
      #expect(package.contains(".library(name: \"\(name)\""))
    }
  }

  @Test func `the program on the first page of the models saves a note and prints all`() async throws {
    let page = try Self.blocks("swift", of: "Sources/Models/CloudKitModels/CloudKitModels.docc/CloudKitModels.md")
    #expect(page.first == trimmedLines(of: try packageText("Tests/Models/Hello/main.swift")))

    let server = EmulatorServer(try Emulator())
    let environment = Self.environment(port: try await server.start())
    #expect(try await printed(by: "Hello", [], environment) == ["Hello"])
    #expect(try await printed(by: "Hello", [], environment) == ["Hello", "Hello"])
    try await server.stop()
  }

  @Test func `the commands of the tutorial print what it says`() async throws {
    let server = EmulatorServer(try Emulator())
    let port = try await server.start()
    var environment: [String: String] = [:]
    var (expected, printed): ([String], [String]) = ([], [])
    var inBackground: [Started] = []
    defer { for program in inBackground { program.child.send(SIGKILL) } }

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
      case "Orders":
        let program = try start("Orders", words.dropFirst().filter { $0 != "&" }, environment)
        if words.last == "&" { inBackground.append(program) } else { printed += try await program.lines() }
      case "wait": for program in inBackground { printed += try await program.lines() }
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
    _ = try await printed(by: "Orders", ["take", "till", "Ana", "12.5"], unreachable)
    let failed = try await printed(by: "Orders", ["sync", "till"], unreachable)
    #expect(failed.count == 1 && failed[0].hasPrefix("not synced: "))

    let server = EmulatorServer(emulator)
    let reachable = Self.environment(port: try await server.start())
    #expect(try await printed(by: "Orders", ["sync", "till"], reachable) == ["sent 1, fetched 0"])
    #expect(try await printed(by: "Orders", ["unpaid"], reachable) == ["Ana 12.5 unpaid"])
    try await server.stop()
  }

  private static func environment(port: Int) -> [String: String] {
    [
      "CLOUDKIT_CONTAINER": "iCloud.org.example.shop", "CLOUDKIT_URL": "http://127.0.0.1:\(port)",
      "CLOUDKIT_API_TOKEN": "any", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ]
  }

  /// A program that was started, and the file that it prints to.
  private struct Started {
    var child: Child
    var output: String

    /// Waits for its end and returns the lines that it printed.
    func lines() async throws -> [String] {
      #expect(await child.end() == .exited(0))
      return try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map { String($0) }
    }
  }

  private func start(_ name: String, _ arguments: [String], _ environment: [String: String]) throws -> Started {
    let output = folder.path("output-\(UUID().uuidString)")
    let child = try Child(
      Binary.named(name).path,
      arguments,
      environment: folder.environment.merging(environment) { $1 },
      in: folder.url.path,
      output: output
    )
    return Started(child: child, output: output)
  }

  private func printed(by name: String, _ arguments: [String], _ environment: [String: String]) async throws -> [String]
  {
    try await start(name, arguments, environment).lines()
  }

  // MARK: - The pages

  /// The fenced blocks of a language, as lines.
  private static func blocks(
    _ language: String,
    of page: String = "Sources/Handbook/Models/Tutorial.md"
  ) throws -> [[String]] {
    let blocks = codeBlocks(of: try packageText(page))
    #expect(blocks.allSatisfy { ["swift", "console"].contains($0.language) })
    return blocks.filter { $0.language == language }.map(\.lines)
  }

  private static func isManifest(_ block: [String]) -> Bool { block[0].hasPrefix("// swift-tools-version") }

  /// Whether the lines stand together in the program.
  private static func contains(_ program: [String], _ block: [String]) -> Bool {
    program.indices.contains { program[$0...].starts(with: block) }
  }
}
