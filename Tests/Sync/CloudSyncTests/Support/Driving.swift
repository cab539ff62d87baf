import Dispatch
import Testing

@testable import CloudSync

/// Waits until something is true of the store, looking after each write to it.
func eventually(_ store: SyncStore, _ condition: () throws -> Bool) async throws {
  let (writes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let watcher = try #require(StoreWatcher(store, queue: .global()) { continuation.yield() })
  defer { _ = watcher }
  if try condition() { return }
  for await _ in writes where try condition() { return }
}

/// Runs a driver for as long as `body` takes.
func whileDriving(_ device: TestDevice, _ body: () async throws -> Void) async throws {
  let driving = Task { try await device.engine.syncContinuously() }
  do {
    try await body()
  } catch {
    driving.cancel()
    throw error
  }
  driving.cancel()
  try await driving.value
}
