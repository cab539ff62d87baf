import CloudKitSchema
import Foundation
import Synchronization

/// The whole state of an emulator at one moment: databases, schemas, users, subscriptions, push tokens and assets.
///
///     let beginning = try emulator.snapshot()
///     // … a test that changes everything …
///     try emulator.restore(beginning)
///
/// A snapshot of an emulator in memory shares its data until one of the two changes, and costs almost nothing. A
/// snapshot of an emulator with a data file is a copy of that file in the temporary directory, deleted with the last
/// reference to the snapshot.
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
      let file = try FileStore.copy(of: path)
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
        let file = try FileStore(path: draft)
        try core.world.write(into: file)
        try file.close()
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
        try core.world.store.replace(by: other.world)
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

extension World {
  /// Writes everything into an empty store, in commits like those of requests.
  func write(into store: any EmulatorStore) throws {
    for database in databases.values.sorted(by: { $0.key.path < $1.key.path }) {
      var commit = Commit(database: database.key, counter: database.counter, sequence: database.sequence)
      commit.changes = users.values.sorted().map { .userSeen(name: $0) }
      commit.changes += schemas[database.key.schema].map { [.schemaChanged($0)] } ?? []
      commit.changes += (subscriptions[database.key] ?? [:]).values.map { .subscribed($0) }
      commit.changes += (tokensByOwner[database.key] ?? []).compactMap { pushTokens[$0] }.map { .tokenMade($0) }
      commit.changes += database.deletedZones.map { .zoneDeleted(name: $0.key, sequence: $0.value) }
      commit.changes += database.zones.values.map { $0.isCustom ? .zoneCreated($0.row) : .zoneChanged($0.row) }
      try store.write(commit)
      for zone in database.zones.values { try write(zone, of: commit, into: store) }
    }
    for (id, time) in assets.kept {
      let size = self.store.size(ofAsset: id) ?? 0
      var bytes = Data()
      for number in 0..<AssetContent.pieces(of: size) where bytes.count < size {
        bytes += piece(number, ofAsset: id) ?? Data()
      }
      try store.write(AssetContent(bytes), asset: id, until: time)
    }
    try requireIntactReads()
  }

  private func write(_ zone: ZoneState, of commit: Commit, into store: any EmulatorStore) throws {
    var (reached, commit) = (Int64(0), commit)
    while true {
      let page = zone.records.changes(after: reached, limit: 1000)
      guard let last = page.last else { return }
      reached = last.sequence
      commit.changes = page.compactMap { change in
        zone.records[change.name].map { .saved(zone: zone.name, $0, over: nil) }
          ?? zone.records.tombstone(of: change.name).map { .buried(zone: zone.name, $0, over: nil) }
      }
      try store.write(commit)
    }
  }
}
