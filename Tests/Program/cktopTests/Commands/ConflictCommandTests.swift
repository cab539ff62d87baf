import Foundation
import Testing

@Suite(.serialized) struct ConflictCommandTests {
  /// Two machines that changed the same field, the second with `--policy manual`.
  private func conflict() async throws -> (cloud: Cloud, first: Machine, second: Machine, id: Int) {
    let cloud = try await Cloud()
    let first = try Machine(cloud)
    let second = try Machine(cloud, ["CKTOP_POLICY": "manual"])
    try await first.succeed("records", "put", "--type", "Task", "--name", "t1", "title=old", "note=old")
    try await first.succeed("sync")
    try await second.succeed("sync")
    try await first.succeed("records", "put", "--name", "t1", "title=theirs", "note=theirs")
    try await first.succeed("sync")
    try await second.succeed("records", "put", "--name", "t1", "title=mine", "note=mine")
    let sync = try await second.run("sync")
    #expect(sync.status == 3)
    #expect(sync.error.contains("cktop conflicts show"))
    let list = try await second.succeed("conflicts", "list", "--json").object()
    return (cloud, first, second, try #require(list["id"] as? Int))
  }

  @Test func `a conflict of the same field waits on the desk and is settled field by field`() async throws {
    let (cloud, first, second, id) = try await conflict()

    let shown = try await second.succeed("conflicts", "show", "\(id)", "--json").object()
    #expect(try await second.run("status").status == 3)
    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "local", "--field", "note=server")
    try await second.succeed("sync")
    try await first.succeed("sync")

    #expect(shown["reason"] as? String == "both sides changed note, title")
    let fields = try #require(shown["fields"] as? [[String: Any]])
    #expect(fields.map { $0["name"] as? String } == ["note", "title"])
    #expect((fields[1]["base"] as? [String: Any])?["value"] as? String == "old")
    #expect((fields[1]["local"] as? [String: Any])?["value"] as? String == "mine")
    #expect((fields[1]["server"] as? [String: Any])?["value"] as? String == "theirs")
    for machine in [first, second] {
      let record = try await machine.succeed("records", "get", "t1", "--json").object()
      let values = try #require(record["fields"] as? [String: [String: Any]]).mapValues { $0["value"] as? String }
      #expect(values == ["title": "mine", "note": "theirs"])
      try await machine.succeed("verify")
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `of several conflicts, the one that changed is named and shown as it is now`() async throws {
    let (cloud, _, second, id) = try await conflict()

    let end = try await second.run("conflicts", "resolve", "\(id)@0123456789ab", "999", "--take", "local")

    #expect(end.status == 1)
    #expect(end.lines.first?.hasPrefix("conflict \(id): Task t1") == true, "\(end.output)")
    #expect(end.error.contains("conflict \(id) was left alone") && end.error.contains("999 is not a conflict"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a conflict whose record is deleted is listed as dropped and can be undone`() async throws {
    let (cloud, _, second, id) = try await conflict()

    try await second.succeed("records", "delete", "t1", "--yes")
    let dropped = try await second.succeed("conflicts", "dropped").output
    let undone = try await second.succeed("conflicts", "undo", "\(id)").output

    #expect(dropped.contains("deleted before it was sent"))
    #expect(undone.contains("1 conflict is open again"))
    #expect(try await second.succeed("conflicts", "show", "\(id)").output.contains("mine"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a dry run says what would be sent and changes nothing`() async throws {
    let (cloud, _, second, id) = try await conflict()

    let arguments = ["conflicts", "resolve", "\(id)", "--take", "local", "--field", "note=server", "--dry-run"]
    let text = try await second.succeeding(arguments).output
    let object = try await second.succeeding(arguments + ["--json", "--read-only"]).object()

    #expect(text == "Would resolve conflict \(id); 1 field will be sent\n  title: mine\n  note: mine is dropped\n")
    #expect(object["settled"] as? Bool == false)
    #expect(object["toBeSent"] as? Bool == true)
    #expect(object["fields"] as? [String] == ["title"])
    #expect(object["dropped"] as? [String] == ["note"])
    #expect(((object["values"] as? [String: Any])?["title"] as? [String: Any])?["value"] as? String == "mine")
    #expect(try await second.succeed("conflicts", "list", "--json").lines.count == 1)
    try await second.fail(
      2,
      "conflicts",
      "resolve",
      "\(id)",
      "--take",
      "local",
      "--field",
      "nothing=local",
      "--dry-run"
    )
    withExtendedLifetime(cloud) {}
  }

  @Test func `what was dropped is listed, shown and restored`() async throws {
    let (cloud, _, second, id) = try await conflict()
    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "server")
    #expect(try await second.succeed("queue", "list", "--json").output == "")

    let dropped = try await second.succeed("conflicts", "dropped", "--json").object()
    let shown = try await second.succeed("queue", "show", "\(id)", "--json").object()
    #expect(dropped["id"] as? Int == id)
    #expect(dropped["reason"] as? String == "resolved by an operator")
    #expect(dropped["canBeUndone"] as? Bool == true)
    #expect((shown["dropped"] as? [[String: Any]])?.count == 1)
    #expect(try await second.succeed("conflicts", "dropped").output.contains("note, title"))
    #expect(try await second.succeed("queue", "show", "\(id)").output.contains("Dropped           note, title at"))

    let undone = try await second.succeed("conflicts", "undo", "\(id)", "--json").object()
    let again = try #require(undone["operation"] as? Int)
    #expect(undone["isConflict"] as? Bool == true)
    #expect(try await second.run("sync").status == 3)
    try await second.succeed("conflicts", "resolve", "\(again)", "--take", "local")
    try await second.succeed("sync")
    let record = try await second.succeed("records", "get", "t1", "--json").object()
    let values = try #require(record["fields"] as? [String: [String: Any]]).mapValues { $0["value"] as? String }
    #expect(values == ["title": "mine", "note": "mine"])
    let overwritten = try await second.succeed("conflicts", "dropped", "--json").object()
    #expect(overwritten["id"] as? Int == again)
    #expect(try await second.fail(1, "conflicts", "undo", "\(id)").contains("it was undone, or the record was edited"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a resolution for this side is listed, and once it is sent the server's former values are restored`()
    async throws
  {
    let (cloud, _, second, id) = try await conflict()
    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "local")

    #expect(try await second.succeed("conflicts", "dropped").output.contains("server's note, title"))
    let undone = try await second.succeed("conflicts", "undo", "\(id)").output
    #expect(undone.hasPrefix("Restored 1 change; 1 conflict is open again"))
    #expect(try await second.succeed("conflicts", "list", "--json").lines.count == 1)
    #expect(try await second.fail(1, "conflicts", "undo", "\(id)").contains("can no longer be undone"))

    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "local")
    try await second.succeed("sync")
    let dropped = try await second.succeed("conflicts", "dropped", "--json").object()
    let overwritten = try #require((dropped["overwritten"] as? [String: Any])?["fields"] as? [String: [String: Any]])
    #expect(overwritten.mapValues { $0["value"] as? String } == ["title": "theirs", "note": "theirs"])
    #expect(dropped["seen"] as? Bool == true && (dropped["fields"] as? [String: Any])?.isEmpty == true)
    let shown = try await second.succeed("queue", "show", "\(id)").output
    #expect(shown.contains("Dropped           server's note, title at"))
    let restored = try await second.succeed("conflicts", "undo", "\(id)", "--json").object()
    #expect(restored["isConflict"] as? Bool == false && restored["state"] as? String == "pending")
    try await second.succeed("sync")
    let record = try await second.succeed("records", "get", "t1", "--json").object()
    let values = try #require(record["fields"] as? [String: [String: Any]]).mapValues { $0["value"] as? String }
    #expect(values == ["title": "theirs", "note": "theirs"])
    #expect(try await second.fail(1, "conflicts", "undo", "999").contains("dropped nothing"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a sync says that a change is not sent any more`() async throws {
    let cloud = try await Cloud()
    let first = try Machine(cloud)
    let second = try Machine(cloud)
    try await first.succeed("records", "put", "--type", "Task", "--name", "t1", "title=old")
    try await first.succeed("sync")
    try await second.succeed("sync")
    try await first.succeed("records", "put", "--name", "t1", "title=theirs")
    try await first.succeed("sync")
    try await second.succeed("records", "put", "--name", "t1", "title=mine")

    let sync = try await second.run("sync")
    let next = try await second.run("sync")

    #expect(sync.status == 0)
    #expect(
      sync.error == "cktop: dropped 1 change; run cktop conflicts dropped to see why and what can be undone\n"
    )
    #expect(next.error == "")

