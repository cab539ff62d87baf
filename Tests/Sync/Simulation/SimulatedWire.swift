import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import TestSupport

@testable import CloudSync

/// The way from a device to the emulator, on which everything may go wrong, decided by a seed.
final class SimulatedWire: CKTransport {
  private struct State {
    var random: SplitMix64
    /// Nil: nothing goes wrong.
    var swarm: Swarm?
    var user: String?
    var whileInFlight: (@Sendable () -> Void)?
    var process: SimulatedStorage?
    /// Until when the server has asked to be left alone, in the world's time and in the device's, and how long that was.
    var wait: (world: Int64, device: Int64, length: Int64)?
    /// A wait that a process which died may not have written down.
    var waitIsFresh = false
    var notes = Notes()
  }

  /// What happened since last asked.
  struct Notes: Sendable {
    var trace: [String] = []
    var rare: [String] = []
    /// Requests that the server will get some other time.
    var held: [CKTransportRequest] = []
    /// Records whose deletion has arrived at the server.
    var deleted: Set<String> = []
    var deletedZones: Set<String> = []
    var violation: String?
  }

  private let emulator: EmulatorTransport
  private let world: SimulatedClock
  private let clock: SimulatedClock
  private let state: Mutex<State>

  init(_ emulator: Emulator, world: SimulatedClock, clock: SimulatedClock, seed: UInt64) {
    self.emulator = EmulatorTransport(emulator, now: { world.date }, sleep: { _ in })
    self.world = world
    self.clock = clock
    state = Mutex(State(random: SplitMix64(seed: seed)))
  }

  /// A process starts that speaks for a user, nil for nobody any more.
  func start(_ process: SimulatedStorage, as user: String?) {
    state.withLock {
      $0.process = process
      $0.user = user
      if $0.waitIsFresh { $0.wait = nil }
    }
  }

  func meet(_ swarm: Swarm?) { state.withLock { $0.swarm = swarm } }

  /// A pass begins. By a clock that was set back since, the server's wait begins anew.
  func passBegins() {
    let now = clock.now
    state.withLock { state in
      guard let wait = state.wait, wait.device > now + wait.length else { return }
      state.wait?.device = now + wait.length
    }
  }

  /// A pass has ended well: what the server asked for has been written down.
  func syncEnded() { state.withLock { $0.waitIsFresh = false } }

