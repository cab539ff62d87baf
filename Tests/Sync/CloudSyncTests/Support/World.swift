import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Facts
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// A clock that only tests move.
final class TestClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_700_000_000_000)

  var now: Int64 { milliseconds.withLock { $0 } }
  var date: Date { Date(timeIntervalSince1970: Double(now) / 1000) }

  func advance(_ seconds: Double) {
    milliseconds.withLock { $0 += Int64(seconds * 1000) }
  }

  func advance(to time: Int64) {
    milliseconds.withLock { $0 = max($0, time) }
  }
}

/// What a test does to one request.
enum Interference: Sendable {
  case pass
  /// The connection is never made.
  case offline
  /// The request is lost on its way; nobody knows.
  case lost
  /// The request is carried out and its answer lost.
  case answerLost
  case answer(status: Int, String, headers: [CKHTTPHeader] = [])

  /// An answer that refuses a record alone.
  static func refusing(_ name: String, _ code: String, _ reason: String, retryAfter: Int? = nil) -> Interference {
    let wait = retryAfter.map { #", "retryAfter": \#($0)"# } ?? ""
    let failure = #"{"recordName": "\#(name)", "serverErrorCode": "\#(code)", "reason": "\#(reason)"\#(wait)}"#
    return .answer(status: 200, #"{"records": [\#(failure)]}"#)
  }
}

/// The emulator behind a wire that tests can cut, counting what goes over it.
final class TestTransport: CKTransport {
  typealias Hook = @Sendable (_ operation: String, _ number: Int, _ body: String) async -> Interference

  private struct State {
    var inner: EmulatorTransport
    var hook: Hook?
    var counts: [String: Int] = [:]
    var bodies: [(operation: String, body: String)] = []
  }
  private let state: Mutex<State>

  init(_ inner: EmulatorTransport) { state = Mutex(State(inner: inner)) }

  /// Leads to another server from now on.
  func redirect(to other: EmulatorTransport) { state.withLock { $0.inner = other } }

  /// Asked before each request, with its operation, its number among these from 1, and its body.
  func interfere(_ hook: Hook?) { state.withLock { $0.hook = hook } }

  /// Answers an operation with this text from now on; all others pass.
  func answer(_ wanted: String, status: Int = 200, _ text: String) {
    interfere { operation, _, _ in operation == wanted ? .answer(status: status, text) : .pass }
  }

  func count(_ operation: String) -> Int { state.withLock { $0.counts[operation] ?? 0 } }
  var total: Int { state.withLock { $0.counts.values.reduce(0, +) } }
  func bodies(_ operation: String) -> [String] {
    state.withLock { $0.bodies.filter { $0.operation == operation }.map(\.body) }
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let operation = request.path.split(separator: "/").suffix(2).joined(separator: "/")
    let body = String(decoding: request.body, as: UTF8.self)
    let (inner, hook, number) = state.withLock { state in
      state.counts[operation, default: 0] += 1
      state.bodies.append((operation, body))
      return (state.inner, state.hook, state.counts[operation] ?? 0)
    }
    switch await hook?(operation, number, body) ?? .pass {
    case .pass: return try await inner.send(request)
    case .offline: throw CKTransportError(.notSent, "there is no network")
    case .lost: throw CKTransportError(.unknown, "the connection broke")
    case .answerLost:
      _ = try await inner.send(request)
      throw CKTransportError(.unknown, "the connection broke")
    case .answer(let status, let text, let headers):
      return CKTransportResponse(status: status, headers: headers, body: Data(text.utf8))
    }
  }
}

/// One device: its store, its engine, its wire.
struct TestDevice {
  let store: SyncStore
  let engine: SyncEngine
  let transport: TestTransport

  @discardableResult
  func sync(_ types: [String] = []) async throws -> SyncSummary { try await engine.syncOnce(types: types) }

  /// Has another device send changes while a request of this one with records to be saved or deleted is on its way.
  ///
  /// - Parameters:
  ///   - number: which of these requests it is, from 1.
  ///   - end: what becomes of the request.
  func beOvertaken(by other: TestDevice, _ changes: [Change], atModify number: Int, then end: Interference = .pass) {
    transport.interfere { operation, reached, _ in
      guard operation == "records/modify", reached == number else { return .pass }
      _ = try? other.store.enqueue(changes)
      _ = try? await other.sync()
      return end
    }
  }
}

/// An emulator, a clock and devices around them.
final class World: Sendable {
  static let container = "iCloud.test"

  let emulator: Emulator
  let clock = TestClock()
  let folder: TemporaryFolder
  let database: DatabaseName
  let user: String
  private let transports = Mutex<[TestTransport]>([])
  private let storages = TestStorages(StorageKind.current)

  // What a test does to the requests of a device mostly speaks of that device, which would keep its files open for
  // ever.
  deinit { for transport in transports.withLock({ $0 }) { transport.interfere(nil) } }

  init(
    _ database: DatabaseName = .private,
    user: String = "ana",
    _ change: (inout EmulatorConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = EmulatorConfiguration()
    configuration.seed = 0
    change(&configuration)
    emulator = try Emulator(configuration: configuration)
    folder = try TemporaryFolder()
    self.database = database
    self.user = user
  }

  var scope: SyncStore.Scope {
    SyncStore.Scope(container: Self.container, environment: "development", database: database)
  }

  var server: EmulatorDatabase {
    switch database {
    case .public: EmulatorDatabase.public(Self.container)
    default: EmulatorDatabase.private(of: user, Self.container)
    }
  }

  /// Opens the store of that name, made or made before.
  ///
  /// - Parameter beforeEachWrite: called before each transaction that changes something: they all ask for the time
  ///   first.
  func open(_ name: String, beforeEachWrite: (@Sendable () -> Void)? = nil) throws(StoreError) -> SyncStore {
    let now = { @Sendable [clock] in
      beforeEachWrite?()
      return clock.now
    }
    return try SyncStore(storages.open(name, in: folder), scope: scope, now: now)
  }

  func device(
    _ name: String,
    policy: ConflictPolicy? = .server,
    mergeRules: MergeRules? = MergeRules(),
    deletionGuard: DeletionGuard? = DeletionGuard(),
    replacesStored: Bool = true,
    conflictResolver: ConflictResolver? = nil,
    conflictPatience: Duration = .seconds(5),
    user: String? = nil,
    identity: String? = nil,
    random: @escaping @Sendable () -> Double = { 0 },
    pollInterval: Double = 30,
    watchdogInterval: Double = 300,
    fullScanInterval: Double = 300,
    turn: (pages: Int, requests: Int) = (25, 100),
    assetTransport: (any CKAssetTransport)? = nil,
    isPushed: Bool = false,
    delegatePatience: Double = 30,
    heartbeat: Duration? = .seconds(2),
    delegate: (any SyncEngineDelegate)? = nil,
    beforeEachWrite: (@Sendable () -> Void)? = nil,
    configure: (inout SyncEngine.Configuration) -> Void = { _ in }
  ) throws -> TestDevice {
    let store = try open(name, beforeEachWrite: beforeEachWrite)
    let transport = TestTransport(EmulatorTransport(emulator, now: { [clock] in clock.date }, sleep: { _ in }))
    transports.withLock { $0.append(transport) }
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Self.container,
        environment: "development",
        credential: identity == SyncStore.anonymous
          ? .apiToken("token") : .webAuth(apiToken: "token", webAuthToken: user ?? self.user),
        now: { [clock] in clock.date }
      ),
      transport: transport
    )
    var configuration = SyncEngine.Configuration(
      client: client,
      assetTransport: assetTransport ?? EmulatorTransport(emulator, now: { [clock] in clock.date }, sleep: { _ in }),
      policy: policy,
      mergeRules: mergeRules,
      deletionGuard: deletionGuard,
      replacesStored: replacesStored,
      conflictResolver: conflictResolver,
      conflictPatience: conflictPatience,
      identity: identity,
      random: random,
      heartbeat: heartbeat,
      pollInterval: pollInterval,
      watchdogInterval: watchdogInterval,
      fullScanInterval: fullScanInterval,
      delegatePatience: delegatePatience,
      pushes: isPushed ? pushes(to: user ?? self.user) : nil
    )
    configuration.turn = turn
    configure(&configuration)
    let engine = SyncEngine(store: store, configuration, delegate: delegate)
    return TestDevice(store: store, engine: engine, transport: transport)
  }

  /// Pushes come in real time: the courier's requests hang until there is one.
  private func pushes(to user: String) -> CKNotificationSequence {
    CKContainer(
      identifier: Self.container,
      credential: .webAuth(apiToken: "token", webAuthToken: user),
      transport: EmulatorTransport(emulator, now: { [clock] in clock.date })
    ).notifications
  }

  /// Sends a body to the server, past every device.
  func send(_ body: String, to operation: String) async throws -> CKTransportResponse {
    let path = "/database/1/\(Self.container)/development/\(database.rawValue)/\(operation)"
    var request = CKTransportRequest(method: "POST", path: path, body: Data(body.utf8))
    request.query = "ckAPIToken=token&ckWebAuthToken=\(user)"
    return try await EmulatorTransport(emulator, now: { [clock] in clock.date }, sleep: { _ in }).send(request)
  }

  /// A record in the zone that changes without one go to.
  func key(_ name: String, zone: String? = nil) -> RecordKey {
    RecordKey(zone.map { ZoneKey(zone: $0) } ?? scope.zoneForChangesWithoutOne, name)
  }

  func put(_ name: String, zone: String? = nil, type: String = "Note", _ fields: [String: FieldValue]) -> Change {
    Change(key(name, zone: zone), .save(type: type, FieldChanges(values: fields)))
  }

  func delete(_ name: String, zone: String? = nil) -> Change { Change(key(name, zone: zone), .delete) }

  /// Saves a record on the server, past every device and whatever is there.
  ///
  /// - Parameters:
  ///   - user: who it was; nil: the user of the devices.
  ///   - date: when it was; nil: now.
  func saveOnServer(
    _ name: String,
    zone: String? = nil,
    by user: String? = nil,
    _ fields: [String: EmulatorValue],
    at date: Date? = nil
  ) throws {
    _ = try emulator.save(
      in: server,
      zone: key(name, zone: zone).zone,
      user: user,
      recordType: "Note",
      recordName: name,
      fields: fields,
      at: date ?? clock.date
    )
  }

  /// The server's fields of a record, as the store spells them; nil where there is none.
  func onServer(_ name: String, zone: String? = nil) -> [String: EmulatorValue]? {
    emulator.record(name, in: server, zone: key(name, zone: zone).zone)?.fields
  }
}

extension Ledger {
  /// The endings of the latest operations, newest first.
  func history(limit: Int) throws -> [HistoryEntry] {
    let ids: [Int64] = try all("SELECT operationId FROM history ORDER BY id DESC LIMIT ?", [limit])
    return try ids.compactMap(history(of:))
  }

