import Foundation
import Synchronization

/// All that an emulator holds at one moment: databases, schemas, users, subscriptions, push tokens and assets.
///
///     let beginning = try emulator.snapshot()
///     // … a test that changes everything …
///     try emulator.restore(beginning)
///
/// A snapshot of an emulator in memory shares what it holds until one of the two changes, and costs next to nothing. One
/// of an emulator with a file is a copy of that file in the temporary directory, deleted with its last owner.
///
/// What the emulator does is no part of it: faults, `isOffline`, `throttle`, and what has been counted.
public struct EmulatorSnapshot: Sendable {
  /// A core that nobody changes any more. It was made of copies, which the compiler cannot know; reads take turns.
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

  /// Reads a data file, which may be one that `write` has made, and leaves it as it is.
  ///
  /// - Throws: `EmulatorFileError` where the file cannot be opened, is damaged, or is in use by an emulator; `CocoaError`
  ///   where there is none.
  public init(reading path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { throw CocoaError(.fileNoSuchFile) }
    do {
      let file = try FileStore.copy(of: path)
      let core = EmulatorCore(configuration: EmulatorConfiguration(), store: file)
      try file.load(into: core)
      frozen = Frozen(core)
    } catch {
      throw EmulatorFileError(error)
    }
  }

  /// Makes a data file, which `Emulator(path:)` opens: a whole one, or none.
  ///
  /// - Throws: an error where there is a file already, or none can be written.
  public func write(to path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { throw CocoaError(.fileWriteFileExists) }
    let draft = "\(path).\(UUID().uuidString)"
    do {
      try withCore { core in
        let file = try FileStore(path: draft)
        try core.write(into: file)
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
  /// Keeps the whole state for later.
  ///
  /// - Throws: an error where the file of an emulator that has one cannot be copied.
  public func snapshot() throws -> EmulatorSnapshot {
    try core.withLock { core in
      let copy = EmulatorCore(configuration: core.configuration, store: try core.store.copy())
      copy.adopt(core)
      return EmulatorSnapshot(copy)
    }
  }

  /// Puts a state back, of this emulator or of another one. Long polls that wait are answered with nothing, and change
  /// tokens from before are refused, so that clients read everything anew: what they stand for may never have happened.
  ///
  /// - Throws: an error where the file of an emulator that has one cannot be written; then nothing has changed.
  public func restore(_ snapshot: EmulatorSnapshot) throws {
    try withCore { core in
      try snapshot.withCore { other in
        let counters = core.databases.mapValues(\.counter)
        try core.store.replace(by: other)
        core.endPolls()
        core.adopt(other)
        try core.beginHistories(after: counters)
      }
    }
  }
}

extension EmulatorCore {
  /// Takes over what another core has at hand; the store has the rest already.
  fileprivate func adopt(_ other: EmulatorCore) {
    databases = other.databases.mapValues { DatabaseState(copying: $0, store: store) }
    (schemas, users, lastTokens) = (other.schemas, other.users, other.lastTokens)
    (assets, uploads, pushes) = (other.assets, other.uploads, other.pushes)
    (sharedZones, subscriptions, pushTokens) = (other.sharedZones, other.subscriptions, other.pushTokens)
    knowAdmitted()
    couriers = other.couriers.mapValues { Courier(token: $0.token, notifications: $0.notifications) }
  }

  /// Makes the tokens of what was given up strangers, and no tag come twice with another content.
  fileprivate func beginHistories(after counters: [DatabaseKey: Int64]) throws(ServerError) {
    for key in Set(counters.keys).union(databases.keys).sorted(by: { $0.path < $1.path }) {
      let database = database(key)
      let counter = max(database.counter, counters[key] ?? 0) + 1
      let changes = database.zones.values.sorted { $0.name < $1.name }.map { zone in
        var row = zone.row
        row.identity = Derived.number("\(row.identity)/\(counter)")
        return Commit.Change.zoneChanged(row)
      }
      try commit(Commit(database: key, counter: counter, sequence: database.sequence + 1, changes: changes))
    }
  }

  fileprivate func endPolls() {
    for token in couriers.keys.sorted() { release(token) }
  }

  /// Writes everything into an empty store, by commits like those of requests.
  func write(into store: any EmulatorStore) throws {
    for database in databases.values.sorted(by: { $0.key.path < $1.key.path }) {
      var commit = Commit(database: database.key, counter: database.counter, sequence: database.sequence)
      commit.changes = users.values.sorted().map { .userSeen(name: $0) }
      commit.changes += schemas[database.key.schema].map { [.schemaChanged($0)] } ?? []
      commit.changes += (subscriptions[database.key] ?? [:]).values.map { .subscribed($0) }
      commit.changes += (pushTokens[database.key] ?? []).compactMap { couriers[$0].map { .tokenMade($0.token) } }
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
