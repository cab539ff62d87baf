import CloudKit
import CloudKitEmulator
import Dispatch
import Foundation
import NIOPosix
import TestSupport
import Testing

@testable import CloudKitEmulatorTransport

/// Which requests wait for a thread of the pool, shown by a pool whose only thread is busy.
@Suite struct TransportThreadTests {
  private static let request = CKTransportRequest(
    method: "GET",
    path: "/database/1/iCloud.test/development/private/zones/list",
    query: Fixture.ana
  )

  @Test func `an emulator in memory answers without a thread of the pool`() async throws {
    let emulator = try Emulator()

    try await withBusyPool { pool, release in
      var transport = EmulatorTransport(emulator, now: { Fixture.start })
      transport.pool = pool

      let answer = try await transport.send(Self.request)
      #expect(answer.status == 200)
      release()
    }
  }

  @Test func `a request to a data file that is cancelled before its turn has no effect`() async throws {
    try await withTemporaryDirectory { folder in
      let emulator = try Emulator(path: folder.appending(path: "data.sqlite").path)

      try await withBusyPool { pool, release in
        var transport = EmulatorTransport(emulator, now: { Fixture.start })
        transport.pool = pool
        // Runs at once until it waits for the thread.
        let sending = Task.immediate { [transport] in try await transport.send(Self.request) }
        sending.cancel()
        release()

        let error = await #expect(throws: CKTransportError.self) { try await sending.value }
        #expect(error?.delivery == .cancelled)
        #expect(emulator.statistics.requests == 0)
        let answer = try await transport.send(Self.request)
        #expect(answer.status == 200)
      }
    }
  }

  private func withBusyPool(_ body: (NIOThreadPool, () -> Void) async throws -> Void) async throws {
    let pool = NIOThreadPool(numberOfThreads: 1)
    let end = DispatchSemaphore(value: 0)
    pool.start()
    pool.submit { _ in end.wait() }
    do {
      try await body(pool) { end.signal() }
    } catch {
      Issue.record(error)
      end.signal()
    }
    try await pool.shutdownGracefully()
  }
}
