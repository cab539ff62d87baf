import CloudKit
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudSync
@testable import cktop

/// The dashboard on a configured store, in a real terminal: it looks, and does what it is asked in the order of the keys.
@Suite(.serialized) struct DashboardEndToEndTests {
  /// A dashboard of a machine, in a terminal.
  private final class Desktop {
    let terminal: Tmux
    let machine: Machine
    /// How often the program was started.
    private var starts = 0

    init(_ machine: Machine, _ arguments: String = "", columns: Int = 100) async throws {
      self.machine = machine
      terminal = try await Tmux(columns: columns, rows: 30, environment: machine.environment)
      try await open(arguments)
    }

    func open(_ arguments: String = "") async throws {
      try await run("'\(Binary.cktop().path)' \(arguments)")
    }

    func run(_ command: String) async throws {
      starts += 1
      try await terminal.run("\(command); echo \(starts) left with $?")
    }

    /// Waits for the end of the program, and returns the screen with what it said.
    @discardableResult
    func end(with status: Int) async throws -> String {
      let said = "\n\(starts) left with "
      let screen = try await terminal.screen { "\n\($0)".contains(said) }
      #expect(screen.contains("\(starts) left with \(status)\n"), "\(screen)")
      return screen
    }

    func sync() async throws -> [String: Any] {
      let status = try await machine.run("status", "--json").object()
      return try #require(status["sync"] as? [String: Any])
    }

    /// Waits for something that another process shows; the test's time limit bounds it.
    func wait(_ isTrue: ([String: Any]) -> Bool) async throws {
      while try await !isTrue(sync()) {}
    }
  }

  private static func store(of machine: Machine) throws -> String {
    machine.folder.path("state/cktop/\(Machine.container).development.private.sqlite")
  }

  private static func files(of machine: Machine) throws -> [String: Data] {
    let folder = machine.folder.url.appending(path: "state/cktop")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    // SQLite keeps these two while a store is open.
    let kept = names.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    return Dictionary(
      uniqueKeysWithValues: try kept.map { ($0, try Data(contentsOf: folder.appending(path: $0))) }
    )
  }

  private static func isLive(_ sync: [String: Any]) -> Bool {
    (sync["driver"] as? [String: Any])?["live"] as? Bool == true
  }

