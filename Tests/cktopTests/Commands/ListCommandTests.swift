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