  /// Done once, while the next `records/modify` is on its way.
  func whileInFlight(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileInFlight = body } }

  func takeNotes() -> Notes {
    state.withLock { state in
      defer { state.notes = Notes() }
      return state.notes
    }
  }

  // MARK: - A request

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let words = request.path.utf8.split(separator: UInt8(ascii: "/")).suffix(2)
    let operation = words.map { String(Substring($0)) }.joined(separator: "/")
    let isWrite = operation.hasSuffix("/modify")
    let (fault, seconds, process, interruption, user) = state.withLock { state in
      let fault = state.swarm.flatMap { $0.fault(&state.random, isWrite: isWrite) }
      let seconds = Double(state.random.below(90))
      let content = operation == "records/modify" ? Batch(request.body).text : "\(request.body.count)"
      state.notes.trace.append("\(operation) \(content) \(fault?.rawValue ?? "")")
      if operation == "assets/rereference" { state.notes.rare.append(operation) }
      if let fault { state.notes.rare.append("\(fault.rawValue) \(isWrite ? "write" : "read")") }
      Self.judge(&state, operation, world: world.now, clock: clock.now)
      let interruption = operation == "records/modify" ? state.whileInFlight : nil
      if operation == "records/modify" { state.whileInFlight = nil }
      return (fault, seconds, state.process, interruption, state.user)
    }
    interruption?()
    guard user != nil else { return Self.refusal(421, "AUTHENTICATION_REQUIRED", nil) }
    switch fault {
    case nil: return try await deliver(request)
    case .offline: throw CKTransportError(.notSent, "there is no network")
    case .lost: throw Self.broken
    case .answerLost:
      _ = try await deliver(request)
      throw Self.broken
    case .answerCut:
      let answer = try await deliver(request)
      return CKTransportResponse(status: answer.status, body: answer.body.prefix(answer.body.count * 2 / 3))
    case .late, .stalled:
      if isWrite { hold(request) }
      if fault == .stalled { process?.die() }
      throw Self.broken
    case .twice:
      if isWrite { hold(request) }
      return try await deliver(request)
    case .fenced:
      if let process { Self.takeOver(process.inner) }
      return try await deliver(request)
    case .throttled: return refuse(429, "THROTTLED", seconds)
    case .tryAgain: return refuse(503, "TRY_AGAIN_LATER", seconds > 45 ? seconds : nil)
    case .internalError: return Self.refusal(500, "INTERNAL_ERROR", nil)
    case .gateway: return CKTransportResponse(status: 502, body: Data("<html>Bad gateway</html>".utf8))
    case .signedOut: return Self.refusal(421, "AUTHENTICATION_REQUIRED", nil)
    case .quota:
      guard operation == "records/modify" else { return try await deliver(request) }
      return Self.refusal(413, "QUOTA_EXCEEDED", nil)
    case .itemThrottled: return try await spoil(request, operation, "THROTTLED", seconds)
    case .itemQuota: return try await spoil(request, operation, "QUOTA_EXCEEDED", nil)
    case .itemPoisoned: return try await spoil(request, operation, "BAD_REQUEST", nil)
    case .itemInternal: return try await spoil(request, operation, "INTERNAL_ERROR", nil)
    }
  }

  private static let broken = CKTransportError(.unknown, "the connection broke")

  private func deliver(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    note(request)
    return try await emulator.send(request)
  }

  private func note(_ request: CKTransportRequest) {
    if request.path.hasSuffix("zones/modify") {
      let zones = Batch(request.body).zonesDeleted
      state.withLock { $0.notes.deletedZones.formUnion(zones) }
    }
    guard request.path.hasSuffix("records/modify") else { return }
    let deleted = Batch(request.body).operations.filter { ($0["operationType"] as? String)?.hasSuffix("elete") == true }
    let names = deleted.compactMap { Batch.name($0) }
    state.withLock { $0.notes.deleted.formUnion(names) }
  }

  private func hold(_ request: CKTransportRequest) { state.withLock { $0.notes.held.append(request) } }

  /// A request inside the server's wait, or for somebody who may not write, is wrong whatever comes of it.
  private static func judge(_ state: inout State, _ operation: String, world: Int64, clock: Int64) {
    if let wait = state.wait {
      if world < wait.world, clock < wait.device {
        state.notes.violation = "\(operation) is sent \(wait.world - world) ms before the server's wait is over"
      } else {
        // It has been over once: a clock that is set back afterwards does not bring it back.
        state.wait = nil
      }
    }
    if state.user != SimulatedWorld.user, operation.hasSuffix("/modify") {
      state.notes.violation = "\(operation) is sent as \(state.user ?? "nobody")"
    }
  }

  /// Whoever finds the driver silent takes its place in the middle of a request.
  private static func takeOver(_ storage: any QueueStorage) {
    try? storage.write { ledger in
      guard var holder = try ledger.lease() else { return }
      holder.fencingToken += 1
      holder.expiresAt = nil
      try ledger.put(holder, keeping: nil)
    }
  }

  // MARK: - Refusals

  private func refuse(_ status: Int, _ code: String, _ seconds: Double?) -> CKTransportResponse {
    if let seconds, seconds > 0 {
      let length = Int64(seconds * 1000)
      let (world, device) = (world.now + length, clock.now + length)
      state.withLock {
        $0.wait = (world, device, length)
        $0.waitIsFresh = true
      }
    }
    return Self.refusal(status, code, seconds)
  }

  private static func refusal(_ status: Int, _ code: String, _ seconds: Double?) -> CKTransportResponse {
    let wait = seconds.map { #","retryAfter":\#(Int($0))"# } ?? ""
    return CKTransportResponse(
      status: status,
      body: Data(#"{"serverErrorCode":"\#(code)","reason":"oops"\#(wait)}"#.utf8)
    )
  }

  /// One item of the request is refused, the others go on.
  private func spoil(_ request: CKTransportRequest, _ operation: String, _ code: String, _ seconds: Double?)
    async throws(CKTransportError) -> CKTransportResponse
  {
    var batch = Batch(request.body)
    guard operation == "records/modify", !batch.isAtomic, !batch.operations.isEmpty else {
      return try await deliver(request)
    }
    let index = state.withLock { $0.random.below(batch.operations.count) }
    let victim = batch.operations.remove(at: index)
    var refusal: [String: Any] = ["serverErrorCode": code, "reason": "oops", "recordName": Batch.name(victim) ?? ""]
    if let seconds { refusal["retryAfter"] = Int(seconds) }
    guard !batch.operations.isEmpty else {
      return CKTransportResponse(status: 200, body: Batch.answer([refusal]))
    }
    var rest = request
    rest.body = batch.body
    let answer = try await deliver(rest)
    guard var records = Batch.records(answer.body) else { return answer }
    records.insert(refusal, at: min(index, records.count))
    return CKTransportResponse(status: answer.status, headers: answer.headers, body: Batch.answer(records))
  }
}

/// Files go to the emulator by the same way. Several are under way at a time, so what they meet is decided by their
/// addresses, not by their order.
extension SimulatedWire: CKAssetTransport {
  func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    let chance = state.withLock { state in
      state.notes.rare.append("upload")
      return state.swarm == nil ? 1 : Self.fraction(of: address)
    }
    if chance < 0.1 { throw CKTransportError(.notSent, "there is no network") }
    let answer = try await emulator.upload(file: file, to: address)
    if chance < 0.2 { throw Self.broken }
    return answer
  }

  func download(from address: URL, to file: URL, limit: Int64) async throws(CKTransportError) -> CKTransportResponse {
    try await emulator.download(from: address, to: file, limit: limit)
  }

  private static func fraction(of address: URL) -> Double {
    let hash = address.absoluteString.utf8.reduce(UInt64(14_695_981_039_346_656_037)) {
      ($0 ^ UInt64($1)) &* 1_099_511_628_211
    }
    var random = SplitMix64(seed: hash)
    return random.fraction()
  }
}

