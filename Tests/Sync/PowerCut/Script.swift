import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Facts
import Foundation
import GRDB
import Synchronization
import TestSupport

@testable import CloudSync

/// One device's history on one disk, all of it from a seed: changes that are accepted, sent and acknowledged, with
/// checkpoints and reopenings between.
final class Script {
  private static let container = "iCloud.powercut"
  private static let user = "ana"
  private static let scope = SyncStore.Scope(
    container: container,
    environment: "development",
    database: .private
  )

  let disk: Disk
  private(set) var asked: [[Change]] = []
  private let synchronous: String
  private let clock = ScriptClock()
  private let emulator: Emulator
  private let wire: ScriptWire
  private var random: SplitMix64
  private var file: SQLiteStorage
  private(set) var store: SyncStore
  private(set) var engine: SyncEngine
  private var number: Int64 = 0

  /// - Parameter synchronous: the value of the pragma on the writing connection.
  /// Runs are repeated, with the same tokens and tags.
  private static func emulator() throws -> Emulator {
    var configuration = EmulatorConfiguration()
    configuration.seed = 0
    return try Emulator(configuration: configuration)
  }

  init(seed: UInt64, synchronous: String = "FULL", disk: Disk) throws {
    random = SplitMix64(seed: seed)
    self.disk = disk
    self.synchronous = synchronous
    emulator = try Self.emulator()
    wire = ScriptWire(emulator, clock, disk)
    (file, store, engine) = try Self.open(disk, synchronous, clock, wire)
  }

