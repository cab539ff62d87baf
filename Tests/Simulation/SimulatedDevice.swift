import CloudKit
import CloudKitEmulator
import Foundation
import GRDB
import Synchronization

@testable import CloudSync

/// One device of a simulation: a store that outlives crashes, and whichever engine drives it just now.
final class SimulatedDevice {
  let name: String
  /// The field that only this device writes.
  var field: String { name.replacing("-", with: "_") }
  let wire: SimulatedWire
  private(set) var store: SyncStore
  private var engine: SyncEngine
  private let make: (@escaping @Sendable () -> Void) throws -> (SyncStore, SyncEngine)
  private let death = Death()

  /// The last value of its own field that this device wrote to each record, where nothing has been discarded.
  var written: [String: Int64] = [:]

  init(
    _ name: String,
    wire: SimulatedWire,
    make: @escaping (@escaping @Sendable () -> Void) throws -> (SyncStore, SyncEngine)
  ) throws {
    self.name = name
    self.wire = wire
    self.make = make
    let death = death
    (store, engine) = try make { death.tick() }
  }

  /// One pass; `nil` where the device died before `deadlyWrite`, and was started again.
  func pass(types: [String], deadlyWrite: Int?) async throws -> PassSummary? {
    guard let deadlyWrite else { return try await engine.syncOnce(types: types) }
    guard let lease = try Lease.acquire(store) else { return nil }
    death.come(atWrite: deadlyWrite, path: store.path)
    do {
      _ = try store.recoverInFlight(lease)
      let summary = try await engine.pass(lease, types: types)
      death.forget()
      lease.release(store)
      return summary
    } catch let error as StoreError where error.kind == .fenced {
      lease.release(store)
      try restart()
      return nil
    }
  }

  /// A new process: nothing but the file remains.
  func restart() throws {
    death.forget()
    let death = death
    (store, engine) = try make { death.tick() }
  }

  /// Every record of the mirror as text.
  func mirror() throws -> [String] {
    try store.records(mirrorOnly: true).rows.map { row in
      let fields = row.record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }
      return "\(row.record.key.name) [\(row.record.changeTag)] \(fields.joined(separator: " "))"
    }.sorted()
  }

  func count(_ sql: String) throws -> Int {
    guard let file = store.storage as? SQLiteStorage else { return 0 }
    return try file.pool.read { try Int.fetchOne($0, sql: sql) ?? 0 }
  }
}

/// Ends the driver's right to write at one of its writes: to its work that is the same as the death of its process.
private final class Death: Sendable {
  private let state = Mutex<(left: Int, path: String)>((0, ""))

  func come(atWrite number: Int, path: String) { state.withLock { $0 = (number, path) } }

  func forget() { state.withLock { $0.left = 0 } }

  func tick() {
    let path: String? = state.withLock { state in
      state.left -= 1
      return state.left == 0 ? state.path : nil
    }
    guard let path else { return }
    // Another connection, since the driver's own may be in the middle of something.
    guard let queue = try? DatabaseQueue(path: path) else { return }
    try? queue.write { try $0.execute(sql: "UPDATE lease SET fence = fence + 1, expiresAt = NULL") }
  }
}

extension FieldValue {
  var text: String {
    switch self {
    case .int64(let number): "\(number)"
    case .string(let text): "'\(text)'"
    case .reference(let reference): "->\(reference.recordName)"
    default: "?"
    }
  }
}

extension EmulatorValue {
  var text: String {
    switch self {
    case .int64(let number): "\(number)"
    case .string(let text): "'\(text)'"
    case .reference(let reference): "->\(reference.recordName)"
    default: "?"
    }
  }
}
