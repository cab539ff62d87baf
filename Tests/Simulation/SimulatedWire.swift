import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization

/// A clock that only the simulation moves, in milliseconds since 1970.
final class SimulatedClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_700_000_000_000)

  var now: Int64 { milliseconds.withLock { $0 } }
  var date: Date { Date(timeIntervalSince1970: Double(now) / 1000) }

  func advance(_ seconds: Double) { milliseconds.withLock { $0 += Int64(seconds * 1000) } }
}

/// The way from a device to the emulator, on which everything may go wrong, decided by a seed.
final class SimulatedWire: CKTransport {
  private struct State {
    var random: SplitMix64
    /// The share of requests that meet a fault.
    var faultRate = 0.0
    var whileInFlight: (@Sendable () -> Void)?
    var trace: [String] = []
  }

  private enum Fault {
    case none, offline, lost, answerLost
    case refusal(status: Int, body: String)
  }

  private let emulator: EmulatorTransport
  private let state: Mutex<State>

  init(_ emulator: Emulator, clock: SimulatedClock, seed: UInt64) {
    self.emulator = EmulatorTransport(emulator, now: { clock.date }, sleep: { _ in })
    state = Mutex(State(random: SplitMix64(seed: seed)))
  }

  func setFaultRate(_ rate: Double) { state.withLock { $0.faultRate = rate } }

  /// Done once, while the next `records/modify` is on its way.
  func whileInFlight(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileInFlight = body } }

  /// What went over the wire since last asked.
  func takeTrace() -> [String] {
    state.withLock { state in
      defer { state.trace = [] }
      return state.trace
    }
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let operation = request.path.split(separator: "/").suffix(2).joined(separator: "/")
    let (fault, interruption) = state.withLock { state in
      let fault = Self.fault(operation, &state)
      state.trace.append("\(operation) \(request.body.count) \(fault)")
      guard operation == "records/modify" else { return (fault, nil as (@Sendable () -> Void)?) }
      defer { state.whileInFlight = nil }
      return (fault, state.whileInFlight)
    }
    interruption?()
    switch fault {
    case .none: return try await emulator.send(request)
    case .offline: throw CKTransportError(.notSent, "there is no network")
    case .lost: throw CKTransportError(.unknown, "the connection broke")
    case .answerLost:
      _ = try await emulator.send(request)
      throw CKTransportError(.unknown, "the connection broke")
    case .refusal(let status, let body): return CKTransportResponse(status: status, body: Data(body.utf8))
    }
  }

  private static func fault(_ operation: String, _ state: inout State) -> Fault {
    guard state.random.fraction() < state.faultRate else { return .none }
    let seconds = state.random.next() % 90
    switch state.random.next() % 10 {
    case 0: return .offline
    case 1, 2: return .lost
    case 3, 4, 5: return .answerLost
    case 6: return .refusal(status: 429, body: #"{"serverErrorCode":"THROTTLED","retryAfter":\#(seconds)}"#)
    case 7: return .refusal(status: 503, body: #"{"serverErrorCode":"TRY_AGAIN_LATER"}"#)
    case 8: return .refusal(status: 500, body: #"{"serverErrorCode":"INTERNAL_ERROR","reason":"oops"}"#)
    default: return .refusal(status: 502, body: "<html>Bad gateway</html>")
    }
  }
}

extension SplitMix64 {
  /// A number from 0 up to 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

  /// A number below `bound`.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
