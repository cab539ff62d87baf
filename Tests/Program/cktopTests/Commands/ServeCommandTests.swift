import CloudKit
import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct ServeCommandTests {
  @Test func `a server's file outlives it`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path("cloud.sqlite")
    let first = try await Cloud("--data", file)
    let machine = try Machine(first)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    #expect(await first.stop() == .exited(0))

    let second = try await Cloud("--data", file)
    let other = try Machine(second)
    try await other.succeed("sync")

    #expect(try await other.succeed("records", "get", "t1", "--json").object()["recordName"] as? String == "t1")
    #expect(try await machine.fail(4, "serve", "--data", file).contains("in use by another server"))
  }

  @Test func `what is no data file is named as that`() async throws {
    let machine = try Machine()
    let text = try machine.folder.write(String(repeating: "no database ", count: 100), to: "notes.txt")

    #expect(try await machine.fail(4, "serve", "--data", text).contains("not a file of cktop serve"))
    #expect(try await machine.fail(4, "serve", "--data", "nowhere/cloud.sqlite").contains("cannot be opened"))
  }

  @Test func `what is assumed is said on the command line, and help lists all that can be`() async throws {
    let machine = try Machine()
    let help = try await machine.succeed("help", "assumptions")
    for property in Mirror(reflecting: EmulatorAssumptions()).children {
      let name = try #require(property.label)
      #expect(help.output.contains("  \(name) "), "\(name)")
    }

    #expect(try await machine.fail(2, "serve", "--assume", "moon=cheese").contains("cktop help assumptions"))
    #expect(try await machine.fail(2, "serve", "--assume", "zoneLimit=-1").contains("none, a number"))
    #expect(try await machine.fail(2, "serve", "--assume", "uninvited=cheese").contains("notFound, accessDenied"))
    let cloud = try await Cloud("--assume", "listsTakePost=false")
    let transport = CKHTTPTransport(baseURL: try #require(URL(string: cloud.url)))
    let path = "/database/1/iCloud.test/development/private/zones/list"
    let answer = try await transport.send(
      CKTransportRequest(method: "POST", path: path, query: "ckAPIToken=t&ckWebAuthToken=ana")
    )
    #expect(answer.status == 405)
  }

  @Test func `other machines are let in only where strangers are kept out`() async throws {
    let machine = try Machine()

    #expect(try await machine.fail(2, "serve", "--host", "0.0.0.0").contains("--strict-auth"))
    #expect(try await machine.fail(2, "serve", "--host", "0.0.0.0", "--strict-auth").contains("--api-token"))
    let admin = try await machine.fail(
      2,
      "serve",
      "--host",
      "0.0.0.0",
      "--admin",
      "--strict-auth",
      "--api-token",
      "right"
    )
    #expect(admin.contains("CKTOP_ADMIN_TOKEN"))
    let cloud = try await Cloud("--host", "0.0.0.0", "--strict-auth", "--api-token", "right", "--user", "ana")
    #expect(cloud.url.hasPrefix("http://0.0.0.0:"))
  }

  @Test func `the admin endpoint shows the state, and the log names paths and faults but no token`() async throws {
    let cloud = try await Cloud(
      "--admin",
      faults: "[[rules]]\nthen = \"internalError\"\nwhen = { operation = \"zones/list\" }\n"
    )
    let transport = CKHTTPTransport(baseURL: try #require(URL(string: cloud.url)))
    let list = "/database/1/iCloud.test/development/private/zones/list"

    let state = try await transport.send(CKTransportRequest(method: "GET", path: "/emulator/state", query: ""))
    _ = try await transport.send(
      CKTransportRequest(method: "GET", path: list, query: "ckAPIToken=hush&ckWebAuthToken=hush")
    )
    _ = try await transport.send(CKTransportRequest(method: "GET", path: "/sign-in", query: "user=hush"))
    _ = try await transport.send(CKTransportRequest(method: "GET", path: "/nowhere", query: "ckWebAuthToken=hush"))
    #expect(await cloud.stop() == .exited(0))

    #expect(state.status == 200)
    let log = try cloud.log()
    #expect(log.contains { $0.contains("GET /emulator/state 0 items 200 ") })
    #expect(
      log.contains {
        $0.contains("private/zones/list 0 items 500 INTERNAL_ERROR") && $0.hasSuffix("ms [rule 1: internalError]")
      }
    )
    #expect(log.contains { $0.contains("GET sign-in 0 items 200 ") })
    #expect(log.contains { $0.contains("GET /nowhere 0 items 404 NOT_FOUND ") })
    #expect(!log.joined().contains("hush"))
  }

  @Test func `a strict server lets in only whom it knows`() async throws {
    let cloud = try await Cloud("--strict-auth", "--api-token", "right", "--user", "ana")
    let machine = try Machine(cloud)
    let transport = CKHTTPTransport(baseURL: try #require(URL(string: cloud.url)))
    func page(_ user: String) async throws -> CKTransportResponse {
      try await transport.send(CKTransportRequest(method: "GET", path: "/sign-in", query: "user=\(user)"))
    }
    let signedIn = String(decoding: try await page("ana").body, as: UTF8.self)
    let token = String(try #require(signedIn.firstMatch(of: /<code>(.*)<\/code>/)?.1))
    #expect(try await page("bob").status == 403)

    // A name is no token here.
    try await machine.fail(3, "account")
    let settings = ["CLOUDKIT_API_TOKEN": "right", "CLOUDKIT_WEB_AUTH_TOKEN": token]
    let known = try await machine.run("account", "--json", settings: settings)
    let stranger = try await machine.run(
      "account",
      "--json",
      settings: ["CLOUDKIT_API_TOKEN": "right", "CLOUDKIT_WEB_AUTH_TOKEN": "bob"]
    )

    #expect(try known.object()["status"] as? String == "available")
    #expect(stranger.status == 3)
    #expect(try stranger.object()["status"] as? String == "noAccount")
  }

  @Test func `every address of this machine's own network needs no authentication`() async throws {
    let cloud = try await Cloud("--host", "127.0.0.2")

    #expect(cloud.url.contains("127.0.0.2"))
    try await Machine(cloud).succeed("sync")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a wrong plan, key or port is one clear line`() async throws {
    let machine = try Machine()
    let plans = [
      ("[[rules]]\nwhen = { recordname = \"x\" }\nthen = \"poison\"\n", "recordname"),
      ("[[rules]]\nthen = \"explode\"\n", "rules[1].then"),
      ("[[rules]]\nwhen = { every = 2 }\n", "then"),
      ("[[rules]\n", "line 1"), ("[[rules]]\n\0", "line 2"), ("[[rules]]\nthen = poison\n", "then = \"poison\""),
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
    #expect(try await machine.succeed("help", "admin").output.contains("/emulator/advance"))
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