  private static func open(
    _ disk: Disk,
    _ synchronous: String,
    _ clock: ScriptClock,
    _ wire: ScriptWire
  ) throws -> (SQLiteStorage, SyncStore, SyncEngine) {
    let file = try SQLiteStorage(path: disk.path("store.sqlite"))
    let store = try SyncStore(file, scope: scope) { clock.now }
    if synchronous != "FULL" {
      try file.writer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
    }
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: container,
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: user),
        now: { clock.date }
      ),
      transport: wire
    )
    return (file, store, SyncEngine(store: store, SyncEngine.Configuration(client: client, random: { 0.5 })))
  }

  // MARK: - The history

  /// - Parameter insists: whether what the disk makes fail is done again, until it is done.
  /// - Returns: the errors that were met.
  @discardableResult
  func run(steps: Int, insists: Bool = false) async throws -> [StoreError] {
    var errors: [StoreError] = []
    for _ in 0..<steps {
      clock.advance(1)
      let step = step()
      while true {
        do {
          try await perform(step)
          break
        } catch {
          guard insists, let error = error as? StoreError else { throw error }
          errors.append(error)
        }
      }
    }
    return errors
  }

  private enum Step {
    case enqueue([Change], group: Bool)
    case checkpoint(Database.CheckpointMode)
    case reopen
    case pass(edit: Change?, losesAnswer: Bool)
  }

  private func step() -> Step {
    switch random.below(12) {
    case 0...2: .enqueue([change()], group: false)
    case 3: .enqueue(changes(2 + random.below(6)), group: false)
    case 4: .enqueue(changes(2 + random.below(3)), group: true)
    case 5: .checkpoint(random.below(2) == 0 ? .truncate : .passive)
    case 6: .reopen
    default: .pass(edit: random.below(2) == 0 ? change() : nil, losesAnswer: random.below(4) == 0)
    }
  }

  private func perform(_ step: Step) async throws {
    switch step {
    case .enqueue(let changes, let isGroup): try enqueue(changes, group: isGroup ? "group-\(asked.count)" : nil)
    // One that fails is made another time, by whoever writes next.
    case .checkpoint(let mode): try? checkpoint(mode)
    case .reopen:
      try? file.writer.close()
      (file, store, engine) = try Self.open(disk, synchronous, clock, wire)
    case .pass(let edit, let losesAnswer): try await pass(edit, losesAnswer: losesAnswer)
    }
  }

  private func change() -> Change {
    number += 1
    let key = RecordKey(Self.scope.zoneForChangesWithoutOne, "r\(random.below(9))")
    if random.below(5) == 0 { return Change(key, .delete) }
    let text = String(repeating: "x", count: random.below(4) == 0 ? 6000 : 20)
    let fields = FieldChanges(values: ["number": .int64(number), "text\(random.below(3))": .string(text)])
    return Change(key, .save(type: "Note", fields))
  }

  private func changes(_ count: Int) -> [Change] {
    var keys: Set<RecordKey> = []
    return (0..<count).map { _ in change() }.filter { keys.insert($0.key).inserted }
  }

  private func enqueue(_ changes: [Change], group: String? = nil) throws {
    disk.note(.asked(asked.count))
    _ = try store.enqueue(changes, group: group)
    disk.note(.accepted(asked.count))
    asked.append(changes)
  }

  /// Accepts one more change.
  func enqueueOne() throws { try enqueue([change()]) }

  private func checkpoint(_ mode: Database.CheckpointMode) throws {
    try file.writer.writeWithoutTransaction { _ = try $0.checkpoint(mode) }
  }

  private func pass(_ edit: Change?, losesAnswer: Bool) async throws {
    let (store, disk, index) = (store, disk, asked.count)
    let result = Mutex<Result<Void, StoreError>?>(nil)
    await wire.prepare(losesAnswer: losesAnswer) {
      guard let edit else { return }
      disk.note(.asked(index))
      do throws(StoreError) {
        _ = try store.enqueue([edit])
        disk.note(.accepted(index))
        result.withLock { $0 = .success(()) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
    }
    var failure: (any Error)?
    do { _ = try await engine.syncOnce() } catch { failure = error }
    await wire.prepare(losesAnswer: false) {}
    switch result.withLock({ $0 }) {
    case .success: asked.append([edit].compactMap(\.self))
    case .failure: try enqueue([edit].compactMap(\.self))
    case nil: break
    }
    if let failure { throw failure }
  }

  // MARK: - What has to be left

  /// What the server holds once the first `count` askings are on it.
  private func expected(_ count: Int) -> [String: [String: FieldValue]] {
    var records: [String: [String: FieldValue]] = [:]
    for change in asked.prefix(count).joined() {
      switch change.kind {
      case .delete: records[change.key.name] = nil
      case .save(_, let fields): records[change.key.name] = fields.applied(to: records[change.key.name] ?? [:])
      }
    }
    return records
  }

  /// Opens what a power cut left, and goes on to the end of the work: what is wrong, or nil where nothing is.
  ///
  /// - Parameters:
  ///   - accepted: how many askings had been accepted.
  ///   - requests: what had arrived at the server.
  func loss(
    in files: [String: [UInt8]],
    accepted: Int,
    asked: Int,
    requests: [(CKTransportRequest, Date)]
  ) async throws -> String? {
    let emulator = try Self.emulator()
    for (request, time) in requests {
      _ = try? await EmulatorTransport(emulator, now: { time }, sleep: { _ in }).send(request)
    }
    let disk = try Disk()
    try disk.fill(files)
    let clock = ScriptClock(after: self.clock)
    do {
      let (file, store, engine) = try Self.open(disk, "FULL", clock, ScriptWire(emulator, clock, disk))
      return try await loss(file, store, engine, clock, emulator, accepted...asked)
    } catch {
      return "\(error)"
    }
  }

  /// Goes on to the end of the work: what is wrong, or nil where nothing is.
  func loss() async throws -> String? {
    try await loss(file, store, engine, clock, emulator, asked.count...asked.count)
  }

  /// - Parameter counts: how many askings the server may hold in the end.
  private func loss(
    _ file: SQLiteStorage,
    _ store: SyncStore,
    _ engine: SyncEngine,
    _ clock: ScriptClock,
    _ emulator: Emulator,
    _ counts: ClosedRange<Int>
  ) async throws -> String? {
    let fault = try Self.look(file, "PRAGMA integrity_check", String.self)
    if fault != "ok" { return "the file is damaged: \(fault ?? "")" }
    for round in 0..<10 where try round == 0 || store.status().queue.total > 0 {
      _ = try await engine.syncOnce()
      clock.advance(3600)
    }
    let left = try store.operations().rows
    if !left.isEmpty { return "these do not go: \(left.map { "\($0.kind) \($0.key.name) \($0.cause.text)" })" }
    let seen = try Self.look(file, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'operations'", Int.self) ?? 0
    let ended = try Self.look(file, "SELECT count(DISTINCT operationId) FROM history", Int.self)
    if seen != ended { return "\(seen) accepted, \(ended ?? 0) ended" }
    let server = emulator.records(in: .private(of: Self.user, Self.container), zone: "cktop").map {
      "\($0.recordName) \($0.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })"
    }.sorted()
    let wanted = counts.map { count in
      expected(count).map { name, fields in
        "\(name) \(fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })"
      }.sorted()
    }
    return wanted.contains(server) ? nil : "after \(counts) askings the server holds \(server), not \(wanted)"
  }
}

extension Script {
  private static func look<Value: DatabaseValueConvertible & Sendable>(
    _ file: SQLiteStorage,
    _ sql: String,
    _ type: Value.Type
  ) throws -> Value? {
    try file.writer.read { try Value.fetchOne($0, sql: sql) }
  }
}

/// A clock that only the script moves.
final class ScriptClock: Sendable {
  private let milliseconds: Mutex<Int64>

  init(after other: ScriptClock? = nil) {
    milliseconds = Mutex(other.map { $0.now + 60_000 } ?? 1_700_000_000_000)
  }

  var now: Int64 { milliseconds.withLock { $0 } }
  var date: Date { Date(timeIntervalSince1970: Double(now) / 1000) }

  func advance(_ seconds: Int64) { milliseconds.withLock { $0 += seconds * 1000 } }
}

/// The way to the emulator, which notes on the disk what arrived and when.
actor ScriptWire: CKTransport {
  private let emulator: EmulatorTransport
  private let clock: ScriptClock
  private let disk: Disk
  private var losesAnswer = false
  private var whileInFlight: (@Sendable () -> Void)?

  init(_ emulator: Emulator, _ clock: ScriptClock, _ disk: Disk) {
    self.emulator = EmulatorTransport(emulator, now: { clock.date }, sleep: { _ in })
    self.clock = clock
    self.disk = disk
  }

  /// What happens to the next `records/modify`.
  func prepare(losesAnswer: Bool, whileInFlight: @escaping @Sendable () -> Void) {
    self.losesAnswer = losesAnswer
    self.whileInFlight = whileInFlight
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    disk.note(.requested(request, at: clock.date))
    guard request.path.hasSuffix("records/modify") else { return try await emulator.send(request) }
    let (losesAnswer, whileInFlight) = (losesAnswer, whileInFlight)
    self.losesAnswer = false
    self.whileInFlight = nil
    whileInFlight?()
    let answer = try await emulator.send(request)
    if losesAnswer { throw CKTransportError(.unknown, "the connection broke") }
    return answer
  }
}
