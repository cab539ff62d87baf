import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct WatchCommandTests {
  @Test(.timeLimit(.minutes(40)))
  func `a driver sends what others enqueue, serves their sync, and ends at SIGTERM`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
    let log = machine.folder.path("driver.log")
    let driver = try Child(Binary.cktop().path, ["sync", "--watch"], environment: machine.environment, error: log)
    try await machine.wait { $0["inSync"] as? Bool == true }

    try await machine.succeed("records", "put", "--type", "Task", "--name", "t2", "a=1")
    try await machine.wait { $0["inSync"] as? Bool == true }
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t3", "a=1")
    let sync = try await machine.succeed("sync", "--json").object()
    let status = try await machine.succeed("status", "--json").object()
    driver.send(SIGTERM)
    let end = await driver.end()

    #expect(sync["reachedEnd"] as? Bool == true)
    #expect(sync["queued"] as? Int == 0)
    let live = try #require((status["sync"] as? [String: Any])?["driver"] as? [String: Any])
    #expect(live["pid"] as? Int32 == driver.pid)
    #expect(live["live"] as? Bool == true)
    #expect(end == .exited(0))
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    #expect(lines.contains { $0.contains(" state in sync: ") })
    #expect(try cloud.items(of: "records/modify").reduce(0, +) == 3)
  }
}

extension Machine {
  /// Waits until what `status` says of syncing fulfils a condition; the test's time limit bounds it.
  fileprivate func wait(_ isTrue: ([String: Any]) -> Bool) async throws {
    while true {
      let status = try await run("status", "--json").object()
      if let sync = status["sync"] as? [String: Any], isTrue(sync) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
