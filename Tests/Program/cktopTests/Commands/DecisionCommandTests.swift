import Foundation
import TestSupport
import Testing

@testable import cktop

/// Commands that decide: about what was shown, and on purpose.
@Suite(.serialized) struct DecisionCommandTests {
  private static let offline = ["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_DATABASE": "private"]

  @Test func `a conflict is resolved in the version that was shown, or shown again`() async throws {
    let cloud = try await Cloud()
    let (mine, theirs) = (try Machine(cloud, ["CKTOP_POLICY": "manual"]), try Machine(cloud))
    try await mine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=old")
    try await mine.succeed("sync")
    try await theirs.succeed("sync")
    try await theirs.succeed("records", "put", "--name", "t1", "title=theirs")
    try await theirs.succeed("sync")
    try await mine.succeed("records", "put", "--name", "t1", "title=mine")
    #expect(try await mine.run("sync").status == 3)
    let listed = try await mine.succeed("conflicts", "list", "--json").object()
    let (id, shown) = ("\(try #require(listed["id"] as? Int))", try #require(listed["version"] as? String))
    let show = try await mine.succeed("conflicts", "show", id, "--json").object()
    #expect(show["version"] as? String == shown)
    #expect(try await mine.succeed("conflicts", "list").output.contains(shown))
    #expect(try await mine.succeed("queue", "list", "--json").object()["version"] as? String == shown)
    try await theirs.succeed("records", "put", "--name", "t1", "title=newer")
    try await theirs.succeed("sync")
    #expect(try await mine.run("sync").status == 3)

    let late = try await mine.run("conflicts", "resolve", "\(id)@\(shown)", "--take", "local", "--json")
    let same = try await mine.run("conflicts", "resolve", id, "--version", shown, "--take", "local")
    let dry = try await mine.run("conflicts", "resolve", id, "--version", shown, "--take", "local", "--dry-run")

    #expect([late.status, same.status, dry.status] == [1, 1, 1])
    let current = try late.object()
    let version = try #require(current["version"] as? String)
    #expect(current["settled"] as? Bool == false && version != shown)
    let fields = try #require(current["fields"] as? [[String: Any]])
    #expect((fields.first?["server"] as? [String: Any])?["value"] as? String == "newer")
    #expect(same.output.contains("server newer") && same.output.contains(version))
    #expect(try await mine.succeed("conflicts", "list", "--json").lines.count == 1)

    let done = try await mine.succeed("conflicts", "resolve", "\(id)@\(version)", "--take", "local", "--json").object()
    #expect(done["settled"] as? Bool == true && done["fields"] as? [String] == ["title"])
    let again = try await mine.run("conflicts", "resolve", "\(id)@\(version)", "--take", "local")
    #expect(again.status == 1 && again.output.isEmpty)
    withExtendedLifetime(cloud) {}
  }

  @Test func `deletions that join what is on hold are not swept along with a decision`() async throws {
    let cloud = try await Cloud()
    let (mine, theirs) = (try Machine(cloud), try Machine(cloud))
    let names = (0..<110).map { "r\($0)" }
    let file = try mine.folder.write(
      names.map { #"{"name": "\#($0)", "a": 1}"# }.joined(separator: "\n"),
      to: "r.ndjson"
    )
    try await mine.succeed("records", "import", file, "--type", "Task", "--id", "name")
    try await mine.succeed("sync")
    try await theirs.succeed("sync")
    _ = try await theirs.succeeding(["records", "delete", "--yes"] + names.prefix(100))
    try await theirs.succeed("sync")
    #expect(try await mine.run("sync").status == 3)
    let zone = try await mine.succeed("zones", "list", "--json").object()
    let shown = try #require(zone["version"] as? String)
    #expect(zone["onHold"] as? Int == 100)
    #expect(try await mine.succeed("zones", "list").output.contains(shown))
    _ = try await theirs.succeeding(["records", "delete", "--yes"] + names.suffix(5))
    try await theirs.succeed("sync")
    #expect(try await mine.run("sync").status == 3)

    for verb in ["accept", "restore"] {
      let late = try await mine.run("zones", verb, "cktop", "--version", shown, "--yes", "--json")
      #expect(late.status == 1)
      let object = try late.object()
      #expect(object["moved"] as? Bool == true && object["records"] as? Int == 0 && object["onHold"] as? Int == 105)
    }
    let now = try await mine.succeed("zones", "list", "--json").object()
    let version = try #require(now["version"] as? String)
    #expect(now["records"] as? Int == 110)

    let done = try await mine.succeed("zones", "accept", "cktop", "--version", version, "--yes", "--json").object()
    #expect(done["records"] as? Int == 105 && done["moved"] as? Bool == false)
    #expect(done["changed"] as? [String] == ["cktop"])
    let left = try await mine.succeed("zones", "list", "--json").object()
    #expect(left["records"] as? Int == 5 && left["onHold"] as? Int == 0 && left["version"] is NSNull)
    #expect(try await mine.run("zones", "accept", "cktop", "--version", version, "--yes").status == 1)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a discard of a version leaves alone what was edited since`() async throws {
    let machine = try Machine(Self.offline)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let shown = try await machine.succeed("queue", "list", "--json").object()
    let (id, version) = (try #require(shown["id"] as? Int), try #require(shown["version"] as? String))
    try await machine.succeed("records", "put", "--name", "t1", "a=2")

    let late = try await machine.run("queue", "discard", "\(id)@\(version)", "--yes", "--json")

    #expect(late.status == 1)
    let moved = try #require(try late.object()["moved"] as? [[String: Any]])
    let now = try #require(moved.first?["version"] as? String)
    #expect(try await machine.succeed("queue", "list", "--json").object()["version"] as? String == now)
    #expect(try await machine.succeed("queue", "show", "\(id)", "--json").object()["version"] as? String == now)
    try await machine.succeed("queue", "discard", "\(id)@\(now)", "--yes")
    #expect(try await machine.succeed("queue", "list", "--json").output.isEmpty)
  }

  @Test func `several discarded changes are restored at once`() async throws {
    let machine = try Machine(Self.offline)
    for name in ["t1", "t2"] { try await machine.succeed("records", "put", "--type", "Task", "--name", name, "a=1") }
    try await machine.succeed("queue", "discard", "--all", "--yes")

    let undone = try await machine.succeed("conflicts", "undo", "1", "2", "--json").object()

    #expect(undone["verb"] as? String == "undo" && undone["changed"] as? [Int] == [1, 2])
    let restored = try #require(undone["restored"] as? [[String: Any]])
    #expect(restored.map { $0["id"] as? Int } == [1, 2] && restored.allSatisfy { $0["operation"] is Int })
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 2)
    let late = try await machine.run("conflicts", "undo", "1", "9", "--json")
    #expect(late.status == 1)
  }

  @Test func `a pause of everything is set and lifted once, and a dry run does neither`() async throws {
    let machine = try Machine(Self.offline)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")

    for (line, text) in [
      ("queue pause --all --dry-run", "Would pause everything"), ("queue pause --all", "Paused everything"),
      ("queue pause --all", "Everything was paused already"),
      ("queue resume --all --dry-run", "Would resume everything"),
      ("queue pause --type Task", "Paused type Task"),
      ("queue resume --everything --dry-run", "Would resume everything"),
      ("queue resume --everything", "Resumed everything"), ("queue resume --everything", "Everything was not paused"),
      ("queue resume --all", "Resumed type Task"), ("queue resume --all", "Nothing was paused by a rule"),
      ("zones resume cktop", "Zone cktop was not paused"), ("queue pause 1", "Paused 1 operation"),
    ] {
      let end = try await machine.running(line.split(separator: " ").map(String.init))
      #expect(end.status == 0 && end.lines.first == text, "\(line): \(end.output)\(end.error)")
    }
    #expect(try await machine.succeed("queue", "pauses", "--json").output.isEmpty)
  }

  @Test func `what is no version is a usage error`() async throws {
    let machine = try Machine(Self.offline)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")

    for arguments in [
      ["queue", "discard", "1@xyz", "--yes"], ["queue", "discard", "1@", "--yes"],
      ["queue", "discard", "1@0123456789ab", "1@0123456789ac", "--yes"],
      ["conflicts", "resolve", "1@xyz", "--take", "local"],
      ["conflicts", "resolve", "1", "--version", "7", "--take", "local"],
      ["conflicts", "resolve", "1@0123456789ab", "--version", "0123456789ac", "--take", "local"],
      ["zones", "accept", "cktop", "--version", "xyz", "--yes"],
      ["zones", "restore", "cktop", "--version", "1", "--yes"],
    ] {
      let line = try await machine.failing(2, arguments)
      #expect(line.hasPrefix("cktop: ") && line.split(separator: "\n").count == 1, "\(arguments)")
    }

    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
  }

  @Test func `without a terminal deletions need a yes, and nothing is made or queued without`() async throws {
    let machine = try Machine(Self.offline)

    #expect(try await machine.fail(2, "zones", "delete", "Home").contains("--yes"))
    #expect(try await machine.fail(2, "records", "delete", "t1").contains("--yes"))
    #expect(!FileManager.default.fileExists(atPath: machine.folder.path("state")))

    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.fail(2, "records", "delete", "t1")
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
    try await machine.succeed("records", "delete", "t1", "--yes")
    #expect(try await machine.succeed("queue", "list", "--json").output.isEmpty)
  }

  @Test func `an ended operation has all keys of a queued one`() async throws {
    let machine = try Machine(Self.offline)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let queued = try await machine.succeed("queue", "list", "--json").object()
    let id = "\(try #require(queued["id"] as? Int))"
    try await machine.succeed("queue", "discard", id, "--yes")

    let ended = try await machine.succeed("queue", "show", id, "--json").object()

    #expect(Set(queued.keys).subtracting(ended.keys).isEmpty)
    #expect(ended["ending"] as? String == "discarded" && ended["state"] is NSNull && ended["version"] is NSNull)
    #expect(ended["recordName"] as? String == "t1")
  }
}