/// The operations of a `records/modify`.
struct Batch {
  private var json: [String: Any]

  init(_ body: Data) { json = (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }

  var operations: [[String: Any]] {
    get { json["operations"] as? [[String: Any]] ?? [] }
    set { json["operations"] = newValue }
  }

  /// The names of zones that it deletes, of a `zones/modify`.
  var zonesDeleted: [String] {
    operations.filter { $0["operationType"] as? String == "delete" }
      .compactMap { (($0["zone"] as? [String: Any])?["zoneID"] as? [String: Any])?["zoneName"] as? String }
  }

  /// What it does, for people.
  var text: String {
    operations.map { "\($0["operationType"] as? String ?? "?") \(Self.name($0) ?? "?")" }.joined(separator: ", ")
  }

  /// Atomic is what the server takes a request for that does not say.
  var isAtomic: Bool { json["atomic"] as? Bool ?? true }
  var body: Data { Self.data(json) }

  static func name(_ operation: [String: Any]) -> String? {
    (operation["record"] as? [String: Any])?["recordName"] as? String
  }

  static func records(_ answer: Data) -> [[String: Any]]? {
    ((try? JSONSerialization.jsonObject(with: answer)) as? [String: Any])?["records"] as? [[String: Any]]
  }

  static func answer(_ records: [[String: Any]]) -> Data { data(["records": records]) }

  private static func data(_ json: [String: Any]) -> Data {
    (try? JSONSerialization.data(withJSONObject: json, options: .sortedKeys)) ?? Data()
  }
}
