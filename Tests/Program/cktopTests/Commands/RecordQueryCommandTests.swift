import CloudKit
import CloudSync
import Foundation
import Testing

@testable import cktop

@Suite(.serialized) struct RecordQueryCommandTests {
  @Test func `records are found and sorted, here as on the server`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    for (name, people) in [("Lisbon", 5), ("London", 9), ("Lima", 9), ("Berlin", 3)] {
      try await machine.succeed("records", "put", "--type", "City", "--name", name, "name=\(name)", "people=\(people)")
    }
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t", "name=Lost")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--type", "City", "--name", "Lisbon", "people=10")
    let query = "City where people > 3 and name beginswith 'L' sort by people desc, name"

    let here = try await machine.succeed("records", "query", query, "--json").objects()
    let mirror = try await machine.succeed("records", "query", query, "--mirror", "--json").objects()
    let remote = try await machine.succeed("records", "query", query, "--remote", "--json", "--limit", "2").objects()
    let all = try await machine.succeed("records", "query", "City", "--zone", "cktop")

    #expect(here.map { $0["recordName"] as? String } == ["Lisbon", "Lima", "London"])
    #expect(mirror.map { $0["recordName"] as? String } == ["Lima", "London", "Lisbon"])
    #expect(remote.map { $0["recordName"] as? String } == ["Lima", "London"])
    #expect(all.lines.count == 5 && all.lines[1].contains("Berlin"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a query that cannot be read says where, and one that the server cannot do says what`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "City", "--name", "a", "name=x")
    try await machine.succeed("sync")
    let either = "City where name = 'x' or people = 1"

    #expect(try await machine.fail(2, "records", "query", "").contains("record type"))
    #expect(try await machine.fail(2, "records", "query", "City wher x = 1").contains("'where'"))
    #expect(try await machine.fail(2, "records", "query", "City where name = ").contains("position"))
    #expect(try await machine.fail(2, "records", "query", "City sort by name up").contains("asc or desc"))
    #expect(try await machine.succeed("records", "query", either).lines.count == 2)
    #expect(try await machine.fail(2, "records", "query", either, "--remote").contains("OR"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `names without records are noted, as they may be misspelled`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "City", "--name", "a", "name=x")
    func note(_ arguments: String...) async throws -> String {
      try await machine.succeeding(["records"] + arguments).error
    }

    #expect(try await note("query", "Citi where name = 'x'").contains("type 'Citi'"))
    #expect(try await note("query", "City where nam = 'x' sort by people").contains("field 'nam'"))
    #expect(try await note("query", "City where name = 'x' sort by people").contains("field 'people'"))
    #expect(try await note("query", "City", "--zone", "Home").contains("zone Home"))
    #expect(try await note("list", "--type", "Citi").contains("type 'Citi'"))
    #expect(try await note("list", "--zone", "Home").contains("zone Home"))
    #expect(try await note("query", "City where name = 'y' sort by modificationDate").isEmpty)
    withExtendedLifetime(cloud) {}
  }

  @Test func `dates and numbers are compared by the type of the field, here as on the server`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    for (name, time, number, count) in [
      ("a", "2026-01-01T12:00:00Z", "0.5", "1"), ("b", "2026-01-02T12:00:00Z", "1", "2"),
      ("c", "2026-01-03T00:00:00Z", "2.5", "3"),
    ] {
      try await machine.succeed(
        "records",
        "put",
        "--type",
        "Q",
        "--name",
        name,
        "t:TIMESTAMP=\(time)",
        "d:DOUBLE=\(number)",
        "n=\(count)",
        "s:STRING=\(count)"
      )
    }
    try await machine.succeed("sync")
    func names(_ condition: String, _ more: String...) async throws -> [String] {
      try await machine.succeeding(["records", "query", "Q where \(condition)", "--json"] + more).objects().compactMap {
        $0["recordName"] as? String
      }
    }

    for (condition, expected) in [
      ("t > '2026-01-02T00:00:00Z'", ["b", "c"]), ("t > 1767355200000", ["c"]), ("t >= 1767355200000", ["b", "c"]),
      ("t > '2026-01-02'", ["c"]), ("t <= '2026-01-02'", ["a", "b"]), ("t = '2026-01-02'", ["b"]),
      ("t = '2026-01-02T13:00:00+01:00'", ["b"]), ("'2026' < t", []),
      ("modificationDate > '2020-01-01'", ["a", "b", "c"]),
      ("modificationDate < 1577836800000", []), ("d > 1", ["c"]), ("d in {1, 2}", ["b"]), ("n > 1.5", ["b", "c"]),
      ("n < 2.5 and d >= 1", ["b"]), ("n between {1.5, 2.5}", ["b"]), ("s = '2'", ["b"]),
    ] {
      #expect(try await names(condition) == expected, "\(condition)")
      #expect(try await names(condition, "--remote") == expected, "\(condition), on the server")
    }
    for condition in [
      "t > 'soon'", "n = 1.5", "n > '1'", "d = 'x'", "s = 2", "modificationDate > 'soon'", "n contains 1", "any n = 1",
      "n = 9223372036854775808", "d > 1e400", "n between {1}",
    ] {
      _ = try await machine.failing(2, ["records", "query", "Q where \(condition)"])
      _ = try await machine.failing(2, ["records", "query", "Q where \(condition)", "--remote"])
    }
    // Without a local copy nothing knows the types, and the server says what is wrong.
    let other = try Machine(cloud)
    _ = try await other.failing(2, ["records", "query", "Q where t > 'soon'", "--remote"])
  }

  @Test(arguments: [
    ("City", "where TRUEPREDICATE"), ("City  WHERE a = 1", "where a == 1"),
    ("City where a = 'sort by b' Sort  By c desc", "where a == \"sort by b\" sorted by c descending"),
    ("City sort by a, b descending, c asc", "where TRUEPREDICATE sorted by a, b descending, c"),
    ("City where a = 'it\\'s sort by x'", "where a == \"it's sort by x\""),
  ])
  func `a query is a type, a predicate and an order`(text: String, meaning: String) throws {
    #expect(try CKQuery(parsing: text).debugDescription == "<CKQuery City \(meaning)>")
  }

  @Test func `the server is asked also where nothing is stored here`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "City", "--name", "a", "name=x")
    try await machine.succeed("sync")
    let other = try Machine(cloud)

    #expect(try await other.succeed("records", "export", "--remote").objects().count == 1)
    let record = try await other.succeed("records", "get", "a", "--remote", "--json").object()
    #expect(record["recordName"] as? String == "a")
    #expect(try await other.succeed("records", "query", "City", "--remote").lines.count == 2)
    for verb in [["records", "export"], ["records", "list"], ["records", "query", "City"]] {
      #expect(try await other.failing(1, verb + ["--remote", "--zone", "nope"]).contains("server has no zone nope"))
    }
    #expect(try await other.succeed("records", "export", "--remote", "--zone", "cktop").objects().count == 1)
    try await other.fail(4, "records", "list")
    try await Machine(["CLOUDKIT_CONTAINER": Machine.container]).fail(3, "records", "list", "--remote")
    withExtendedLifetime(cloud) {}
  }
}
