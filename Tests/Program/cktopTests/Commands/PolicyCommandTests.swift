import CloudKit
import CloudSync
import Foundation
import TestSupport
import Testing

/// The conflict policy that the store keeps, and what waits for an app, with real processes.
@Suite(.serialized) struct PolicyCommandTests {
  private func policy(_ machine: Machine) async throws -> String? {
    try await machine.run("status", "--json").object()["policy"] as? String
  }

  @Test func `the first sync stores the policy, and a later one cannot change it by the way`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=a")
    #expect(try await policy(machine) == nil)

    try await machine.succeed("sync", "--policy", "newest")
    #expect(try await policy(machine) == "newest")
    let line = try await machine.fail(2, "sync", "--policy", "client")
    let variable = try await machine.fail(2, "sync", settings: ["CKTOP_POLICY": "manual"])
    try await machine.succeed("sync")
    try await machine.succeed("sync", "--policy", "newest")
    #expect(try await policy(machine) == "newest")

    #expect(line.contains("'client'") && line.contains("'newest'") && line.contains("--set-policy"))
    #expect(variable.contains("CKTOP_POLICY") && variable.contains("'newest'"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a sync that names no policy stores the server's`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)

    try await machine.succeed("sync", "--types", "Task")

    #expect(try await policy(machine) == "server")
    withExtendedLifetime(cloud) {}
  }

  @Test func `the stored policy is replaced by name alone`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("sync", "--policy", "manual")

    try await machine.fail(2, "sync", "--set-policy")
    try await machine.succeed("sync", "--set-policy", "--policy", "client")

    #expect(try await policy(machine) == "client")
    try await machine.succeed("sync", "--policy", "client")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a verb that makes the store stores the policy that it names, and others ignore it`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)

    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=a", "--policy", "manual")
    #expect(try await policy(machine) == "manual")
    try await machine.succeed("records", "put", "--name", "t1", "title=b", "--policy", "client")
    try await machine.succeed("queue", "list", "--policy", "client")
    try await machine.succeed("queue", "list", settings: ["CKTOP_POLICY": "bogus"])
    try await machine.fail(2, "sync", settings: ["CKTOP_POLICY": "bogus"])

    #expect(try await policy(machine) == "manual")
    try await machine.fail(2, "sync", "--policy", "client")
    try await machine.succeed("sync")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a conflict goes by the stored policy without naming it again`() async throws {
    let cloud = try await Cloud()
    let (first, second) = (try Machine(cloud), try Machine(cloud))
    try await first.succeed("records", "put", "--type", "Task", "--name", "t1", "title=old")
    try await first.succeed("sync")
    try await second.succeed("sync", "--policy", "client")
    try await first.succeed("records", "put", "--name", "t1", "title=theirs")
    try await first.succeed("sync")
    try await second.succeed("records", "put", "--name", "t1", "title=mine")

    try await second.succeed("sync")
    try await first.succeed("sync")

    let record = try await first.succeed("records", "get", "t1", "--json").object()
    let title = (record["fields"] as? [String: [String: Any]])?["title"]?["value"] as? String
    #expect(title == "mine")
    withExtendedLifetime(cloud) {}
  }

  // MARK: - What waits for an app

  private final class App: SyncEngineDelegate {}

  /// An app on the machine's store that must see what is sent, and has synced once.
  private func syncApp(_ machine: Machine, _ cloud: Cloud) async throws {
    let url = try #require(URL(string: cloud.url))
    let scope = SyncStore.Scope(container: Machine.container, environment: "development", database: .private)
    let path = machine.folder.path("store.sqlite")
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Machine.container,
        environment: "development",
        credential: .webAuth(apiToken: "any-api-token", webAuthToken: "ana")
      ),
      transport: CKHTTPTransport(baseURL: url)
    )
    let configuration = SyncEngine.Configuration(client: client, policy: .client)
    let engine = SyncEngine(store: try SyncStore(path: path, scope: scope), configuration, delegate: App())
    _ = try await engine.syncOnce()
  }

  @Test func `changes wait for the app, and --without-app releases them`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await syncApp(machine, cloud)
    let settings = ["CKTOP_STORE": machine.folder.path("store.sqlite")]
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=a", settings: settings)

    let held = try await machine.run("sync", "--json", settings: settings)
    let row = try await machine.succeed("queue", "list", "--json", settings: settings).object()
    let released = try await machine.succeed("sync", "--without-app", "--json", settings: settings).object()

    #expect(held.status == 3)
    #expect(held.error.contains("1 change waits for the app") && held.error.contains("--without-app"))
    #expect(try held.object()["waitForApp"] as? Int == 1)
    #expect(try held.object()["sent"] as? Int == 0)
    #expect((row["reason"] as? String)?.hasPrefix("waits for the app") == true)
    #expect(row["state"] as? String == "pending")
    #expect(released["sent"] as? Int == 1)
    #expect(released["waitForApp"] as? Int == 0)

    // The app is asked again about the next.
    try await machine.succeed("records", "put", "--name", "t1", "title=b", settings: settings)
    #expect(try await machine.run("sync", settings: settings).status == 3)
    withExtendedLifetime(cloud) {}
  }
}
