import Foundation
import Testing

@Suite(.serialized) struct FirstStepsTests {
  @Test func `a put is queued, sent by sync, and then read back`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)

    let put = try await machine.succeed(
      "records",
      "put",
      "--type",
      "Task",
      "--name",
      "t1",
      "title=Buy milk",
      "done=0",
      "--json"
    )
    let queued = try await machine.succeed("queue", "list", "--json")
    let before = try await machine.succeed("records", "get", "t1", "--json")
    let sync = try await machine.succeed("sync")
    let after = try await machine.succeed("records", "list", "--json")

    #expect(try put.object()["operation"] as? Int == 1)
    let operation = try queued.object()
    #expect(operation["state"] as? String == "pending")
    #expect(operation["recordName"] as? String == "t1")
    #expect(operation["error"] is NSNull)
    #expect(operation["blockedBy"] as? [Int] == [])
    #expect(try before.object()["pending"] as? Bool == true)
    #expect(try before.object()["changeTag"] is NSNull)
    #expect(sync.lines == ["sent 1, fetched 0, deleted 0; in sync"])
    #expect(sync.error == "")
    let record = try after.object()
    #expect(record["pending"] as? Bool == false)
    #expect(record["zone"] as? String == "cktop")
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    #expect(fields["title"]?["type"] as? String == "STRING")
    #expect(fields["done"]?["value"] as? Int == 0)
    #expect(await cloud.stop() == .exited(0))
  }

  @Test func `a put on a known name changes just those fields, and an empty value clears one`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=Milk", "note=two", "count=1")
    try await machine.succeed("sync")

    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=Bread", "note=")
    let unchanged = try await machine.succeed("records", "put", "--name", "t1", "count=1")
    let mirror = try await machine.succeed("records", "get", "t1", "--mirror")
    let local = try await machine.succeed("records", "get", "t1", "--json")

    #expect(unchanged.output.hasPrefix("unchanged "))
    #expect(mirror.output.contains("title (STRING) = Milk"))
    let fields = try #require(try local.object()["fields"] as? [String: [String: Any]])
    #expect(fields.keys.sorted() == ["count", "title"])
    #expect(fields["title"]?["value"] as? String == "Bread")
  }

  @Test func `a timestamp is milliseconds in the fields and RFC 3339 everywhere else`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "due:TIMESTAMP=2026-01-31T12:00:00Z")
    try await machine.succeed("sync")

    let record = try await machine.succeed("records", "get", "t1", "--json").object()

    let fields = try #require(record["fields"] as? [String: [String: Any]])
    #expect(fields["due"]?["value"] as? Int64 == 1_769_860_800_000)
    let time = try #require(record["modifiedAt"] as? String)
    #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
  }

  @Test func `a deleted record is gone here and there`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")

    try await machine.succeed("records", "delete", "t1", "--yes")
    try await machine.fail(1, "records", "get", "t1")
    try await machine.succeed("records", "get", "t1", "--mirror")
    try await machine.succeed("sync")

    try await machine.fail(1, "records", "get", "t1", "--mirror")
    try await machine.fail(1, "records", "get", "t1", "--remote")
    try await machine.fail(1, "records", "delete", "t1", "--yes")
    #expect(try await machine.succeed("queue", "list").lines.count == 1)
  }

  @Test func `a name in two zones is ambiguous and the zones are named`() async throws {
    let machine = try Machine(try await Cloud())
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "--zone", "Home", "a=1")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "--zone", "Work", "a=2")

    let get = try await machine.fail(2, "records", "get", "t1")
    let delete = try await machine.fail(2, "records", "delete", "t1", "--yes")
    let chosen = try await machine.succeed("records", "get", "t1", "--zone", "Work", "--json")

    #expect(get.contains("Home, Work") && get.contains("--zone"))
    #expect(delete.contains("Home, Work"))
    #expect(try chosen.object()["zone"] as? String == "Work")
  }

  @Test func `a zone is made, filled, listed and deleted`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("zones", "create", "Home")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "--zone", "Home", "a=1")
    try await machine.succeed("sync")

    let zone = try await machine.succeed("zones", "list", "--json").object()
    try await machine.succeed("zones", "delete", "Home", "--yes")
    let deleting = try await machine.succeed("zones", "list", "--json").object()
    #expect(deleting["deletePending"] as? Bool == true)
    #expect(try await machine.succeed("zones", "list").output.contains("ready, delete pending"))
    #expect(try await machine.succeed("zones", "create", "Home").error.contains("cancelled"))
    #expect(try await machine.succeed("zones", "create", "Home").error == "")
    try await machine.succeed("zones", "delete", "Home", "--yes")
    try await machine.succeed("sync")

    #expect(zone["deletePending"] as? Bool == false)
    #expect(zone["zone"] as? String == "Home")
    #expect(zone["records"] as? Int == 1)
    #expect(zone["tokenAt"] is String)
    #expect(try await machine.succeed("records", "list", "--json").output == "")
    #expect(try await machine.succeed("records", "list", "--remote", "--json").output == "")
  }
}
