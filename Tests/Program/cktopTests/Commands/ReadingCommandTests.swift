import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// What verbs that only look, and verbs that command a queue, do to the store's file.
@Suite(.serialized) struct ReadingCommandTests {
  /// Verbs that read a store. They fail where there is none.
  static let reading = [
    ["queue", "list"], ["queue", "show", "1"], ["queue", "export"], ["conflicts", "list"], ["conflicts", "show", "1"],
    ["conflicts", "dropped"], ["records", "list"], ["records", "get", "t1"], ["records", "query", "Task"],
    ["records", "export"], ["zones", "list"], ["status", "--at", "02:47"], ["verify"],
    ["queue", "discard", "--all", "--dry-run"],
    ["conflicts", "resolve", "1", "--take", "local", "--dry-run"], ["zones", "accept", "cktop", "--dry-run"],
  ]
  /// Verbs that change what is queued, and do not make a store.
  static let commanding = [
    ["queue", "retry", "--all"], ["queue", "discard", "--all", "--yes"], ["queue", "pause", "--all"],
    ["queue", "resume", "--all"], ["queue", "flush"], ["conflicts", "resolve", "1", "--take", "local"],
    ["queue", "edit", "1", "a=2"], ["conflicts", "undo", "1"], ["conflicts", "dropped", "--seen"],
    ["zones", "accept", "cktop", "--yes"],
    ["zones", "restore", "cktop", "--yes"],
    ["zones", "delete", "cktop", "--yes"],
  ]

  /// Every file beside the store with its bytes, but for the token that the server replaces.
  private func files(_ folder: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasSuffix(".token") {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    return files
  }

  @Test func `a verb that only looks leaves every file of the store as it was`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let folder = machine.folder.path("stores")
    let store = ["CKTOP_STORE": "\(folder)/s.sqlite"]
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1", settings: store)
    try await machine.succeed("sync", settings: store)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t2", "a=1", settings: store)
    let before = try files(folder)

    for verb in Self.reading + [["status"], ["account"], ["records", "list", "--remote"]] {
      for arguments in [verb, verb + ["--read-only"]] {
        _ = try await machine.running(arguments, settings: store)
        #expect(try files(folder) == before, "\(arguments)")
      }
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `a store about which the system says nothing is unusable for every verb, not missing`() async throws {
    let machine = try Machine([
      "CLOUDKIT_URL": "http://127.0.0.1:1", "CLOUDKIT_API_TOKEN": "any", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
    ])
    let loop = machine.folder.path("loop")
    try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
    let path = "\(loop)/store.sqlite"
    let store = ["CKTOP_STORE": path]
    let named = store.merging(["CLOUDKIT_CONTAINER": Machine.container]) { $1 }
    let status = ["", "--json", "--oneline", "--prometheus"].map { $0.isEmpty ? ["status"] : ["status", $0] }
    let making = [["sync"], ["records", "put", "--type", "Task", "a=1"]]

    for verb in Self.reading + Self.commanding + status + making {
      #expect(try await machine.failing(4, verb, settings: named).contains(path), "\(verb)")
    }
    // The container, too, is in the store alone.
    for verb in status + making {
      #expect(try await machine.failing(4, verb, settings: store).contains(path), "\(verb)")
    }
  }

  private static let alarms = [
    ["status", "--max-age", "15m"], ["status", "--json", "--max-age", "15m"], ["status", "--prometheus"],
  ]

  @Test func `a store that a setting names and that is missing is an alarm and has no metrics`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])
    for arguments in Self.alarms { _ = try await machine.succeeding(arguments) }
    let store = ["CKTOP_STORE": machine.folder.path("s.sqlite")]
    for form in [[], ["--oneline"], ["--json"]] {
      let status = try await machine.succeeding(["status"] + form, settings: store).output
      #expect(status.contains("There is no store at") && status.contains("s.sqlite; the first sync"))
    }

    for arguments in Self.alarms {
      #expect(try await machine.failing(4, arguments, settings: store).contains("s.sqlite"))
      #expect(try await machine.running(arguments, settings: store).output.isEmpty)
    }
  }

  @Test func `a store that is gone from its usual place is an alarm as long as files of it are left`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let path = try #require(try await machine.run("status", "--json").object()["store"] as? String)
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }

    for arguments in Self.alarms {
      #expect(try await machine.failing(4, arguments).contains("\(path).driver"), "\(arguments)")
    }
    try FileManager.default.removeItem(atPath: path + ".driver")
    for arguments in Self.alarms { _ = try await machine.succeeding(arguments) }
    withExtendedLifetime(cloud) {}
  }

  @Test func `a store of another version is refused by every verb and left as it was`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let path = machine.folder.path("old.sqlite")
    let store = ["CKTOP_STORE": path]
    try await machine.succeed("sync", settings: store)
    do { try SQLiteStorage(path: path).write { try $0.run("UPDATE grdb_migrations SET identifier = '35'") } }
    let before = try Data(contentsOf: URL(fileURLWithPath: path))

    for verb in Self.reading + Self.commanding + [["status"], ["sync"]] {
      #expect(try await machine.failing(4, verb, settings: store).contains("schema 35"), "\(verb)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    withExtendedLifetime(cloud) {}
  }
}
