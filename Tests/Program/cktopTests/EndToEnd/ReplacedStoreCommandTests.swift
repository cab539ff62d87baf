import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct ReplacedStoreCommandTests {
  @Test(
    .timeLimit(.minutes(40)),
    arguments: ["rm \"$0\"", "cp \"$0\" \"$0.new\" && mv \"$0.new\" \"$0\"", "rm \"$0.driver\""]
  )
  func `a watching sync ends with 4 when its store goes, and status calls no dead process live`(_ script: String)
    async throws
  {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, ["CKTOP_STORE": "store.sqlite"])
    let store = machine.folder.path("store.sqlite")
    let machineStore = ["CKTOP_STORE": store]
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1", settings: machineStore)
    let log = machine.folder.path("driver.log")
    let watching = try Child(
      Binary.cktop().path,
      ["sync", "--watch"],
      environment: machine.environment.merging(machineStore) { $1 },
      error: log
    )
    while true {
      let status = try await machine.run("status", "--json", settings: machineStore).object()
      if (status["sync"] as? [String: Any])?["inSync"] as? Bool == true { break }
    }

    let change = try Child("/bin/sh", ["-c", script, store], environment: machine.environment)
    await change.end()
    let end = await watching.end()

    #expect(end == .exited(4))
    let complaints = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("cktop: ") }
    #expect(complaints.count == 1 && complaints.first?.contains("was deleted or replaced") == true)
    if !script.contains(".driver") {
      // What had not reached the file yet is named, not lost.
      let log = store + "-wal.replaced"
      #expect(FileManager.default.fileExists(atPath: log) && complaints.first?.contains(log) == true)
    }
    let status = try await machine.run("status", "--json", settings: machineStore).object()
    let driver = (status["sync"] as? [String: Any])?["driver"] as? [String: Any]
    #expect(driver?["live"] as? Bool != true)
  }

  @Test(.timeLimit(.minutes(40)))
  func `a store that was deleted under another process is not made again beside its log`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud, [:])
    let store = machine.folder.path("store.sqlite")
    let settings = ["CKTOP_STORE": store]
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1", settings: settings)
    let watching = try Child(
      Binary.cktop().path,
      ["sync", "--watch"],
      environment: machine.environment.merging(settings) { $1 }
    )
    while true {
      let status = try await machine.run("status", "--json", settings: settings).object()
      if (status["sync"] as? [String: Any])?["inSync"] as? Bool == true { break }
    }
    await watching.stop()
    try FileManager.default.removeItem(atPath: store)

    for verb in [["sync"], ["status"], ["queue", "list"], ["sync"]] {
      let line = try await machine.failing(4, verb, settings: settings)
      #expect(line.contains("was deleted") && line.contains("\(store)-wal"), "\(verb)")
    }
    #expect(!FileManager.default.fileExists(atPath: store))
    let log = try FileManager.default.attributesOfItem(atPath: store + "-wal")[.size] as? Int
    #expect(log ?? 0 > 0)
    watching.send(SIGCONT)
    #expect(await watching.end() == .exited(4))
    try await machine.succeed("sync", settings: settings)
    withExtendedLifetime(cloud) {}
  }
}
