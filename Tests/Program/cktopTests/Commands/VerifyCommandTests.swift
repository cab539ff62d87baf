import Foundation
import Testing

@testable import CloudSync
@testable import cktop

@Suite(.serialized) struct VerifyCommandTests {
  @Test func `one command repairs the differences that verify finds, and says what it did`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    for name in ["a", "b", "c"] {
      try await mine.succeed("records", "put", "--type", "Note", "--name", name, "--zone", "notes", "n=1")
    }
    try await mine.succeed("sync")
    try await mine.succeed("records", "put", "--type", "Note", "--name", "other", "--zone", "other", "n=1")
    let path = try #require(try await mine.run("status", "--json").object()["store"] as? String)
    try SQLiteStorage(path: path).write { ledger in
      try ledger.run(#"UPDATE records SET fields = '{"n":{"type":"INT64","value":9}}' WHERE name = 'a'"#)
      try ledger.run("DELETE FROM records WHERE name = 'b'")
    }

    let found = try await mine.run("verify", "--json", "--zone", "notes")
    #expect(found.status == 1)
    let before = try found.object()
    #expect(before["different"] as? Int == 1 && before["onlyServer"] as? Int == 1 && before["repaired"] as? Int == 0)

    let repair = try await mine.succeed("verify", "--repair", "--json").objects()
    #expect(repair.map { $0["repaired"] as? Int }.contains(2))
    #expect(repair.allSatisfy { $0["different"] as? Int == 0 && $0["onlyServer"] as? Int == 0 })
    try await mine.succeed("verify")
    // A zone that is named is fetched again even if nothing differs.
    let again = try await mine.succeed("verify", "--repair", "--zone", "notes", "--json").object()
    #expect(again["repaired"] as? Int == 0 && again["zone"] as? String == "notes")
    #expect(try await mine.run("verify", "--repair", "--zone", "nowhere").status == 1)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a repair that needs a decision ends with 3, and one with another policy is refused`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    try await mine.succeed("records", "put", "--type", "Note", "--name", "a", "--zone", "notes", "n=1")
    try await mine.succeed("sync")
    let path = try #require(try await mine.run("status", "--json").object()["store"] as? String)
    try SQLiteStorage(path: path).write { ledger in
      try ledger.run(
        """
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 120)
        INSERT INTO records(zone, owner, name, type, changeTag, fields, epoch)
          SELECT zone, owner, 'ghost' || n, type, changeTag, fields, epoch FROM records, numbers
        """
      )
    }
    #expect(try await mine.run("verify", "--repair", settings: ["CKTOP_POLICY": "client"]).status == 2)

    let end = try await mine.run("verify", "--repair")

    #expect(end.status == 3)
    #expect(end.error.contains("cktop zones accept notes"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `any number of differences is one object, or a line each, by name`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    try await mine.succeed("records", "put", "--type", "Note", "--name", "a", "--zone", "notes", "n=1")
    try await mine.succeed("sync")
    let path = try #require(try await mine.run("status", "--json").object()["store"] as? String)
    try SQLiteStorage(path: path).write { ledger in
      try ledger.run(
        """
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
        INSERT INTO records(zone, owner, name, type, changeTag, fields, epoch)
          SELECT zone, owner, 'say "' || n || '"', type, changeTag, fields, epoch FROM records, numbers
        """
      )
      try ledger.run("UPDATE records SET changeTag = 'old' WHERE name = 'a'")
    }
    let ghosts = (1...250).map { "say \"\($0)\"" }.sorted()

    let object = try await mine.run("verify", "--json", "--zone", "notes").object()
    let lines = try await mine.run("verify", "--zone", "notes").lines

    #expect(object["onlyLocalNames"] as? [String] == ghosts && object["onlyLocal"] as? Int == 250)
    #expect(object["onlyServerNames"] as? [String] == [] && object["differentNames"] as? [String] == ["a"])
    #expect(object["repaired"] as? Int == 0)
    let shown = ghosts.map { "  only local: \($0)" } + ["  different: a"]
    #expect(Array(lines.dropFirst()) == shown)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a zone that cannot be compared is printed where no other is, or where it is named`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    try await mine.succeed("sync")
    func zones(_ arguments: String...) async throws -> [Substring] {
      try await mine.succeeding(["verify"] + arguments).lines.map { $0.prefix { $0 != ":" } }
    }
    #expect(try await zones() == ["_defaultZone"])
    try await mine.succeed("records", "put", "--type", "Note", "--name", "a", "--zone", "notes", "n=1")
    try await mine.succeed("sync")

    #expect(try await zones() == ["notes"])
    #expect(try await zones("--zone", "_defaultZone") == ["_defaultZone"])
    #expect(try await mine.succeed("verify", "--json").objects().count == 2)
    withExtendedLifetime(cloud) {}
  }

  @Test func `verify --repair makes no store, and is refused where nothing may be changed`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    #expect(try await mine.run("verify", "--repair").status == 4)
    try await mine.succeed("sync")
    #expect(try await mine.run("verify", "--repair", "--read-only").status == 2)
    withExtendedLifetime(cloud) {}
  }
}
