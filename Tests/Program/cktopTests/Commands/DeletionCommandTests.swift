import Facts
import Foundation
import Testing

@testable import cktop

@Suite(.serialized) struct DeletionCommandTests {
  /// A machine that has two records of a zone which somebody else deleted since.
  private func lost() async throws -> (cloud: Cloud, mine: Machine) {
    let cloud = try await Cloud()
    let (mine, theirs) = (try Machine(cloud), try Machine(cloud))
    for name in ["a", "b"] {
      try await mine.succeed("records", "put", "--type", "Note", "--name", name, "--zone", "notes", "title=\(name)")
    }
    try await mine.succeed("sync")
    try await theirs.succeed("sync")
    try await theirs.succeed("zones", "delete", "notes", "--yes")
    try await theirs.succeed("sync")
    return (cloud, mine)
  }

  @Test func `a zone that somebody deleted is kept, every command says so, and it is put back`() async throws {
    let (cloud, mine) = try await lost()

    let sync = try await mine.run("sync")
    #expect(sync.status == 3)
    #expect(sync.error.contains("the server deleted zone notes with 2 records, local copies are kept"))
    #expect(sync.error.contains("cktop zones restore notes or cktop zones accept notes"))
    let status = try await mine.run("status")
    #expect(status.status == 3)
    #expect(status.output.contains("decision needed: "))
    #expect(status.output.contains("cktop zones restore notes or cktop zones accept notes"))
    let held = try await mine.run("status", "--json").object()["sync"] as? [String: Any]
    let deletions = try #require(held?["heldDeletions"] as? [[String: Any]])
    #expect(deletions.first?["zone"] as? String == "notes" && deletions.first?["wholeZone"] as? Bool == true)
    #expect(try await mine.succeed("zones", "list").output.contains("deleted, 2 deletions on hold"))

    let preview = try await mine.succeed("zones", "restore", "notes", "--dry-run")
    #expect(preview.output.contains("Would restore 2 records in zone notes; they will be sent"))
    #expect(try await mine.run("zones", "restore", "notes").error.contains("--yes"))
    let done = try await mine.succeed("zones", "restore", "notes", "--yes", "--json").object()
    #expect(done["records"] as? Int == 2)
    try await mine.succeed("sync")
    try await mine.succeed("verify")
    #expect(try await mine.succeed("records", "list").output.contains("b"))
    withExtendedLifetime(cloud) {}
  }

  @Test(
    arguments: [
      ("notes", "notes"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''"), ("$x", "'$x'"),
      // A quote with a mark on it is one character, and a quote to a shell.
      ("x'\u{301}; ls", "'x'\\''\u{301}; ls'"),
    ]
  )
  func `a command that is suggested can be given to a shell`(_ name: String, _ word: String) {
    #expect(Array(name.asArgument.unicodeScalars) == Array(word.unicodeScalars))
  }

  @Test func `what is accepted is gone, and there is nothing more to decide`() async throws {
    let (cloud, mine) = try await lost()
    _ = try await mine.run("sync")
    try await mine.succeed("records", "put", "--type", "Note", "--name", "a", "--zone", "notes", "x=9")
    let plan = try await mine.succeed("zones", "accept", "notes", "--dry-run").output
    #expect(plan.contains("Would delete 2 local copies in zone notes\n1 queued save in the zone fails, and retry"))
    try await mine.succeed("records", "delete", "b", "--zone", "notes", "--yes")
    let restoring = try await mine.succeed("zones", "restore", "notes", "--dry-run", "--json").object()
    #expect(restoring["records"] as? Int == 1)
    try await mine.succeed("queue", "discard", "--all", "--yes")

    try await mine.succeed("zones", "accept", "notes", "--yes")

    #expect(try await mine.succeed("records", "list", "--json").output.isEmpty)
    let again = try await mine.run("zones", "accept", "notes", "--yes")
    #expect(again.status == 2)
    #expect(again.error.contains("zone notes has no deletions on hold; run cktop zones list"))
    #expect(try await mine.run("zones", "restore", "none").status == 2)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a retry that creates a deleted zone again says so, before and after`() async throws {
    let (cloud, mine) = try await lost()
    _ = try await mine.run("sync")
    try await mine.succeed("records", "put", "--type", "Note", "--name", "a", "--zone", "notes", "x=9")
    try await mine.succeed("zones", "accept", "notes", "--yes")
    _ = try await mine.run("sync")
    let preview = try await mine.succeed("queue", "retry", "--all", "--dry-run")
    #expect(preview.output.contains("Would retry 1 operation; this creates zone notes again on the server"))
    let done = try await mine.succeed("queue", "retry", "--all", "--json").object()
    #expect(done["recreatedZones"] as? [String] == ["notes"])
    let again = try await mine.succeed("queue", "retry", "--all", "--json").object()
    #expect(again["recreatedZones"] as? [String] == [])
    withExtendedLifetime(cloud) {}
  }
}
