import Foundation
import Testing

@Suite struct ServeCommandTests {
  @Test func `a server's file outlives it`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path("cloud.sqlite")
    let first = try await Cloud("--data", file)
    let machine = try Machine(first)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    #expect(await first.stop() == 0)

    let second = try await Cloud("--data", file)
    let other = try Machine(second)
    try await other.succeed("sync")

    #expect(try await other.succeed("records", "get", "t1", "--json").object()["recordName"] as? String == "t1")
    try await machine.fail(4, "serve", "--data", file)
  }

  @Test func `a strict server lets in only whom it knows`() async throws {
    let cloud = try await Cloud("--strict-auth", "--api-token", "right", "--user", "ana")
    let machine = try Machine(cloud)

    try await machine.fail(3, "account")
    let known = try await machine.run("account", "--json", settings: ["CLOUDKIT_API_TOKEN": "right"])
    let stranger = try await machine.run(
      "account",
      "--json",
      settings: ["CLOUDKIT_API_TOKEN": "right", "CLOUDKIT_WEB_AUTH_TOKEN": "bob"]
    )

    #expect(try known.object()["status"] as? String == "available")
    #expect(stranger.status == 3)
    #expect(try stranger.object()["status"] as? String == "noAccount")
  }

  @Test func `a wrong plan, key or port is one clear line`() async throws {
    let machine = try Machine()
    let plans = [
      ("[[rules]]\nwhen = { recordname = \"x\" }\nthen = \"poison\"\n", "recordname"),
      ("[[rules]]\nthen = \"explode\"\n", "rules[1].then"),
      ("[[rules]]\nwhen = { every = 2 }\n", "then"),
      ("[[rules]\n", "line 1"),
    ]

    for (plan, word) in plans {
      let file = try machine.folder.write(plan, to: "plan.toml")
      #expect(try await machine.fail(2, "serve", "--faults", file).contains(word))
    }
    let text = try machine.folder.write("no key", to: "no.pem")
    try await machine.fail(2, "serve", "--server-key", text)
    try await machine.fail(2, "serve", "--server-key", "none.pem")
    try await machine.fail(2, "serve", "--port", "99999")
    let schema = try machine.folder.write("DEFINE\n  SCHEME", to: "wrong.ckdb")
    #expect(try await machine.fail(2, "serve", "--schema", "iCloud.x=\(schema)").contains("line 2, column 3"))
    for argument in [schema, "iCloud.x=none.ckdb", "x=\(schema)"] {
      try await machine.fail(2, "serve", "--schema", argument)
    }
    #expect(try await machine.succeed("help", "faults").output.contains("dropAfterCommit"))
  }

  @Test func `a schema is imported, deployed, and writes are held to it`() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("DEFINE SCHEMA RECORD TYPE Task (title STRING);", to: "app.ckdb")
    let cloud = try await Cloud("--schema", "\(Machine.container)=\(file)", "--deploy-schema")
    let settings = ["CLOUDKIT_ENVIRONMENT": "production"]
    let machine = try Machine(cloud, settings)
    let other = try Machine(cloud, settings)

    try await machine.succeed("records", "put", "--type", "Task", "--name", "known", "title=x")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "unknown", "other=x")
    _ = try await machine.run("sync")
    try await other.succeed("sync")

    let known = try await other.run("records", "get", "known", "--json")
    let unknown = try await other.run("records", "get", "unknown", "--json")
    #expect(known.status == 0 && unknown.status != 0)
  }

  @Test func `the port of another program is refused`() async throws {
    let cloud = try await Cloud()
    let port = try #require(cloud.url.split(separator: ":").last.map(String.init))

    #expect(try await Machine().fail(2, "serve", "--port", port).contains(port))
  }
}
