import CloudKit
import CloudKitEmulator
import Foundation

@testable import CloudSync

/// One device of a simulation: a storage that outlives crashes, and whichever process works on it just now.
final class SimulatedDevice {
  let name: String
  let clock: SimulatedClock
  let wire: SimulatedWire
  private(set) var store: SyncStore
  private(set) var user: String? = SimulatedWorld.user
  private var process: SimulatedStorage
  private var engine: SyncEngine
  let storage: any QueueStorage
  let merging: MergePolicy
  /// Nil: what is on the device is all that there is.
  let app: SimulatedApp?
  /// Records as its app has them in hand since it read or saved them.
  var drafts: [RecordKey: CKRecord] = [:]
  private let scope: SyncStore.Scope
  private let turn: (pages: Int, requests: Int)
  private let isWaitedFor: Bool

  /// Memory keeps no files.
  var keeping: AssetKeeping { storage.assetFolder == nil ? .referenced : .copied }

  /// The field that only this device writes.
  var field: String { name.replacing("-", with: "_") }

  init(
    _ name: String,
    _ storage: any QueueStorage,
    _ scope: SyncStore.Scope,
    _ merging: MergePolicy,
    clock: SimulatedClock,
    wire: SimulatedWire,
    app: SimulatedApp?,
    isWaitedFor: Bool
  ) throws {
    self.name = name
    self.storage = storage
    self.merging = merging
    self.app = app
    self.clock = clock
    self.wire = wire
    self.scope = scope
    self.isWaitedFor = isWaitedFor
    // Half of them look at the queue after each page, and at the feeds after every second request.
    turn = name.utf8.reduce(0) { $0 + Int($1) }.isMultiple(of: 2) ? (1, 2) : (25, 100)
    let user = SimulatedWorld.user
    let process = SimulatedStorage(storage, isWaitedFor: isWaitedFor)
    (self.process, store, engine) = try Self.start(process, scope, merging, turn, clock, wire, app, user: user)
  }

