import CloudKitEmulator
import Doctor
import Foundation
import TestSupport
import Testing

@testable import CloudSync
@testable import cktop

/// `cktop doctor`, run as a user runs it.
@Suite(.serialized, .timeLimit(.minutes(40))) struct DoctorCommandTests {
  /// The levels of the checks that are not ok, from the JSON of a report.
  private static func levels(_ end: Machine.End) throws -> [String: String] {
    let found = try end.objects().map { ($0["check"] as? String ?? "", $0["level"] as? String ?? "") }
    // Tests have no terminal.
    return Dictionary(found.filter { $0.1 != "ok" && $0.0 != "terminal" }) { $1 }
  }

  @Test func `a machine in order is ok, and its scratch zone is gone`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    func writes() throws -> Int { try cloud.log().count { $0.contains("zones/modify") } }
    let before = try writes()

    let end = try await machine.run("doctor", "--write", "--json")

    #expect(end.status == 0, "\(end.output)\(end.error)")
    #expect(try Self.levels(end).isEmpty, "\(end.output)")
    let checks = try end.objects().compactMap { $0["check"] as? String }
    #expect(checks.contains("write") && Set(checks).isSubset(of: Finding.Check.allCases.map(\.rawValue)))
    #expect(try end.objects().allSatisfy { $0.keys.sorted() == ["check", "level", "meaning", "remedy", "text"] })
    // It creates a zone and deletes it; without `--write` it changes nothing.
    #expect(try writes() == before + 2)
    try await machine.succeed("doctor")
    #expect(try writes() == before + 2)
    try await machine.succeed("sync")
    let zones = try await machine.succeed("zones", "list", "--json").objects().compactMap { $0["zone"] as? String }
    #expect(!zones.contains { $0.hasPrefix("cktop-doctor") })
    try await machine.fail(2, "doctor", "--write", "--read-only")
    withExtendedLifetime(cloud) {}
  }

  @Test func `the scratch zone is deleted although the reply to its creation was lost`() async throws {
    let cloud = try await Cloud(
      faults: """
        [[rules]]
        when = { operation = "zones/modify", limit = 1 }
        then = "dropAfterCommit"
        """
    )
    let machine = try Machine(cloud)

    let end = try await machine.run("doctor", "--write", "--json")

    #expect(try Self.levels(end)["write"] == "problem", "\(end.output)")
    #expect(end.status == 5)
    let zones = try #require(try end.objects().first { $0["check"] as? String == "container" }?["text"] as? String)
    let again = try await machine.run("doctor", "--json")
    #expect(try again.objects().contains { $0["text"] as? String == zones })
    withExtendedLifetime(cloud) {}
  }

  @Test func `with nothing at the port every other line still says what is known`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    #expect(await cloud.stop() == .exited(0))

    let end = try await machine.run("doctor", "--write", "--json")

    let unasked = ["encryption", "clock", "account", "container", "write"]
    let expected = Dictionary(uniqueKeysWithValues: unasked.map { ($0, "notTried") } + [("connection", "problem")])
    #expect(try Self.levels(end) == expected, "\(end.output)")
    #expect(end.status == 5)
    // Each line of the text is a check, and none shows a secret.
    let text = try await machine.run("doctor")
    #expect(text.lines.count == (try end.objects().count))
    #expect(!text.output.contains("any-api-token") && !text.output.contains("\u{1B}"))
  }

  @Test func `a server whose clock is 20 minutes off is a problem`() async throws {
    let server = EmulatorServer(try Emulator(), now: { Date().addingTimeInterval(1200) })
    let port = try await server.start()
    let machine = try Machine([
      "CLOUDKIT_URL": "http://127.0.0.1:\(port)", "CLOUDKIT_CONTAINER": Machine.container,
      "CLOUDKIT_API_TOKEN": "any-api-token", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ])

    let end = try await machine.run("doctor", "--json")

    #expect(try Self.levels(end).filter { $0.value == "problem" } == ["clock": "problem"], "\(end.output)")
    #expect(end.status == 1)
    try await server.stop()
  }

  @Test func `settings that are wrong leave nothing but this machine to check`() async throws {
    let machine = try Machine(["CLOUDKIT_ENVIRONMENT": "staging"])
    let end = try await machine.run("doctor", "--json")
    #expect(end.status == 2)
    #expect(try Self.levels(end) == ["configuration": "problem"], "\(end.output)")

    let bare = try await Machine().run("doctor", "--json", settings: ["CLOUDKIT_URL": "http://127.0.0.1:1"])
    #expect(bare.status == 2)
    #expect(try Self.levels(bare)["configuration"] == "problem", "\(bare.output)")
  }

  @Test func `doctor, config check and themes show report every mistake of a theme with its line`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1", "CKTOP_THEME": "mine",
    ])
    let themes = machine.folder.path("config/cktop/themes")
    try FileManager.default.createDirectory(atPath: themes, withIntermediateDirectories: true)
    let theme = "name = \"mine\"\nbackground = \"dusk\"\n[roles]\ntext = { fg = \"nope\" }\n"
    _ = try machine.folder.write(theme, to: "config/cktop/themes/mine.toml")

    let end = try await machine.run("doctor", "--json")
    let findings = try end.objects().filter { $0["check"] as? String == "configuration" }
    let texts = [
      try #require(findings.first?["text"] as? String), try await machine.fail(2, "config", "check"),
      try await machine.fail(2, "themes", "show", "mine"),
    ]

    #expect(findings.count == 1 && findings.first?["level"] as? String == "problem" && end.status == 2)
    for text in texts {
      #expect(text.contains("mine.toml line 2: background") && text.contains("line 4: roles.text.fg"), "\(text)")
    }
  }

  @Test func `the name of a theme that does not exist keeps its letters`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1"])

    let end = try await machine.run("doctor", "--json", settings: ["CKTOP_THEME": "mine"])

    let finding = try #require(try end.objects().first { $0["check"] as? String == "configuration" })
    #expect(finding["level"] as? String == "problem")
    #expect((finding["text"] as? String)?.contains("'mine'") == true, "\(end.output)")
  }

  @Test func `a store that is no store, and a key that others can read, are problems`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let file = try machine.folder.write("no database, whatever its name says", to: "a.sqlite")

    let end = try await machine.run("doctor", "--json", "--store", file)
    #expect(end.status == 4)
    #expect(try Self.levels(end)["store"] == "problem", "\(end.output)")

    let key = machine.folder.path("key.pem")
    try await machine.succeed("keygen", "--out", key)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
    let open = try await machine.run(
      "doctor",
      "--json",
      settings: ["CLOUDKIT_KEY_ID": "0", "CLOUDKIT_KEY_FILE": key, "CLOUDKIT_DATABASE": "public"]
    )
    #expect(open.status == 2)
    #expect(try Self.levels(open)["credential"] == "problem", "\(open.output)")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a schema that lacks a field of the queue is a problem`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let whole = try await machine.succeed("schema", "infer").output
    let file = try machine.folder.write(whole, to: "whole.ckdb")
    let empty = try machine.folder.write("DEFINE SCHEMA\n", to: "empty.ckdb")

    let fits = try await machine.run("doctor", "--json", "--schema", file)
    #expect(try fits.objects().contains { $0["check"] as? String == "schema" && $0["level"] as? String == "ok" })
    let lacks = try await machine.run("doctor", "--json", "--schema", empty)
    #expect(try Self.levels(lacks)["schema"] == "problem", "\(lacks.output)\(lacks.error)")
    try await machine.fail(2, "doctor", "--schema", "none.ckdb")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a stopped process whose lease has run out is a problem`() async throws {
    // The process waits for a reply, so that it has a lease.
    let cloud = try await Cloud(
      faults: """
        [[rules]]
        when = { operation = "changes/database" }
        then = { action = "delay", milliseconds = 600000 }
        """
    )
    let machine = try Machine(cloud, ["CKTOP_STORE": "store.sqlite"])
    let process = try Child(
      Binary.cktop().path,
      ["sync", "--watch"],
      environment: machine.environment,
      in: machine.folder.url.path
    )
    defer {
      process.send(SIGCONT)
      process.send(SIGKILL)
    }
    let path = machine.folder.path("store.sqlite")
    /// Waits for a lease that ends before or after now, which only the other process can change.
    func leaseEnds(_ isRight: (Int64, Int64) -> Bool) async throws {
      while true {
        if let scope = SyncStore.scope(ofStoreAt: path) {
          let status = try SyncStore(path: path, scope: scope, access: .reading).status()
          if let end = status.syncingProcess?.leaseEndsAt, isRight(end, status.generatedAt) { return }
        }
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    try await leaseEnds(>)
    let running = try await machine.run("doctor", "--json")
    #expect(try Self.levels(running)["process"] == nil, "\(running.output)")

    await process.stop()
    try await leaseEnds(<)
    let stopped = try await machine.run("doctor", "--json")

    #expect(try Self.levels(stopped)["process"] == "problem", "\(stopped.output)")
    #expect(stopped.status == 3)
    withExtendedLifetime(cloud) {}
  }
}
