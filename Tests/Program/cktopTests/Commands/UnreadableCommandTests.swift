import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct UnreadableCommandTests {
  private static func schema(_ grants: String) -> String {
    """
    DEFINE SCHEMA
      RECORD TYPE Task (
        "___recordID" REFERENCE QUERYABLE, "___modTime" TIMESTAMP QUERYABLE SORTABLE, a INT64,
        GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"\(grants)
      );
    """
  }

  @Test func `a type that may no longer be read ends sync with 3 until it may, and status says why`() async throws {
    let folder = try TemporaryFolder()
    let closed = "\(Machine.container)=\(try folder.write(Self.schema(""), to: "closed.ckdb"))"
    let open = "\(Machine.container)=\(try folder.write(Self.schema(", GRANT READ TO \"_world\""), to: "open.ckdb"))"
    let data = folder.path("data")
    let first = try await Cloud("--data", data)
    let machine = try Machine(first, ["CLOUDKIT_DATABASE": "public"])
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    _ = await first.stop()

    let second = try await Cloud("--data", data, "--schema", closed)
    let denied = try await machine.run("sync", "--json", settings: ["CLOUDKIT_URL": second.url])
    let status = try await machine.run("status", "--json")
    let text = try await machine.run("status").output
    _ = await second.stop()
    let third = try await Cloud("--data", data, "--schema", open)
    let allowed = try await machine.run("sync", settings: ["CLOUDKIT_URL": third.url])

    #expect(denied.status == 3 && status.status == 3)
    #expect(try denied.object()["inSync"] as? Bool == false)
    #expect(denied.error.contains("records of type Task"))
    let sync = try #require(try status.object()["sync"] as? [String: Any])
    let unreadable = try #require((sync["unreadable"] as? [[String: Any]])?.first)
    #expect(unreadable["recordType"] as? String == "Task" && sync["inSync"] as? Bool == false)
    #expect(text.contains("records of type Task"))
    #expect(allowed.status == 0, "\(allowed.error)")
    #expect(try await machine.run("status", "--oneline").output.hasPrefix("in sync"))
  }
}
