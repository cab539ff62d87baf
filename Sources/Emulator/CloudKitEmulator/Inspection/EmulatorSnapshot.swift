import CloudKitSchema
import Foundation
import Synchronization

/// The whole state of an emulator at one moment: databases, schemas, users, subscriptions, push tokens and assets.
///
///     let beginning = try emulator.snapshot()
///     // … a test that changes everything …
///     try emulator.restore(beginning)
///
/// A snapshot is a copy: of a hundred thousand records in about a tenth of a second. A small one stays in memory. A
/// large one is in a file without a name in the temporary directory, which is gone with the last reference to the
/// snapshot.
///
/// Faults, `isOffline`, `throttle` and statistics are not part of a snapshot.
public struct EmulatorSnapshot: Sendable {
  /// A core that is never changed. It is made of copies, which the compiler cannot check; reads are serialized.
  private final class Frozen: @unchecked Sendable {
    private let core: EmulatorCore
    private let turn = Mutex(())

    init(_ core: EmulatorCore) { self.core = core }

    func withCore(_ body: (EmulatorCore) throws -> Void) rethrows {
      try turn.withLock { _ in try body(core) }
    }
  }

  private let frozen: Frozen

  fileprivate init(_ core: EmulatorCore) { frozen = Frozen(core) }

  /// Reads a data file without changing it. The file may be one that `write` created.
  ///
  /// - Throws: `EmulatorFileError` if the file cannot be opened, is damaged, or is in use by an emulator; `CocoaError`
  ///   if it does not exist.
  public init(reading path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { throw CocoaError(.fileNoSuchFile) }
    do {
      let file = try EmulatorStore.copy(of: path)
      let core = EmulatorCore(configuration: EmulatorConfiguration(), store: file)
      try file.load(into: core.world)
      frozen = Frozen(core)
    } catch {
      throw EmulatorFileError(error)
    }
  }

  /// Creates a data file for `Emulator(path:)`. On failure no file is created.
  ///
  /// - Throws: An error if the file exists or cannot be written.
  public func write(to path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw CocoaError(.fileWriteFileExists) }
    let draft = "\(path).\(UUID().uuidString)"
    do {
      try withCore { core in
        try core.world.store.write(to: draft)
      }
      try FileManager.default.moveItem(atPath: draft, toPath: path)
    } catch {
      for path in [draft, draft + "-wal"] { try? FileManager.default.removeItem(atPath: path) }
      throw error
    }
  }

  fileprivate func withCore(_ body: (EmulatorCore) throws -> Void) rethrows {
    try frozen.withCore(body)
  }
}

extension Emulator {
  /// Returns a snapshot of the whole state.
  ///
  /// - Throws: An error if the data file cannot be copied.
  public func snapshot() throws -> EmulatorSnapshot {
    try core.withLock { core in
      let copy = EmulatorCore(configuration: configuration, store: try core.world.store.copy())
      copy.adopt(core)
      return EmulatorSnapshot(copy)
    }
  }

  /// Restores a snapshot of this or another emulator. Waiting long polls get an empty response. Earlier sync tokens are
  /// rejected, so that clients fetch everything again, because the changes they stand for may no longer exist.
  ///
  /// - Throws: An error if the data file cannot be written. In that case nothing has changed.
  public func restore(_ snapshot: EmulatorSnapshot) throws {
    try withCore { core in
      try snapshot.withCore { other in
        let counters = core.world.databases.mapValues(\.counter)
        try core.world.store.replace(by: other.world.store)
        core.releasePolls()
        core.adopt(other)
        try core.beginHistories(after: counters)
      }
    }
  }
}

extension EmulatorCore {
  /// Copies the state in memory of another core. The store already has the rest.
  fileprivate func adopt(_ other: EmulatorCore) {
    world = World(gate.configuration, world.store, copying: other.world)
    gate.lastTokens = other.gate.lastTokens
    push.adopt(other.push)
  }

  /// Changes the zone identities and advances the counters, so that earlier sync tokens are rejected and no change tag
  /// repeats with other content.
  fileprivate func beginHistories(after counters: [DatabaseKey: Int64]) throws(ServerError) {
    for key in Set(counters.keys).union(world.databases.keys).sorted(by: { $0.path < $1.path }) {
      let database = world.database(key)
      let counter = max(database.counter, counters[key] ?? 0) + 1
      let changes = database.zones.values.sorted { $0.name < $1.name }.map { zone in
        var row = zone.row
        row.identity = Derived.number("\(row.identity)/\(counter)")
        return Commit.Change.zoneChanged(row)
      }
      try commit(Commit(database: key, counter: counter, sequence: database.sequence + 1, changes: changes))
    }
  }
}
