import CloudKit
import CloudSync
import Dashboard
import Foundation
import TestSupport
import Testing

@testable import cktop

/// Which rows the lists of the command line print, and in which order.
@Suite(.serialized) struct ListCommandTests {
  private func names(_ machine: Machine, _ arguments: [String]) async throws -> [String] {
    try await machine.succeeding(arguments + ["--json"]).objects().compactMap { $0["recordName"] as? String }
  }

  private func machine(_ cloud: Cloud) async throws -> Machine {
    let machine = try Machine(cloud)
    for (name, type, count) in [("a", "Task", "3"), ("b", "Task", "10"), ("c", "Note", "7"), ("d", "Task", "5")] {
      try await machine.succeed("records", "put", "--type", type, "--name", name, "count=\(count)")
    }
    return machine
  }

  @Test func `records are selected, ordered and limited as on the screen`() async throws {
    let cloud = try await Cloud()
    let machine = try await machine(cloud)
    let expected: [([String], [String])] = [
      ([], ["a", "b", "c", "d"]), (["--where", "count >= 5"], ["b", "c", "d"]),
      (["--sort", "count"], ["a", "d", "c", "b"]), (["--sort", "count desc", "--limit", "2"], ["b", "c"]),
      (["--where", "count > 3", "--sort", "count", "--type", "Task"], ["d", "b"]),
      (["--sort", "newest", "--limit", "1"], ["d"]),
      // A field beside the record's own value of that name.
      (["--where", "fields.count >= 5"], ["b", "c", "d"]), (["--where", "fields.name is not null"], []),
      (["--where", "name is not null"], ["a", "b", "c", "d"]),
      (["--sort", "fields.count desc", "--limit", "1"], ["b"]),
    ]
    for verb in ["list", "export"] {
      for (options, wanted) in expected {
        #expect(try await names(machine, ["records", verb] + options) == wanted, "\(verb) \(options)")
      }
    }
    #expect(try await machine.run("records", "list", "--where", "count >").status == 2)
    try await machine.fail(2, "records", "list", "--sort", "count dsc")
    try await machine.fail(2, "records", "list", "--sort", "count", "--mirror")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a field that no record has is noted, one that has other values is not`() async throws {
    let cloud = try await Cloud()
    let machine = try await machine(cloud)
    for (options, field) in [
      (["--where", "nofield = 3"], "nofield"), (["--sort", "nofield"], "nofield"), (["--where", "count > 99"], nil),
      (["--where", "count > 3", "--sort", "count"], nil), (["--where", "name = 'nobody'"], nil),
    ] {
      let end = try await machine.running(["records", "list"] + options)
      #expect(end.status == 0 && end.error.contains("'\(field ?? "")'") == (field != nil), "\(options): \(end.error)")
      #expect(end.error.contains("count") == (field != nil))
    }
    #expect(try await machine.fail(2, "queue", "list", "--where", "state = 'foo'").contains("'foo'"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `an export of nothing leaves no file`() throws {
    let folder = try TemporaryFolder()
    let scope = SyncStore.Scope(container: Machine.container, environment: "development", database: .public)
    let reader = StoreReader(try SyncStore(path: folder.path("store"), scope: scope), Redaction())
    func files() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: ".").filter { $0.hasSuffix(".ndjson") })
    }
    let before = try files()

    let exports: [Export] = [.allOperations(QueueListing(), except: []), .operations([]), .records([]), .events([])]
    for export in exports {
      #expect(try ExportFile.write(export, reader) { _, _ in }.hasPrefix("Nothing was exported"))
    }

    #expect(try files() == before)
  }

  @Test func `operations are ordered by age or state, and limited`() async throws {
    let cloud = try await Cloud()
    let machine = try await machine(cloud)
    try await machine.succeed("queue", "pause", "1")
    let expected: [([String], [String])] = [
      ([], ["a", "b", "c", "d"]), (["--sort", "newest"], ["d", "c", "b", "a"]),
      (["--sort", "state"], ["b", "c", "d", "a"]), (["--sort", "newest", "--limit", "2"], ["d", "c"]),
      (["--where", "type = 'Task'", "--limit", "2"], ["a", "b"]),
    ]
    for (options, wanted) in expected {
      #expect(try await names(machine, ["queue", "list"] + options) == wanted, "\(options)")
    }
    let exported = try await machine.succeeding(["queue", "export", "--sort", "newest", "--limit", "1"]).objects()
    #expect(exported.map { $0["recordName"] as? String } == ["d"])
    try await machine.fail(2, "queue", "list", "--sort", "size")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a list without rows prints its titles once, or no JSON`() async throws {
    let cloud = try await Cloud()
    let machine = try await machine(cloud)
    let table = try await machine.succeeding(["queue", "list", "--where", "type = 'None'"])
    #expect(table.output.split(separator: "\n").count == 1)
    #expect(try await names(machine, ["queue", "list", "--where", "type = 'None'"]).isEmpty)
    withExtendedLifetime(cloud) {}
  }
}