  /// The latest commands, newest first.
  func commands(limit: Int) throws -> [AuditedCommand] {
    try rows("SELECT at, actor, selection, count FROM commands ORDER BY id DESC LIMIT ?", [limit]).compactMap { row in
      Event.Command(stored: row[2]).map { AuditedCommand(at: row[0], actor: row[1], command: $0, count: row[3]) }
    }
  }
}

extension SyncStore {
  /// Enqueues one change that has to be accepted, and returns its operation.
  @discardableResult
  func accept(_ change: Change, group: String? = nil) throws -> Int64 {
    let accepted = try enqueue([change], group: group)
    guard case .enqueued(let id)? = accepted.first else {
      Issue.record("not accepted: \(accepted)")
      return -1
    }
    return id
  }

  func causes(matching filter: QueueFilter? = nil) throws -> [QueueCause] {
    try view { try $0.causes(of: QueueListing(matching: filter)) }
  }

  func detail(of id: Int64) throws -> OperationDetail? { try view { try $0.detail(of: id) } }

  func zones() throws -> [ZoneRow] { try view { try $0.zones() } }

  func dropped(limit: Int = 1000) throws -> [DroppedChange] { try view { try $0.dropped(limit: limit) } }

  func events(matching filter: QueueFilter? = nil, after id: Int64 = 0, limit: Int? = nil) throws -> [EventRow] {
    var listing = EventListing()
    if let filter { listing.filter = .expression(filter, text: "") }
    return try view { try $0.events(listing, after: id, limit: limit) }
  }