    // It is listed until a person has seen it, even after the record was edited.
    try await second.succeed("records", "put", "--name", "t1", "title=again")
    let listed = try await second.succeed("conflicts", "dropped", "--json").object()
    #expect(listed["seen"] as? Bool == false && listed["canBeUndone"] as? Bool == false)
    try await second.fail(2, "conflicts", "dropped", "--seen", "--read-only")
    let table = try await second.succeed("conflicts", "dropped", "--seen").lines
    #expect(table.count == 2 && table[1].contains(" no ") && table[1].hasSuffix("the record was edited since"))
    #expect(try await second.succeed("conflicts", "dropped", "--seen", "--json").output == "")
    let seen = try await second.succeed("events", "--where", "text like '%seen%'", "--json").objects()
    #expect(seen.map { $0["text"] as? String } == ["marked 1 dropped change as seen"])
    withExtendedLifetime(cloud) {}
  }

  @Test func `a failed change that was discarded is failed again when the discard is undone`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "done=1")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--name", "t1", "done:STRING=yes")
    #expect(try await machine.run("sync").status == 1)
    let before = try await machine.succeed("queue", "list").output
    let id = try #require(try await machine.succeed("queue", "list", "--json").object()["id"] as? Int)
    try await machine.succeed("queue", "discard", "\(id)", "--yes")

    let undone = try await machine.succeed("conflicts", "undo", "\(id)").output

    #expect(undone.hasPrefix("Restored 1 change; 1 is failed again, as before\n"))
    #expect(try await machine.succeed("queue", "list").output == before)
    withExtendedLifetime(cloud) {}
  }

  @Test func `what is had back is shown beside what it takes the place of`() async throws {
    let (cloud, first, second, id) = try await conflict()
    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "server")
    try await first.succeed("records", "put", "--name", "t1", "title=newer")
    try await first.succeed("sync")
    try await second.succeed("sync")

    let text = try await second.succeed("conflicts", "undo", "\(id)").output

    #expect(text.hasSuffix("\n  note: mine in place of theirs\n  title: mine in place of newer\n"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `wrong choices are usage errors and change nothing`() async throws {
    let (cloud, _, second, id) = try await conflict()

    try await second.fail(2, "conflicts", "resolve", "\(id)", "--take", "both")
    try await second.fail(2, "conflicts", "resolve", "\(id)", "--take", "local", "--field", "title=newest")
    try await second.fail(2, "conflicts", "resolve", "\(id)", "--take", "local", "--field", "nothing=local")
    try await second.fail(1, "conflicts", "resolve", "999", "--take", "local")
    try await second.fail(1, "conflicts", "show", "999")

    #expect(try await second.succeed("conflicts", "list", "--json").lines.count == 1)
    try await second.succeed("conflicts", "resolve", "\(id)", "--take", "server")
    #expect(try await second.succeed("queue", "list", "--json").output == "")
    withExtendedLifetime(cloud) {}
  }
}
