import Foundation
import Testing

@Suite(.serialized) struct QueueCommandTests {
  private static let poison = """
    [[rules]]
    when = { operation = "records/modify", recordName = "bad", limit = 1 }
    then = "poison"
    """

  /// A machine whose record `bad` was refused and whose record `good` was not.
  private func withDeadLetter() async throws -> (Cloud, Machine) {
    let cloud = try await Cloud(faults: Self.poison)
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "bad", "a=1")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "good", "a=1")
    let sync = try await machine.run("sync")
    #expect(sync.status == 1)
    #expect(sync.lines == ["sent 1, fetched 0, deleted 0, 1 failed; not in sync"])
    #expect(sync.error.contains("BAD_REQUEST") && sync.error.contains("cktop queue show 1"))
    return (cloud, machine)
  }

  @Test(arguments: [
    "queue flush --throttles", "queue discard --all", "conflicts resolve --all --take local", "records delete t1",
    "zones delete notes",
  ])
  func `read-only mode is named before a confirmation is asked for`(_ verb: String) async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")

    let line = try await machine.failing(2, verb.split(separator: " ").map(String.init) + ["--read-only"])

    #expect(line.contains("read-only mode"))
  }

  @Test func `a dead letter is listed, explained, and retried`() async throws {
    let (cloud, machine) = try await withDeadLetter()

    let listed = try await machine.succeed("queue", "list", "--where", "state = 'failed'", "--json").object()
    let shown = try await machine.succeed("queue", "show", "1", "--json").object()
    #expect(try await machine.run("status").status == 1)
    let dry = try await machine.succeed("queue", "retry", "--all", "--dry-run", "--json").object()
    let retried = try await machine.succeed("queue", "retry", "1", "--json").object()
    try await machine.succeed("sync")

    #expect((listed["error"] as? [String: Any])?["code"] as? String == "BAD_REQUEST")
    let attempts = try #require(shown["attemptLog"] as? [[String: Any]])
    #expect(attempts.count == 1)
    #expect(attempts[0].keys.sorted() == ["at", "error", "number", "response", "seconds", "uuid"])
    #expect((shown["difference"] as? [[String: Any]])?.first?["name"] as? String == "a")
    #expect(dry["changed"] as? [Int] == [1] && dry["dryRun"] as? Bool == true)
    #expect(retried["changed"] as? [Int] == [1])
    let ended = try await machine.succeed("queue", "show", "1", "--json").object()
    #expect(ended["ending"] as? String == "acknowledged")
    withExtendedLifetime(cloud) {}
  }

  @Test func `discarding wants a yes, and unknown numbers are told`() async throws {
    let (cloud, machine) = try await withDeadLetter()

    #expect(try await machine.fail(2, "queue", "discard", "1").contains("--yes"))
    try await machine.fail(1, "queue", "discard", "77", "--yes")
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
    try await machine.succeed("queue", "discard", "--where", "name = 'bad'", "--yes")
    #expect(try await machine.succeed("queue", "list", "--json").output == "")
    try await machine.succeed("sync")
    withExtendedLifetime(cloud) {}
  }

  @Test func `status reports a full quota with the same exit code until a save succeeds`() async throws {
    let plan = """
      [[rules]]
      when = { operation = "records/modify", limit = 1 }
      then = "quotaExceeded"

      [[rules]]
      when = { operation = "records/modify" }
      then = "throttled"
      """
    let cloud = try await Cloud(faults: plan)
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    #expect(try await machine.run("sync").status == 3)
    let first = try await machine.run("status", "--oneline")
    _ = try await machine.run("sync")
    let second = try await machine.run("status", "--oneline")

    #expect(first.output == second.output && first.output.hasPrefix("blocked: The storage quota is full"))
    #expect(first.status == 3 && second.status == 3)
    withExtendedLifetime(cloud) {}
  }

  @Test func `what is paused stays until resumed`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t2", "a=1")

    try await machine.succeed("queue", "pause", "1")
    let one = try await machine.succeed("sync")
    try await machine.succeed("queue", "resume", "1")
    try await machine.succeed("zones", "pause", "cktop")
    let zone = try await machine.succeed("sync")
    try await machine.succeed("zones", "resume", "cktop")
    let all = try await machine.succeed("sync")

    #expect(one.lines == ["sent 1, fetched 0, deleted 0, 1 paused; not in sync"])
    #expect(zone.lines.first?.hasSuffix("; run cktop zones resume cktop to resume") == true)
    #expect(all.lines == ["sent 1, fetched 0, deleted 0; in sync"])
  }

  @Test func `an export redacts what a server said of secrets`() async throws {
    let (cloud, machine) = try await withDeadLetter()

    let lines = try await machine.succeed("queue", "export").objects()

    #expect(lines.count == 1)
    #expect(lines[0]["payload"] is [String: Any])
    let text = try await machine.succeed("queue", "export").output
    #expect(!text.contains("any-api-token"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `lists of more than a page have every row once and in order`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1", "CLOUDKIT_API_TOKEN": "any",
      "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ])
    let names = (1001...2200).map { "t\($0)" }
    let csv = try machine.folder.write("id,a\n" + names.map { "\($0),1\n" }.joined(), to: "tasks.csv")
    try await machine.succeed("records", "import", csv, "--type", "Task", "--id", "id")

    for verb in ["queue list --json", "queue export", "records list --json"] {
      let objects = try await machine.succeeding(verb.split(separator: " ").map(String.init)).objects()
      #expect(objects.map { $0["recordName"] as? String } == names, "\(verb)")
    }
    for verb in ["queue list", "records list"] {
      let lines = try await machine.succeeding(verb.split(separator: " ").map(String.init)).lines
      #expect(lines.dropFirst().map { line in names.first { line.contains($0) } } == names, "\(verb)")
    }
    try await machine.succeed("queue", "discard", "--all", "--yes")
    let dropped = try await machine.succeed("conflicts", "dropped", "--json").objects()
    #expect(dropped.map { $0["recordName"] as? String } == names.reversed())
    let lines = try await machine.succeed("conflicts", "dropped").lines
    #expect(lines.dropFirst().map { line in names.first { line.contains($0) } } == names.reversed())
  }

  @Test func `a server's wait leaves rows, and the code says so`() async throws {
    let cloud = try await Cloud(
      faults: """
        [[rules]]
        when = { operation = "records/modify" }
        then = { action = "throttled", retryAfter = 30 }
        """
    )
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "a=1")

    let sync = try await machine.run("sync")
    let again = try await machine.run("sync")
    let status = try await machine.run("status", "--json").object()

    #expect(sync.status == 5)
    #expect(again.status == 5)
    #expect(sync.error.contains("THROTTLED"))
    #expect((status["throttles"] as? [[String: Any]])?.first?["error"] as? String == "THROTTLED")
    #expect(try cloud.items(of: "records/modify").count == 1)
  }

  @Test func `a cloud that is not there keeps everything queued`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1", "CLOUDKIT_API_TOKEN": "any",
      "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ])
    try await machine.succeed("records", "put", "--type", "Task", "a=1")

    let line = try await machine.fail(5, "sync")
    try await machine.fail(5, "account")

    #expect(line.contains("refused the connection"))
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
    // A change waits, and no process is syncing.
    #expect(try await machine.run("status").status == 3)
  }

  @Test func `verify tells what only one side has`() async throws {
    let cloud = try await Cloud()
    let (first, second) = (try Machine(cloud), try Machine(cloud))
    try await first.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await first.succeed("records", "put", "--type", "Task", "--name", "t2", "a=1")
    try await first.succeed("sync")
    try await second.succeed("sync")
    try await first.succeed("records", "put", "--name", "t1", "a=2")
    try await first.succeed("records", "delete", "t2", "--yes")
    try await first.succeed("records", "put", "--type", "Task", "--name", "t3", "a=1")
    try await first.succeed("sync")

    let end = try await second.run("verify", "--json")

    #expect(end.status == 1)
    let zone = try #require(try end.objects().first { $0["zone"] as? String == "cktop" })
    #expect(zone["onlyLocalNames"] as? [String] == ["t2"])
    #expect(zone["onlyServerNames"] as? [String] == ["t3"])
    #expect(zone["differentNames"] as? [String] == ["t1"])
    try await first.succeed("verify")
  }
}
