import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import cktop

/// Every verb of the command line, run as a user runs it against `cktop serve`.
@Suite(.serialized) struct EveryVerbTests {
  private static let faults = """
    [[rules]]
    when = { operation = "records/modify", recordName = "bad" }
    then = "poison"
    """

  @Test func `events say what happened, to which operation, and who did it`() async throws {
    let cloud = try await Cloud(faults: Self.faults)
    let machine = try Machine(cloud)
    for name in ["good", "bad"] { try await machine.succeed("records", "put", "--type", "Task", "--name", name, "a=1") }
    #expect(try await machine.run("sync").status == 1)
    try await machine.succeed("queue", "pause", "--all")
    try await machine.succeed("queue", "resume", "--all")

    let events = try await machine.succeed("events", "--json").objects()
    #expect(events.map { $0["kind"] as? String } == ["sync", "failed", "sync", "command", "command"])
    #expect(events[1]["operation"] as? Int == 2 && events[1]["by"] is NSNull)
    #expect(events[3]["by"] as? String == NSUserName())
    #expect(events[0].keys.sorted() == ["at", "by", "id", "kind", "operation", "text", "zone"])
    let commands = try await machine.succeed("events", "--where", "kind = 'command'", "--limit", "1", "--json")
      .objects()
    #expect(commands.map { $0["id"] as? Int } == [events[4]["id"] as? Int])
    #expect(try await machine.succeed("events").lines.count == 5)
    // A sync that changes nothing leaves no event.
    try await machine.succeed("queue", "discard", "--all", "--yes")
    let before = try await machine.succeed("events", "--json").lines.count
    try await machine.succeed("sync")
    #expect(try await machine.succeed("events", "--json").lines.count == before)
    #expect(try await machine.fail(2, "events", "--where", "state = 'failed'").contains("kind, zone, operation"))
    try await machine.fail(2, "events", "--limit", "-1")
    withExtendedLifetime(cloud) {}
  }