  @Test(.timeLimit(.minutes(40)))
  func `opening and quitting changes no byte of the store and sends no request`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t2", "a=1")
    let (files, requests) = (try Self.files(of: machine), try cloud.log().count)

    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("t2") && $0.contains("not syncing") && $0.contains("s sync once") }
    try await desktop.terminal.type("Tab", "Enter", "q", "q")
    try await desktop.end(with: 0)

    #expect(try Self.files(of: machine) == files)
    #expect(try cloud.log().count == requests)
    let status = try await machine.run("status", "--json").object()
    #expect((status["queue"] as? [String: Any])?["pending"] as? Int == 1)
  }

  @Test(.timeLimit(.minutes(40)))
  func `pausing and quitting in one breath is never lost`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }
    for round in 1...4 {
      if round > 1 { try await desktop.open() }
      try await desktop.terminal.screen { $0.contains("t1") && $0.contains("3 Queue") }
      // Pausing everything asks, and resuming it does not. A question is not answered by keys of the reading that
      // opens it.
      if round % 2 == 1 {
        try await desktop.terminal.type("p")
        try await desktop.terminal.screen { $0.contains("Pause everything?") }
      }
      try await desktop.terminal.type(round % 2 == 1 ? "yq" : "pq")
      try await desktop.end(with: 0)

      #expect(try await desktop.sync()["state"] as? String == (round % 2 == 1 ? "paused" : "idle"))
    }
    let store = try SyncStore(
      path: Self.store(of: machine),
      scope: SyncStore.Scope(container: Machine.container, environment: "development", database: .private)
    )
    var listing = EventListing()
    listing.filter = try ListFilter.parse("kind = 'command'", of: .events).get()
    let commands = try store.view { try $0.events(listing, limit: 9) }.map { event in
      if case .command(let command, _) = event.event { command.name } else { "" }
    }
    #expect(commands == ["resumeRules", "pauseRules", "resumeRules", "pauseRules"])
  }

  @Test(.timeLimit(.minutes(40)))
  func `a retry of all under a filter says how many and touches nothing else`() async throws {
    let names = ["red-1", "red-2", "blue-1"]
    let rules = names.map { name in
      """
      [[rules]]
      when = { operation = "records/modify", recordName = "\(name)" }
      then = "poison"

      """
    }
    let cloud = try await Cloud(faults: rules.joined())
    let machine = try Machine(cloud)
    for name in names {
      try await machine.succeed("records", "put", "--type", "Task", "--name", name, "a=1")
    }
    #expect(try await machine.run("sync").status == 1)
    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("3 failed") && $0.contains("blue-1") }
    try await desktop.terminal.type("/", "red", "Enter")
    try await desktop.terminal.screen { $0.contains("/red") && !$0.contains("Task/blue-1") }

    try await desktop.terminal.type("R")
    try await desktop.terminal.screen { $0.contains("Retry 2 failed or retrying changes") }
    try await desktop.terminal.type("Escape")
    try await desktop.terminal.screen { !$0.contains("Retry 2 failed") }
    try await desktop.terminal.type("R")
    try await desktop.terminal.screen { $0.contains("Retry 2 failed or retrying changes") }
    try await desktop.terminal.type("yq")
    try await desktop.end(with: 0)

    let rows = try await machine.succeed("queue", "list", "--json").objects()
    let states = rows.map { "\($0["recordName"] ?? "") \($0["state"] ?? "")" }
    #expect(states == ["red-1 pending", "red-2 pending", "blue-1 failed"])
  }

  @Test(.timeLimit(.minutes(40)))
  func `keys typed right after a filter act on the rows that it shows`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])
    for name in ["red", "blue"] {
      try await machine.succeed("records", "put", "--type", "Task", "--name", name, "a=1", "--database", "private")
    }
    let desktop = try await Desktop(machine, "--database private")
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("red") && $0.contains("blue") }
    // In one read: the rows of the filter come long after the last key.
    try await desktop.terminal.type("/blue\rPq")
    try await desktop.end(with: 0)

    let rows = try await machine.succeed("queue", "list", "--json", "--database", "private").objects()
    #expect(rows.map { $0["state"] as? String } == ["pending", "paused"])
  }

  @Test(.timeLimit(.minutes(40)))
  func `a store is made by a sync that is asked for, and syncing goes on until it is left`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("There is no store yet") && $0.contains("s sync once") }
    #expect(try !FileManager.default.fileExists(atPath: Self.store(of: machine)))
    #expect(try cloud.log().isEmpty)
    // In the verdict and, for the key, in the footer.
    try await desktop.terminal.screen(typing: "p") { $0.matches(of: /There is no store/).count == 2 }

    try await desktop.terminal.type("s")
    try await desktop.terminal.screen { $0.contains("in sync") }
    try await desktop.terminal.message("Synced: 0 sent, 0 fetched")
    #expect(try await !Self.isLive(desktop.sync()))
    try await desktop.terminal.type("S")
    try await desktop.wait(Self.isLive)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    try await desktop.wait { $0["inSync"] as? Bool == true }
    #expect(try cloud.items(of: "records/modify") == [1])

    try await desktop.terminal.type("C-z")
    try await desktop.end(with: 148)
    #expect(try await !Self.isLive(desktop.sync()))
    try await desktop.run("fg")
    try await desktop.wait(Self.isLive)
    try await desktop.terminal.type("S")
    try await desktop.wait { !Self.isLive($0) }
    try await desktop.terminal.screen { $0.contains("No process is syncing") }
    try await desktop.terminal.type("S")
    try await desktop.wait(Self.isLive)
    try await desktop.terminal.type("q")
    try await desktop.end(with: 0)
    #expect(try await !Self.isLive(desktop.sync()))
  }

  @Test(.timeLimit(.minutes(40)))
  func `a dashboard that is to sync follows the process that syncs already`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let desktop = try await Desktop(machine, "--sync")
    defer { desktop.terminal.close() }
    try await desktop.wait(Self.isLive)
    let first = try #require((try await desktop.sync()["driver"] as? [String: Any])?["pid"] as? Int)
    let second = try await Desktop(machine, "--sync")
    defer { second.terminal.close() }
    try await second.terminal.screen { $0.contains("Synced by PID \(first); this dashboard takes over") }
    try await desktop.terminal.type("q")
    try await desktop.end(with: 0)

    try await second.wait { Self.isLive($0) && ($0["driver"] as? [String: Any])?["pid"] as? Int != first }
    try await second.terminal.type("q")
    try await second.end(with: 0)
  }

  @Test(.timeLimit(.minutes(40)))
  func `a sync that quitting cuts short is said to be unfinished`() async throws {
    let silence = """
      [[rules]]
      when = { operation = "users/caller" }
      then = { action = "delay", milliseconds = 600000 }
      """
    let cloud = try await Cloud(faults: silence)
    let folder = try TemporaryFolder()
    let machine = try Machine(cloud, ["CKTOP_STORE": folder.path("named.sqlite")])
    try await machine.succeed("records", "put", "--type", "Task", "a=1")
    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("not syncing") }
    try await desktop.terminal.type("s")
    try await desktop.wait(Self.isLive)
    try await desktop.terminal.type("q")
    try await desktop.terminal.screen { $0.contains("Stop syncing and quit?") }
    try await desktop.terminal.type("y")

    #expect(try await desktop.end(with: 0).contains("cktop: the sync was stopped before it finished"))
    #expect(try await !Self.isLive(desktop.sync()))
  }

  @Test(.timeLimit(.minutes(40)))
  func `what cannot be done is refused with the way to do it`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])
    let desktop = try await Desktop(machine, "--database private", columns: 160)
    defer { desktop.terminal.close() }
    try await desktop.terminal.screen { $0.contains("There is no store yet") }
    // Messages do not keep a refusal: the key is pressed again until it is seen.
    try await desktop.terminal.screen(typing: "s") { $0.contains("No credential is configured") }
    try await desktop.terminal.type("q")
    try await desktop.end(with: 0)
    try await desktop.open("--database private --sync")
    #expect(try await desktop.end(with: 3).contains("no credential is configured"))
    try await desktop.open("--read-only --sync")
    #expect(try await desktop.end(with: 2).contains("read-only"))

    try await desktop.open("--read-only")
    try await desktop.terminal.screen { $0.contains("There is no store yet") }
    for key in ["s", "S", "p"] {
      try await desktop.terminal.screen(typing: key) { $0.contains("Not allowed in read-only mode") }
      // Another message takes its place, so that it does not pass for that of the next key.
      try await desktop.terminal.screen(typing: "&") { $0.contains("& means nothing here") }
    }
    try await desktop.terminal.type("q")
    try await desktop.end(with: 0)
    #expect(try !FileManager.default.fileExists(atPath: Self.store(of: machine)))
  }

  @Test(.timeLimit(.minutes(40)))
  func `a store of another version is left as it is`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "a=1")
    let path = try Self.store(of: machine)
    let scope = SyncStore.Scope(container: Machine.container, environment: "development", database: .private)
    try SyncStore(path: path, scope: scope).write { ledger in
      try ledger.run("UPDATE grdb_migrations SET identifier = '35'")
    }
    let files = try Self.files(of: machine)
    let desktop = try await Desktop(machine)
    defer { desktop.terminal.close() }

    try await desktop.terminal.screen { $0.contains("unreadable") && $0.contains("another version") }
    try await desktop.terminal.type("q")
    try await desktop.end(with: 0)
    #expect(try Self.files(of: machine) == files)
  }
}
