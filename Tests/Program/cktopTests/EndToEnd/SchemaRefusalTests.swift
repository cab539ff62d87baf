import CloudKitEmulator
import Foundation
import Testing

/// Changes that production refuses because its schema lacks a field.
@Suite(.serialized, .timeLimit(.minutes(40))) struct SchemaRefusalTests {
  private let emulator: Emulator
  private let server: EmulatorServer

  init() throws {
    emulator = try Emulator()
    server = EmulatorServer(emulator)
  }

  private func deploy(_ schema: String) throws {
    try emulator.importSchema(schema, container: Machine.container, environment: "development")
    try emulator.deploySchema(of: Machine.container)
  }

  @Test func `changes that the schema refuses have one cause, and one key sends them once it is deployed`() async throws
  {
    try deploy("DEFINE SCHEMA RECORD TYPE Task (id STRING);")
    let machine = try Machine([
      "CLOUDKIT_URL": "http://127.0.0.1:\(try await server.start())", "CLOUDKIT_CONTAINER": Machine.container,
      "CLOUDKIT_API_TOKEN": "t", "CLOUDKIT_WEB_AUTH_TOKEN": "ana", "CLOUDKIT_ENVIRONMENT": "production",
    ])
    let lines = (1...200).map { #"{"id": "t\#($0)", "due": \#($0)}"# }
    let file = try machine.folder.write(lines.joined(separator: "\n"), to: "tasks.ndjson")
    try await machine.succeed("records", "import", file, "--type", "Task", "--id", "id")
    _ = try await machine.run("sync")

    let sentence = "The production schema lacks field 'due' of Task: 200 changes wait"
    #expect(try await machine.run("status").output.contains(sentence))
    let cause = try await machine.run("queue", "causes", "--json").object()
    #expect(
      cause["count"] as? Int == 200 && cause["cause"] as? String == "the production schema lacks field 'due' of Task"
    )
    let expression = try #require(cause["where"] as? String)
    let preview = try await machine.succeed("queue", "retry", "--where", expression, "--dry-run", "--json").object()
    #expect((preview["changed"] as? [Int])?.count == 200)

    // The verdict names the command that prints the lines to add.
    let status = try await machine.run("status", "--json").object()["sync"] as? [String: Any]
    #expect(status?["nextStep"] as? String == "cktop schema infer --type Task")
    try deploy(try await machine.succeed("schema", "infer", "--type", "Task").output)
    let terminal = try await Tmux(columns: 120, rows: 30, environment: machine.environment)
    defer { terminal.close() }
    try await terminal.run("'\(Binary.cktop().path)'")
    try await terminal.screen { $0.contains(sentence) && $0.contains("R retry all") }
    try await terminal.type("R")
    try await terminal.screen { $0.contains("y yes") }
    try await terminal.type("y")
    try await terminal.message("Retried 200 operations")
    try await terminal.type("q")

    try await machine.succeed("sync")
    #expect(try await machine.run("status").output.contains("Everything is on the server"))
    try await server.stop()
  }
}