  @Test(.timeLimit(.minutes(40)))
  func `events are followed until the program is stopped`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "a=1")
    try await machine.succeed("queue", "pause", "--all")
    let output = machine.folder.path("events")
    let follower = try Child(
      Binary.cktop().path,
      ["events", "--follow", "--json"],
      environment: machine.environment,
      output: output
    )
    /// Waits for another process's output; the test's time limit bounds it.
    func printed(_ text: String) async throws {
      while try !String(contentsOfFile: output, encoding: .utf8).contains(text) {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    try await printed("paused everything")
    try await machine.succeed("queue", "resume", "--all")
    try await printed("resumed everything")
    follower.send(SIGTERM)
    #expect(await follower.end() == .exited(0))
    withExtendedLifetime(cloud) {}
  }

  @Test func `every pause is listed with who set it, as in the status`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CLOUDKIT_DATABASE": "private"])
    try await machine.succeed("zones", "create", "notes")
    try await machine.succeed("records", "put", "--type", "Task", "--zone", "notes", "a=1")
    #expect(try await machine.succeed("queue", "pauses", "--json").output == "")
    try await machine.succeed("queue", "pause", "--all")
    try await machine.succeed("queue", "pause", "--type", "Task")
    try await machine.succeed("zones", "pause", "notes")

    let pauses = try await machine.succeed("queue", "pauses", "--json").objects()
    #expect(pauses.map { $0["zone"] as? String } == [nil, nil, "notes"])
    #expect(pauses.map { $0["type"] as? String } == [nil, "Task", nil])
    #expect(pauses.allSatisfy { $0["by"] as? String == NSUserName() && $0["at"] is String })
    let status = try await machine.run("status", "--json").object()
    #expect(status["pauses"] as? [NSDictionary] == pauses.map { $0 as NSDictionary })
    let table = try await machine.succeed("queue", "pauses").lines
    #expect(table.count == 4 && table[1].hasPrefix("everything") && table[2].hasPrefix("type Task"))
    let zone = try await machine.succeed("zones", "list", "--json").object()
    #expect(zone["unsent"] as? Int == 2)
    #expect(try await machine.succeed("zones", "list").lines.first?.contains("UNSENT") == true)
    withExtendedLifetime(cloud) {}
  }

  @Test func `causes count what failed alike and name the filter that lists it`() async throws {
    let cloud = try await Cloud(faults: Self.faults)
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "bad", "a=1")
    #expect(try await machine.run("sync").status == 1)

    let causes = try await machine.succeed("queue", "causes", "--json").objects()
    #expect(causes.map { $0["count"] as? Int } == [1] && causes[0]["state"] as? String == "failed")
    let filter = try #require(causes[0]["where"] as? String)
    #expect(try await machine.succeed("queue", "list", "--where", filter, "--json").objects().count == 1)
    #expect(try await machine.succeed("queue", "causes", "--where", "type = 'Other'", "--json").output == "")
    let table = try await machine.succeed("queue", "causes").lines
    #expect(table.count == 2 && table[1].contains("BAD_REQUEST"))
    // Apple's support asks for the request, which only a header of the reply names.
    let attempts = try await machine.succeed("queue", "show", "1", "--json").object()["attemptLog"] as? [[String: Any]]
    #expect(attempts?.last?["uuid"] is String)
    withExtendedLifetime(cloud) {}
  }

  @Test(.timeLimit(.minutes(40)))
  func `without a cause the state is that of the status, by the age in the settings`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CKTOP_STALE_AFTER": "1s"])
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "a=1")
    try await machine.succeed("sync")
    // The age passes by itself; the test's time limit bounds it.
    while try await !machine.succeed("status", "--oneline").output.contains("out of date") {}

    #expect(try await machine.succeed("queue", "causes").output.contains("may be out of date"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a receipt lists what was changed: the operations, or the names of the zones`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CLOUDKIT_DATABASE": "private"])
    for zone in ["a", "b", "c"] { try await machine.succeed("zones", "create", zone) }
    try await machine.succeed("sync")
    func changed(_ line: String) async throws -> [String]? {
      let words = line.split(separator: " ").map(String.init) + ["--json"]
      return try await machine.succeeding(words).object()["changed"] as? [String]
    }

    #expect(try await changed("zones pause a") == ["a"])
    #expect(try await changed("zones pause a b c") == ["b", "c"])
    #expect(try await changed("zones resume b") == ["b"])
    #expect(try await changed("zones resume b") == [])
    #expect(try await changed("zones repair a b") == ["a", "b"])
    #expect(try await changed("queue pause --all") == [])
    withExtendedLifetime(cloud) {}
  }

  /// A machine that has conflicts with another about these records.
  private func conflicts(_ names: [String]) async throws -> (cloud: Cloud, machine: Machine) {
    let cloud = try await Cloud()
    let (first, second) = (try Machine(cloud), try Machine(cloud, ["CKTOP_POLICY": "manual"]))
    for name in names { try await first.succeed("records", "put", "--type", "Task", "--name", name, "title=old") }
    try await first.succeed("sync")
    try await second.succeed("sync")
    for name in names {
      try await first.succeed("records", "put", "--name", name, "title=theirs")
      try await second.succeed("records", "put", "--name", name, "title=mine")
    }
    try await first.succeed("sync")
    #expect(try await second.run("sync").status == 3)
    return (cloud, second)
  }

  @Test func `conflicts are resolved by filter, by number and all together`() async throws {
    let (cloud, machine) = try await conflicts(["a1", "a2", "b1", "b2", "c1"])
    let list = try await machine.succeed("conflicts", "list", "--json").objects()
    let ids = try list.map { try #require($0["id"] as? Int) }
    let versions = try list.map { try #require($0["version"] as? String) }

    #expect(try await machine.fail(2, "conflicts", "resolve", "--all", "--take", "local").contains("--yes"))
    try await machine.fail(2, "conflicts", "resolve", "--take", "local")
    try await machine.fail(2, "conflicts", "resolve", "1", "--all", "--take", "local")
    let filter = ["conflicts", "resolve", "--where", "name like 'a%'", "--take", "local", "--json"]
    let preview = try await machine.succeeding(filter + ["--dry-run"]).object()
    #expect(preview["changed"] as? [Int] == Array(ids[0...1]) && preview["dryRun"] as? Bool == true)
    let done = try await machine.succeeding(filter + ["--yes"]).object()
    #expect(done["changed"] as? [Int] == Array(ids[0...1]) && (done["skipped"] as? [Any])?.isEmpty == true)
    // One in the version that was shown, one in another, and one that is none.
    let named = ["\(ids[2])@\(versions[2])", "\(ids[3])@000000000000", "999"]
    let some = try await machine.running(["conflicts", "resolve"] + named + ["--take", "server", "--json"])
    #expect(some.status == 1)
    let receipt = try some.object()
    #expect(receipt["changed"] as? [Int] == [ids[2]] && receipt["unknown"] as? [Int] == [999])
    #expect((receipt["skipped"] as? [[String: Any]])?.map { $0["id"] as? Int } == [ids[3]])
    let rest = try await machine.succeed("conflicts", "resolve", "--all", "--take", "newest", "--yes").lines
    #expect(rest.count == 1)
    #expect(try await machine.succeed("conflicts", "list", "--json").output == "")
    try await machine.succeed("sync")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a receipt says why an operation was left alone`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "a=1")
    let end = try await machine.run("queue", "retry", "1", "--json")
    let skipped = try #require(try end.object()["skipped"] as? [[String: Any]])
    #expect(skipped.map { $0["id"] as? Int } == [1] && (skipped[0]["why"] as? String)?.isEmpty == false)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a failed save is edited, by its version, and sent again`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "done=1")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "b", "done:STRING=yes")
    #expect(try await machine.run("sync").status == 1)
    let row = try await machine.succeed("queue", "list", "--json").object()
    let (id, version) = (try #require(row["id"] as? Int), try #require(row["version"] as? String))

    try await machine.fail(2, "queue", "edit", "\(id)", "done=maybe")
    try await machine.fail(1, "queue", "edit", "\(id)@000000000000", "done=1")
    let edited = try await machine.succeed("queue", "edit", "\(id)@\(version)", "done=1", "--json").object()
    #expect(edited["changed"] as? [Int] == [id] && edited["toBeSent"] as? Bool == true)
    try await machine.succeed("sync")

    #expect(try await machine.succeed("queue", "list", "--json").output == "")
    withExtendedLifetime(cloud) {}
  }

  @Test func `an operation says which program enqueued it`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "a=1")
    let shown = try await machine.succeed("queue", "show", "1", "--json").object()
    let program = try #require(shown["enqueuedBy"] as? [String: Any])
    #expect(program["program"] as? String == "cktop" && program["pid"] is Int)
    withExtendedLifetime(cloud) {}
  }

  @Test(.timeLimit(.minutes(40)))
  func `every verb does its job against a served cloud`() async throws {
    let cloud = try await Cloud("--admin")
    let machine = try Machine(cloud)
    let schema = try machine.folder.write("DEFINE SCHEMA", to: "schema.ckdb")
    let csv = try machine.folder.write("id,title\nc1,one\nc2,two\n", to: "tasks.csv")
    let (key, rescued) = (machine.folder.path("key.pem"), machine.folder.path("rescued.sqlite"))
    // Each with its exit code; the verbs of one line build on those before.
    let runs: [(String, Int32)] = [
      ("status", 0), ("config check", 0), ("doctor", 0), ("account", 0),
      ("records put --type Task --name t1 title=a", 0),
      ("queue list", 0), ("queue show 1", 0), ("queue export", 0), ("queue causes", 0), ("queue pauses", 0),
      ("queue salvage --into \(rescued)", 0), ("queue pause 1", 0),
      ("queue resume 1", 0), ("queue edit 1 title=b", 1), ("queue retry --all", 0), ("queue flush", 0),
      ("queue discard 1 --yes", 0),
      ("conflicts dropped", 0), ("conflicts undo 1", 0), ("sync", 0), ("records list", 0), ("records get t1", 0),
      ("records query Task", 0), ("records export", 0), ("records import \(csv) --type Task --id id", 0),
      ("zones create notes", 0), ("zones list", 0), ("zones pause notes", 0), ("zones resume notes", 0),
      ("zones repair notes", 0), ("sync", 0),
      ("schema infer", 0), ("schema export", 0), ("schema check", 0), ("schema check \(schema)", 1),
      ("schema diff \(schema) \(schema)", 0), ("schema format \(schema)", 0), ("schema validate \(schema)", 0),
      ("schema import \(schema) --yes", 0),
      ("verify", 0), ("records delete t1 --yes", 0), ("zones delete notes --yes", 0), ("sync", 0), ("events", 0),
      ("conflicts list", 0), ("conflicts show 1", 1), ("conflicts resolve 1 --take local", 1),
      ("zones accept notes --yes", 2), ("zones restore notes --yes", 2), ("themes list", 0),
      ("themes show midnight", 0),
      ("keygen --out \(key)", 0), ("demo --headless 1 --seed 1", 0), ("faults", 0), ("admin", 0), ("assumptions", 0),
      ("keys", 0),
    ]
    for (line, status) in runs {
      let end = try await machine.running(line.split(separator: " ").map(String.init))
      #expect(end.status == status, "\(line): \(end.output)\(end.error)")
      // Never a crash or an error in the words of a library.
      #expect(end.status == 0 || end.error.hasPrefix("cktop: "), "\(line): \(end.error)")
    }
    let known = Set(CommandLineTests.verbs(Cktop.self).map(\.path)).subtracting(["dashboard", "serve"])
    let missing = known.filter { verb in !runs.contains { $0.0 == verb || $0.0.hasPrefix(verb + " ") } }
    #expect(missing.isEmpty)

    // Read-only mode refuses what changes something, and nothing else.
    let changing = CommandLineTests.verbs(Cktop.self).filter { $0.type is any ChangingVerb.Type }.map(\.path)
    for line in runs.map(\.0) + ["verify --repair", "conflicts dropped --seen"]
    where !line.hasPrefix("demo") && line != "verify" && line != "conflicts dropped" {
      let words = line.split(separator: " ").map(String.init)
      let end = try await machine.running(words, settings: ["CKTOP_READ_ONLY": "1"])
      let isRefused = end.error.contains("read-only mode")
      #expect(isRefused == changing.contains { (line + " ").hasPrefix($0 + " ") }, "\(line): \(end.error)")
    }
    withExtendedLifetime(cloud) {}
  }
}
