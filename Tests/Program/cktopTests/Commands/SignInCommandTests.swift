import Foundation
import TestSupport
import Testing

@testable import cktop

/// Whose changes are sent as whom.
@Suite(.serialized) struct SignInCommandTests {
  private let ben = ["CLOUDKIT_WEB_AUTH_TOKEN": "ben"]
  private let offline = ["CLOUDKIT_URL": "http://127.0.0.1:1"]

  @Test func `what was queued offline is sent by the same sign-in, and by no other`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine", settings: offline)
    try await machine.fail(5, "sync", settings: offline)

    let refusal = try await machine.fail(3, "sync", settings: ben)
    #expect(refusal.contains("1 unsent change of another sign-in") && refusal.contains("--adopt"))
    let put = try await machine.fail(3, "records", "put", "--type", "Note", "b=1", settings: ben)
    #expect(put.contains("nothing was changed"))
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
    try await machine.succeed("sync")
    try await machine.succeed("sync", settings: ben)

    let record = try await machine.succeed("records", "get", "a", "--remote", "--json").object()
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    #expect(fields.keys.sorted() == ["title"] && fields["title"]?["value"] as? String == "mine")
    #expect(try await machine.succeed("records", "list", "--json", settings: ben).lines.isEmpty)
    withExtendedLifetime(cloud) {}
  }

  @Test(arguments: [false, true])
  func `a store is taken over only by a sync that says so`(_ isSynced: Bool) async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let path = machine.folder.path("shared.sqlite")
    let (anas, bens) = (["CKTOP_STORE": path], ben.merging(["CKTOP_STORE": path]) { $1 })
    if isSynced {
      try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=old", "n=1", settings: anas)
      try await machine.succeed("sync", settings: anas)
    }
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine", settings: anas)
    try await machine.fail(3, "sync", settings: bens)

    try await machine.succeed("sync", "--adopt", settings: bens)

    let record = try await machine.succeed("records", "get", "a", "--remote", "--json", settings: bens).object()
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    #expect(fields["title"]?["value"] as? String == "mine")
    #expect(fields["n"]?["value"] as? Int == (isSynced ? 1 : nil))
    try await machine.fail(3, "sync", settings: anas)
    try await machine.succeed("sync", settings: bens)
    withExtendedLifetime(cloud) {}
  }

  @Test func `another user's sign-in with the store of a user adds and stores nothing`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let path = machine.folder.path("shared.sqlite")
    let (anas, bens) = (["CKTOP_STORE": path], ben.merging(["CKTOP_STORE": path]) { $1 })
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=old", settings: anas)
    try await machine.succeed("sync", "--policy", "client", settings: anas)

    try await machine.fail(3, "records", "put", "--type", "Note", "--name", "b", "title=ben's", settings: bens)
    try await machine.fail(3, "sync", "--policy", "manual", "--set-policy", settings: bens)

    #expect(try await machine.succeed("queue", "list", "--json", settings: anas).lines.isEmpty)
    try await machine.succeed("records", "put", "--name", "a", "title=new", settings: anas)
    let queued = try await machine.succeed("queue", "list", "--json", settings: anas).object()
    let id = String(try #require(queued["id"] as? Int))
    try await machine.succeed("queue", "discard", id, "--yes", settings: anas)
    try await machine.fail(3, "conflicts", "undo", id, settings: bens)
    #expect(try await machine.succeed("queue", "list", "--json", settings: anas).lines.isEmpty)
    try await machine.fail(3, "zones", "delete", "Notes", "--yes", settings: bens)
    #expect(try await machine.run("status", "--json", settings: anas).object()["policy"] as? String == "client")
    withExtendedLifetime(cloud) {}
  }

  @Test func `nothing is added to a user's store while nobody can say whose a new sign-in is`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let store = ["CKTOP_STORE": machine.folder.path("shared.sqlite"), "CLOUDKIT_WEB_AUTH_TOKEN": "an+a"]
    // The same user, with a sign-in that is new here.
    let again = store.merging(["CLOUDKIT_WEB_AUTH_TOKEN": "an a"]) { $1 }
    let put = ["records", "put", "--type", "Note", "--name"]
    _ = try await machine.succeeding(put + ["a", "title=old"], settings: store)
    try await machine.succeed("sync", settings: store)

    for signIn in [store.merging(ben) { $1 }, again] {
      let unreachable = signIn.merging(offline) { $1 }
      #expect(
        try await machine.failing(5, put + ["b", "title=?"], settings: unreachable).contains("nothing was changed")
      )
      _ = try await machine.failing(5, ["zones", "delete", "cktop", "--yes"], settings: unreachable)
    }
    #expect(try await machine.succeed("queue", "list", "--json", settings: store).lines.isEmpty)
    // Once the server has named its user, the sign-in is known offline, too.
    _ = try await machine.succeeding(put + ["c", "title=new"], settings: again)
    _ = try await machine.succeeding(put + ["d", "title=new"], settings: again.merging(offline) { $1 })
    #expect(try await machine.succeed("queue", "list", "--json", settings: store).lines.count == 2)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a policy that is named when a second user's store is made is stored with it`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("sync", "--policy", "client")

    try await machine.succeed("records", "put", "--policy", "manual", "--type", "Note", "b=1", settings: ben)

    #expect(try await machine.run("status", "--json", settings: ben).object()["policy"] as? String == "manual")
    #expect(try await machine.run("status", "--json").object()["policy"] as? String == "client")
    withExtendedLifetime(cloud) {}
  }

  @Test func `an API token without a user takes no store over`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")

    let noUser = ["CLOUDKIT_WEB_AUTH_TOKEN": ""]
    let line = try await machine.fail(3, "sync", "--database", "private", "--adopt", settings: noUser)

    #expect(line.contains("no user is signed in"))
    #expect(try await machine.succeed("queue", "list", "--json").lines.count == 1)
    withExtendedLifetime(cloud) {}
  }

  @Test func `where the web auth token was forgotten, the user's store is shown as signed out and stays as it is`()
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let put = ["records", "put", "--type", "Note", "--name", "a", "title=mine"]
    _ = try await machine.succeeding(put)
    try await machine.succeed("sync")
    _ = try await machine.succeeding(put + ["n=1"])
    let forgotten = ["CLOUDKIT_WEB_AUTH_TOKEN": ""]

    for command in [["sync"], ["sync", "--watch"], ["verify"], ["account"]] {
      let end = try await machine.running(command, settings: forgotten)
      #expect(end.status == 3 && end.error.contains("no user is signed in"), "\(command)")
      #expect(end.error.contains("belongs to") || command == ["account"], "\(command)")
    }

    let status = try await machine.run("status", "--json", settings: forgotten).object()
    #expect((status["sync"] as? [String: Any])?["verdict"] as? String == "signedOut")
    #expect((status["account"] as? [String: Any])?["status"] as? String == "noAccount")
    try await machine.succeed("sync")
    #expect(try await machine.run("status").status == 0)
    withExtendedLifetime(cloud) {}
  }

  @Test func `what is queued and was never sent is its sender's too, and another user's store is not the missing one`()
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")
    let forgotten = ["CLOUDKIT_WEB_AUTH_TOKEN": ""]

    try await machine.fail(3, "sync", settings: forgotten)
    let status = try await machine.run("status", "--json", settings: forgotten).object()
    #expect((status["sync"] as? [String: Any])?["verdict"] as? String == "signedOut")
    try await machine.succeed("sync")
    #expect(try await !machine.run("status", "--oneline", settings: ben).output.contains(".sqlite"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `an API token alone cannot use the public store of a user, and account says so`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CLOUDKIT_DATABASE": "public"])
    try await machine.succeed("sync", "--types", "Note")
    let forgotten = ["CLOUDKIT_WEB_AUTH_TOKEN": ""]

    for command in ["sync", "account"] {
      #expect(try await machine.fail(3, command, settings: forgotten).contains("no user is signed in"))
    }
    try await machine.succeed("account")
    withExtendedLifetime(cloud) {}
  }

  @Test func `an API token alone is no user`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CLOUDKIT_WEB_AUTH_TOKEN": ""])

    let other = try Machine(cloud, ["CLOUDKIT_WEB_AUTH_TOKEN": ""])

    try await machine.succeed("sync", "--types", "Note")

    for command in ["account", "status"] {
      let end = try await machine.succeed(command, "--json").object()
      let account = end["account"] as? [String: Any] ?? end
      #expect(account["status"] as? String == "available" && account["user"] is NSNull)
    }
    // The database is a guess until a sync has used it.
    let put = ["records", "put", "--type", "Note", "b=1"]
    #expect(try await other.succeeding(put).error.contains("so the public one is used"))
    #expect(try await !machine.succeeding(put).error.contains("so the public one is used"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a store in which nothing is queued belongs to the next sign-in`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")
    try await machine.succeed("queue", "discard", "--all", "--yes")

    try await machine.succeed("records", "put", "--type", "Note", "--name", "b", "title=ben's", settings: ben)
    try await machine.succeed("sync", settings: ben)

    #expect(try await machine.succeed("records", "list", settings: ben).output.contains("b"))
    withExtendedLifetime(cloud) {}
  }
}