  private static func start(
    _ process: SimulatedStorage,
    _ scope: SyncStore.Scope,
    _ merging: MergePolicy,
    _ turn: (pages: Int, requests: Int),
    _ clock: SimulatedClock,
    _ wire: SimulatedWire,
    _ app: SimulatedApp?,
    user: String?
  ) throws -> (SimulatedStorage, SyncStore, SyncEngine) {
    wire.start(process, as: user)
    let store = try SyncStore(process, scope: scope) { clock.now }
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: scope.container,
        environment: scope.environment,
        credential: .webAuth(apiToken: "token", webAuthToken: user ?? SimulatedWorld.user),
        now: { clock.date }
      ),
      transport: wire
    )
    var resolver: ConflictResolver?
    if let app, app.settles { resolver = { try app.settle($0) } }
    var configuration = SyncEngine.Configuration(
      client: client,
      assetTransport: wire,
      policy: merging.policy,
      mergeRules: merging.rules,
      deletionGuard: merging.deletionGuard ?? .off,
      conflictResolver: resolver,
      random: { 0.5 },
      heartbeat: nil
    )
    configuration.turn = turn
    return (process, store, SyncEngine(store: store, configuration, delegate: app))
  }

  /// What goes wrong from now on, on the wire and in the app.
  func meet(_ swarm: Swarm?) {
    wire.meet(swarm)
    app?.meet(trouble: swarm?.appTrouble ?? 0)
  }

  /// How a pass ended.
  enum SyncReport {
    case made(SyncSummary)
    case died
    case fenced
    /// The store belongs to somebody else.
    case refused
  }

  /// - Parameter drives: whether as a driver passes by itself, which ends no back-off before its time and looks for deletions
  ///   where there is no feed only now and then.
  func pass(types: [String], drives: Bool, deadlyWrite: (number: Int, afterwards: Bool)?) async throws -> SyncReport {
    wire.passBegins()
    process.die(atWrite: deadlyWrite?.number, afterwards: deadlyWrite?.afterwards ?? false)
    do {
      let summary = try await drives ? drive(types) : engine.sync(recordTypes: types)
      guard !process.isDead else {
        try restart()
        return .died
      }
      process.die(atWrite: nil)
      wire.syncEnded()
      return .made(summary)
    } catch {
      guard !process.isDead else {
        try restart()
        return .died
      }
      guard let error = error as? StoreError else { throw error }
      switch error.kind {
      case .fenced:
        try restart()
        return .fenced
      case .otherUser where user != SimulatedWorld.user:
        process.die(atWrite: nil)
        return .refused
      default: throw error
      }
    }
  }

  private func drive(_ types: [String]) async throws -> SyncSummary {
    try await engine.checkSettings()
    guard let lease = try Lease.acquire(store) else { return try await engine.sync(recordTypes: types) }
    defer { lease.release(store) }
    _ = try store.recoverInFlight(lease)
    let summary = try await engine.runSync(lease, serving: SyncRequests(types: types), fullScans: .whenDue)
    try await engine.deliver()
    return summary
  }

  /// A new process: nothing but the storage remains.
  func restart() throws {
    process.die()
    let next = SimulatedStorage(storage, isWaitedFor: isWaitedFor)
    (process, store, engine) = try Self.start(next, scope, merging, turn, clock, wire, app, user: user)
  }

  func signIn(as user: String?) throws {
    self.user = user
    try restart()
  }

  /// Whether it has sent a new element for a record's set and has not found out whether the server took it.
  func isInDoubt(about element: Int64, of key: RecordKey) throws -> Bool {
    guard let operation = try store.read({ try $0.operation(for: key) }) else { return false }
    func lists(_ value: FieldValue?) -> Bool {
      if case .list(_, let elements)? = value { elements.contains(.int64(element)) } else { false }
    }
    // Of an element in the base it knows that the server had it.
    guard lists(operation.changes[Tally.elements]), !lists(operation.base[Tally.elements]) else { return false }
    let isSent = operation.sentChanges.contains { lists($0[Tally.elements]) }
    return operation.state == .inFlight || (operation.isUnconfirmed && isSent)
  }

  /// Where the app's database differs from the mirror; nil: nowhere.
  func differenceInApp() throws -> String? {
    guard let app else { return nil }
    let mirror = try store.view { try $0.records(mirrorOnly: true).rows }
      .map { ($0.record.key, $0.record.fields.mapValues(\.text)) }
    let wanted = Dictionary(uniqueKeysWithValues: mirror)
    let contents = app.contents
    let keys = Set(wanted.keys).union(contents.keys).sorted().filter { contents[$0] != wanted[$0] }
    return keys.first.map { "\($0.name): \(contents[$0] ?? [:]) in place of \(wanted[$0] ?? [:])" }
  }

  /// Every record of the mirror as text.
  ///
  /// - Parameter parents: whether with their parents, which the emulator does not show.
  func mirror(parents: Bool = false) throws -> [String] {
    try store.view { try $0.records(mirrorOnly: true).rows }.map { row in
      let shown = row.record.fields.filter { parents || $0.key != FieldChanges.parent }
      let fields = shown.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }
      return "\(row.record.key.zone)/\(row.record.key.name) [\(row.record.changeTag)] \(fields.joined(separator: " "))"
    }.sorted()
  }
}

extension FieldValue {
  var text: String {
    switch self {
    case .int64(let number): "\(number)"
    case .string(let text): "'\(text)'"
    case .reference(let reference): "->\(reference.recordName)"
    case .asset(let asset): "file of \(asset.size ?? 0)"
    case .list(_, let values): "{\(values.map(\.text).sorted().joined(separator: ","))}"
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
    case .asset(let asset): "file of \(asset.size)"
    case .list(_, let values): "{\(values.map(\.text).sorted().joined(separator: ","))}"
    default: "?"
    }
  }

  /// The numbers of a list.
  var elements: Set<Int64> {
    guard case .list(_, let values) = self else { return [] }
    return Set(values.compactMap { if case .int64(let number) = $0 { number } else { nil } })
  }
}
