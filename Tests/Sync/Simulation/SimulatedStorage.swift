import Dispatch
import Facts
import Foundation
import Synchronization

@testable import CloudSync

/// A process's way to its storage, which ends with the process: at one of its writes, before or after it is durable.
///
/// What a dead process still tries, it tries in vain; the storage below lives on.
final class SimulatedStorage: QueueStorage {
  private struct State {
    var writesLeft = Int.max
    var diesAfterwards = false
    var isDead = false
  }

  let inner: any QueueStorage
  private let isWaitedFor: Bool
  private let state = Mutex(State())

  /// - Parameter isWaitedFor: whether somebody always waits to write, so that transactions are as short as can be.
  init(_ inner: any QueueStorage, isWaitedFor: Bool) {
    self.inner = inner
    self.isWaitedFor = isWaitedFor
  }

  var isDead: Bool { state.withLock(\.isDead) }

  /// Lets the process die at its write of that number from now, 1 being the next; nil: not at all.
  func die(atWrite number: Int?, afterwards: Bool = false) {
    state.withLock {
      $0.writesLeft = number ?? .max
      $0.diesAfterwards = afterwards
    }
  }

  /// Ends the process now.
  func die() { state.withLock { $0.isDead = true } }

  private static let death = StoreError(.fenced, "the process is dead")

  var name: String { inner.name }
  var isReadOnly: Bool { inner.isReadOnly }
  var assetFolder: URL? { inner.assetFolder }
  var identity: FileIdentity? { inner.identity }
  func yields(after rows: Int) -> Bool { isWaitedFor && rows >= 2 }
  func letOthersWrite() {}
  func holder(among fencingTokens: ClosedRange<Int64>) -> Int64? { inner.holder(among: fencingTokens) }
  var trouble: StorageTrouble? { inner.trouble }
  var isAwaited: Bool { inner.isAwaited }
  func checkContents() throws(StoreError) { try inner.checkContents() }

  func engineLock() -> any EngineLock { inner.engineLock() }

  func requireInPlace() throws(StoreError) { try inner.requireInPlace() }

  func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void) -> (any StorageWatch)? {
    inner.watch(on: queue, locks: locks, changed)
  }

  func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    guard !isDead else { throw Self.death }
    return try inner.read(body)
  }

  func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    let (isLast, isDead) = state.withLock { state in
      if state.writesLeft != .max { state.writesLeft -= 1 }
      let isLast = state.writesLeft == 0
      let isDead = state.isDead || (isLast && !state.diesAfterwards)
      if isLast { state.isDead = true }
      return (isLast, isDead)
    }
    guard !isDead else { throw Self.death }
    let value = try inner.write(body)
    if isLast { throw Self.death }
    return value
  }
}