  func conflict(_ id: Int64) throws -> Conflict? { try view { try $0.conflict(id) } }

  func conflicts() throws -> [Conflict] { try view { try $0.conflicts().rows } }

  func records(mirrorOnly: Bool = false, offset: Int = 0, limit: Int? = nil) throws -> Window<RecordRow> {
    try view { try $0.records(mirrorOnly: mirrorOnly, offset: offset, limit: limit) }
  }

  /// The endings of the latest operations, newest first.
  func history(limit: Int) throws -> [HistoryEntry] { try read { try $0.history(limit: limit) } }

  /// The queue as lines of text.
  func queue() throws -> [String] {
    try operations().rows.map { "\($0.kind.rawValue) \($0.key.name) \($0.state.rawValue)" }
  }

  func mirror(_ name: String) throws -> [String: FieldValue]? {
    try records(named: name, mirrorOnly: true).first?.record.fields
  }

  func endings() throws -> [String] {
    try history(limit: 1000).reversed().map { "\($0.kind.rawValue) \($0.key.name) \($0.ending.rawValue)" }
  }

  func operation(_ id: Int64) throws -> QueuedOperation {
    try #require(try detail(of: id)?.operation)
  }

  /// The database behind the store.
  var file: SQLiteStorage { get throws { try #require(storage as? SQLiteStorage) } }

  /// Runs SQL on the file's own connection.
  func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
    try file.writer.write { try $0.execute(sql: sql, arguments: arguments) }
  }

  func count(_ sql: String) throws -> Int { try file.writer.read { try Int.fetchOne($0, sql: sql) ?? 0 } }

  /// Queues many saves of new records, `r1` and so on, in one statement: enqueueing each takes its time.
  func fill(_ count: Int, _ state: String = "pending", in zone: ZoneKey? = nil) throws {
    let zone = zone ?? scope.zoneForChangesWithoutOne
    try execute(
      """
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
      INSERT INTO operations(operation, zone, owner, name, type, changes, base, state, reason, enqueuedAt, editedAt, bytes)
        SELECT 'save', ?, ?, 'r' || n, 'Note', ?, '{}', ?, '', 1, 1, 20 FROM numbers
      """,
      [
        count, zone.zone, zone.owner, try JSONColumn.text(FieldChanges(values: ["x": .int64(1)])), state,
      ]
    )
  }
}
