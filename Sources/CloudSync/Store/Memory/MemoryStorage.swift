package import Dispatch
package import Foundation
import Synchronization

/// A store in memory, for tests, simulations and previews: the same contract as a file, gone with the process.
///
/// Stores over one `MemoryStorage` are what processes are over one file: they see each other's changes, one of them
/// drives, and what one leaves behind when it is let go is there for the next.
package final class MemoryStorage: QueueStorage {
  package let name: String
  private let gate = Mutex(())
  // Only whoever is in the gate touches it.
  private nonisolated(unsafe) let ledger = MemoryLedger()
  private let seat = DriverSeat()
  private let bell = MemoryBell()

  package init(name: String = "in memory") { self.name = name }

  /// Nowhere: what is in memory cannot keep files.
  package var assetFolder: URL? { nil }

  package func read<Value>(_ body: (any Ledger) throws -> Value) throws(StoreError) -> Value {
    var result: Result<Value, any Error>?
    gate.withLock { _ in
      result = Result { try body(ledger) }
      if ledger.hasChanges {
        ledger.rollBack()
        result = .failure(StoreError(.invalid, "a transaction that reads has tried to write"))
      }
    }
    return try value(result)
  }

  package func write<Value>(_ body: (any Ledger) throws -> Value) throws(StoreError) -> Value {
    var result: Result<Value, any Error>?
    gate.withLock { _ in
      result = Result { try body(ledger) }
      if case .success = result { ledger.commit() } else { ledger.rollBack() }
    }
    let value = try value(result)
    bell.ring()
    return value
  }

  private func value<Value>(_ result: Result<Value, any Error>?) throws(StoreError) -> Value {
    switch result {
    case .success(let value): return value
    case .failure(let error as StoreError): throw error
    case .failure(let error): throw StoreError(using: name, error)
    case nil: throw StoreError(.invalid, "the transaction has not run")
    }
  }

  /// Its transactions are over in no time.
  package func yields(after rows: Int) -> Bool { false }

  package func driverLock() -> any DriverLock { SeatLock(seat, bell) }

  package var isDriven: Bool { seat.isTaken }

  package func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void)
    -> (any StorageWatch)?
  {
    MemoryWatch(bell, queue: queue, changed: changed)
  }
}

/// The place that one driver at a time takes.
private final class DriverSeat: Sendable {
  private let state = Mutex(false)

  var isTaken: Bool { state.withLock { $0 } }

  func take() -> Bool {
    state.withLock { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
  }

  func leave() { state.withLock { $0 = false } }
}

private final class SeatLock: DriverLock {
  private let seat: DriverSeat
  private let bell: MemoryBell
  private let isHeld = Mutex(false)

  init(_ seat: DriverSeat, _ bell: MemoryBell) {
    self.seat = seat
    self.bell = bell
  }

  deinit { release() }

  func take() -> Bool {
    isHeld.withLock { isHeld in
      if !isHeld { isHeld = seat.take() }
      return isHeld
    }
  }

  func release() {
    let wasHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard wasHeld else { return }
    seat.leave()
    bell.ring()
  }
}

/// Tells all who watch.
private final class MemoryBell: Sendable {
  struct Listener: Sendable {
    var queue: DispatchQueue
    var changed: @Sendable () -> Void
  }

  private let listeners = Mutex<[ObjectIdentifier: Listener]>([:])

  func hang(_ id: ObjectIdentifier, _ listener: Listener?) { listeners.withLock { $0[id] = listener } }

  func ring() {
    let all = listeners.withLock { $0.isEmpty ? [] : Array($0.values) }
    for listener in all { listener.queue.async(execute: listener.changed) }
  }
}

private final class MemoryWatch: StorageWatch {
  private let bell: MemoryBell

  init(_ bell: MemoryBell, queue: DispatchQueue, changed: @escaping @Sendable () -> Void) {
    self.bell = bell
    bell.hang(ObjectIdentifier(self), MemoryBell.Listener(queue: queue, changed: changed))
  }

  deinit { bell.hang(ObjectIdentifier(self), nil) }
}
