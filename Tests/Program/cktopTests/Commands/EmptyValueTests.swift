import Testing

@testable import cktop

@Suite(.serialized) struct EmptyValueTests {
  private static let cases: [([String], String?)] = [
    ([], nil),
    (["status", "--json"], nil),
    (["records", "put", "--type", "T", "--name=", "f=1"], "--name"),
    (["records", "put", "--type", "T", "--name", "", "f=1"], "--name"),
    (["--store=", "status"], "--store"),
    (["--store", "", "status"], "--store"),
    (["queue", "list", "--where", ""], "--where"),
    (["queue", "list", "--where="], "--where"),
    (["records", "put", "--type", "T", "f="], nil),
    (["records", "put", "--type", "T", "f:STRING="], nil),
    (["records", "put", "--type", "T", "--", "--name="], nil),
    (["records", "put", "--type", "T", "--", ""], nil),
    (["queue", "list", "--where", "name = 'a='"], nil),
    (["queue", "list", "--where=name = 'a='"], nil),
    (["queue", "list", "--where=name='a'"], nil),
    (["records", "query", ""], nil),
    (["records", "get", "a", ""], nil),
    (["--store==", "status"], nil),
  ]

  @Test(arguments: cases) func `an option without a value is found, and nothing else`(
    _ arguments: [String],
    _ option: String?
  ) {
    #expect(EmptyValues.option(in: arguments) == option)
  }

  @Test func `an empty value is a wrong command that names the option and enqueues nothing`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])

    let line = try await machine.fail(2, "records", "put", "--type", "T", "--name=", "f=1")
    try await machine.fail(2, "sync", "--types", "")

    #expect(line.contains("--name is empty"))
    // No store was made.
    try await machine.fail(4, "queue", "list", "--json")
  }
}
