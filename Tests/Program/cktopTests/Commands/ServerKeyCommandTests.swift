import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct ServerKeyCommandTests {
  /// A machine with a new key, and a cloud that knows it.
  private func keyed() async throws -> (Cloud, Machine, [String: String]) {
    let home = try Machine([:])
    let file = home.folder.path("key.pem")
    let made = try await home.succeed("keygen", "--out", file)
    let keyID = String(try #require(made.lines.last?.split(separator: " ").last))
    let publicKey = try home.folder.write(made.output, to: "public.pem")
    let cloud = try await Cloud("--server-key", publicKey)
    let settings = [
      "CLOUDKIT_URL": cloud.url, "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_KEY_ID": keyID,
      "CLOUDKIT_KEY_FILE": file,
    ]
    return (cloud, home, settings)
  }

  @Test func `a key made here and registered there writes to the public database`() async throws {
    let (cloud, machine, settings) = try await keyed()

    let account = try await machine.succeed("account", "--json", settings: settings).object()
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n1", "text=hello", settings: settings)
    let sync = try await machine.succeed("sync", settings: settings)
    let second = try Machine(settings)
    try await second.succeed("sync", "--types", "Note")

    #expect(account["status"] as? String == "available")
    #expect(account["credential"] as? String == "serverToServer")
    #expect(account["expiresAt"] is NSNull && account["permissions"] is NSNull)
    #expect(sync.lines == ["sent 1, fetched 0, deleted 0; in sync"])
    #expect(try await second.succeed("records", "list", "--json").object()["recordName"] as? String == "n1")
    for machine in [machine, second] {
      let verify = try await machine.succeed("verify", settings: settings)
      #expect(verify.lines == ["_defaultZone: no differences, 1 record"])
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `a key that the server does not know, or none, needs a person`() async throws {
    let (cloud, machine, settings) = try await keyed()
    let stranger = settings.merging(["CLOUDKIT_KEY_ID": String(repeating: "a", count: 64)]) { $1 }
    let none = settings.filter { !$0.key.hasPrefix("CLOUDKIT_KEY") }

    let refused = try await machine.fail(3, "account", settings: stranger)
    // Nothing is queued and nothing known to be read, and still the server is asked before anything is said.
    let sync = try await machine.run("sync", settings: stranger)
    #expect(try await machine.fail(3, "sync", settings: none).contains("no credential"))

    #expect(refused.contains("AUTHENTICATION_FAILED"))
    #expect(sync.status == 3)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a key for another database than the public one is told what reaches it`() async throws {
    let (cloud, machine, settings) = try await keyed()

    let line = try await machine.fail(2, "sync", "--database", "private", settings: settings)

    #expect(line.contains("only the public database") && line.contains("CLOUDKIT_WEB_AUTH_TOKEN"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a key file that is missing or no key is a wrong setting, as doctor says`() async throws {
    let (cloud, machine, settings) = try await keyed()
    let other = try machine.folder.write("no key", to: "other.pem")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: other)

    for file in [machine.folder.path("none.pem"), other] {
      let wrong = settings.merging(["CLOUDKIT_KEY_FILE": file]) { $1 }
      #expect(try await machine.fail(2, "sync", settings: wrong).contains("config check"))
      #expect(try await machine.run("doctor", settings: wrong).status == 2)
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `a key that others can read is refused, and says what to do`() async throws {
    let (cloud, machine, settings) = try await keyed()
    let file = try #require(settings["CLOUDKIT_KEY_FILE"])
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)

    let line = try await machine.fail(2, "sync", settings: settings)

    #expect(mode == 0o600)
    #expect(line.contains("chmod 600"))
    #expect(try await machine.fail(2, "keygen", "--out", file).contains("exists"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a disk that does not take a key is no mistake of usage, and leaves no part of it`() async throws {
    let machine = try Machine()
    let file = machine.folder.path("key.pem")
    // Without the signal a file that may not grow fails as a full disk does.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""
    let process = try Child(
      "/bin/sh",
      ["-c", script, try Binary.cktop().path, "keygen", "--out", file],
      environment: machine.environment
    )

    #expect(await process.end() == .exited(1))
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test func `a store that is named belongs to its identity`() async throws {
    let cloud = try await Cloud()
    let ana = try Machine(cloud)
    let store = ["CKTOP_STORE": ana.folder.path("named.sqlite")]
    try await ana.succeed("records", "put", "--type", "Task", "a=1", settings: store)
    try await ana.succeed("sync", settings: store)
    let ben = store.merging(["CLOUDKIT_WEB_AUTH_TOKEN": "ben"]) { $1 }

    let line = try await ana.fail(3, "sync", settings: ben)
    try await ana.fail(3, "verify", settings: ben)

    #expect(line.contains("belongs to"))
    let nobody = store.merging(["CLOUDKIT_WEB_AUTH_TOKEN": ""]) { $1 }
    #expect(try await ana.fail(3, "sync", settings: nobody).contains("no user is signed in"))
  }

  @Test func `without a named store every user has one, and sends nobody else's changes`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let ben = ["CLOUDKIT_WEB_AUTH_TOKEN": "ben"]
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a1", "a=1")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a2", "a=1")

    try await machine.fail(4, "queue", "list", settings: ben)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "b1", "b=1", settings: ben)
    let sync = try await machine.succeed("sync", settings: ben)
    #expect(sync.lines == ["sent 1, fetched 0, deleted 0; in sync"])
    let status = try await machine.run("status", "--json", settings: ben).object()
    #expect((status["records"] as? [String: Any])?["total"] as? Int == 1)
    let store = try #require(status["store"] as? String)
    #expect(!store.hasSuffix("\(Machine.container).development.private.sqlite"))
    let back = try await machine.succeed("sync")

    #expect(back.lines == ["sent 1, fetched 0, deleted 0; in sync"])
    #expect(FileManager.default.fileExists(atPath: store + ".token"))
  }

  @Test func `a change of an unknown sign-in is accepted while the cloud is away, and sent as its user later`()
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "a=1")
    try await machine.succeed("sync")
    var ben = ["CLOUDKIT_WEB_AUTH_TOKEN": "ben", "CLOUDKIT_URL": "http://127.0.0.1:1"]
    let file = try machine.folder.write("a picture", to: "b.txt")

    try await machine.succeed("records", "put", "--type", "Task", "--name", "b1", "b=1", settings: ben)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "b2", "f:ASSETID=\(file)", settings: ben)
    try await machine.succeed("queue", "pause", "1", settings: ben)
    try await machine.fail(5, "sync", settings: ben)
    #expect(try await machine.succeed("queue", "list", "--json", settings: ben).lines.count == 2)
    #expect(try await machine.succeed("queue", "list", "--json").lines.isEmpty)

    ben["CLOUDKIT_URL"] = nil
    let sync = try await machine.succeed("sync", "--json", settings: ben).object()
    #expect(sync["sent"] as? Int == 1)
    let left = try await machine.succeed("queue", "list", "--json", settings: ben).object()
    #expect(left["state"] as? String == "paused")
    try await machine.succeed("queue", "resume", "--where", "state = 'paused'", settings: ben)
    try await machine.succeed("sync", settings: ben)
    #expect(try await machine.succeed("records", "list", "--remote", "--json", settings: ben).lines.count == 2)
    #expect(try await machine.succeed("records", "list", "--remote", "--json").lines.count == 1)
    let names = try FileManager.default.contentsOfDirectory(atPath: machine.folder.path("state/cktop"))
    #expect(!names.contains { $0.contains("~") })
    withExtendedLifetime(cloud) {}
  }

  @Test func `a replaced web-auth token is kept for its owner and used while it descends from the configured one`()
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "a=1")
    try await machine.succeed("sync")
    let file = machine.folder.path("state/cktop/\(Machine.container).development.private.sqlite.token")

    let first = try String(contentsOfFile: file, encoding: .utf8)
    try await machine.succeed("sync")
    let second = try String(contentsOfFile: file, encoding: .utf8)

    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(first != second)
    // The emulator counts the renewals of a token: a command that had begun with the configured one would count anew.
    let count = { (text: String) in text.firstMatch(of: /ana~(\d+)/).flatMap { Int($0.1) } ?? 0 }
    #expect(count(second) > count(first))
    #expect(!second.contains("\"ana\""))
  }

  @Test func `asking who we are before there is a store uses no token up`() async throws {
    let cloud = try await Cloud("--strict-web-auth")
    let machine = try Machine(cloud)

    try await machine.succeed("account")
    try await machine.succeed("account")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let sync = try await machine.succeed("sync")

    #expect(sync.lines == ["sent 1, fetched 0, deleted 0; in sync"])
  }

  @Test func `whoever is not signed in is told where to`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine([
      "CLOUDKIT_URL": cloud.url, "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_API_TOKEN": "any",
    ])

    let line = try await machine.fail(3, "sync", "--database", "private")

    #expect(line.contains("\(cloud.url)/sign-in?") && line.contains("CLOUDKIT_WEB_AUTH_TOKEN"))
  }
}
