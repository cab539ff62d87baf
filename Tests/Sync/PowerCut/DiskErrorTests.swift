import CPowerCut
import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// A disk that fails: what it costs, and that the work goes on when it is over.
///
/// `SEEDS=1000 swift test --filter DiskError` fails a thousand calls of each kind one by one.
@Suite(.serialized) struct DiskErrorTests {
  private static let calls: [(call: powercut_call, error: Int32)] = [
    (POWERCUT_WRITE, powercut_error_write), (POWERCUT_WRITE, powercut_error_full), (POWERCUT_SYNC, powercut_error_sync),
    (POWERCUT_READ, powercut_error_read),
  ]

  private static var count: Int { ProcessInfo.processInfo.environment["SEEDS"].flatMap { Int($0) } ?? 12 }

  @Test(arguments: calls.indices, [1, 3])
  func `a call that fails costs what it was made for, and nothing that was accepted`(_ index: Int, times: Int)
    async throws
  {
    let (call, error) = Self.calls[index]
    for number in 0..<Self.count {
      let disk = try Disk()
      let script = try Script(seed: 7, disk: disk)
      disk.fail(Disk.Failure(call: call, error: error, after: number * 3, times: times))

      let errors = try await script.run(steps: 15, insists: true)

      for error in errors { #expect(error.isTransient, "call \(number * 3): \(error)") }
      #expect(try await script.loss() == nil, "call \(number * 3)")
    }
  }

  @Test(.timeLimit(.minutes(40)))
  func `a driver goes on by itself when the disk does`() async throws {
    let disk = try Disk()
    let script = try Script(seed: 1, disk: disk)
    try script.enqueueOne()
    disk.fail(Disk.Failure(call: POWERCUT_WRITE, error: powercut_error_write, times: 1))

    let hasEnded = Mutex(false)
    let driving = Task { [engine = script.engine] in
      defer { hasEnded.withLock { $0 = true } }
      try await engine.syncContinuously()
    }
    while try script.store.status().queue.total > 0, !hasEnded.withLock(\.self) { await Task.yield() }
    driving.cancel()
    try await driving.value

    #expect(disk.struck == 1)
    #expect(try await script.loss() == nil)
  }
}
