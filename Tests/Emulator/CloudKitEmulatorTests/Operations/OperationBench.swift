import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

/// A container on an emulator of its own, with a private zone `notes`, whose requests can be held back.
final class OperationBench: Sendable {
  let fixture: Fixture
  let gate: Gate
  let container: CKContainer
  let zoneID = CKRecordZone.ID(zoneName: "notes")

  var database: CKDatabase { container.privateCloudDatabase }
  var emulator: Emulator { fixture.emulator }

  init() throws {
    let fixture = try Fixture.withZone()
    let transport = EmulatorTransport(fixture.emulator, now: { fixture.now }, sleep: { _ in })
    self.fixture = fixture
    gate = Gate(transport)
    container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: gate
    )
  }

  func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

  func note(_ name: String, _ number: Int = 0) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: id(name))
    record["n"] = number
    return record
  }

  /// Adds an operation to a database, the private one unless told, and waits for Foundation's completion block.
  func run(_ operation: CKDatabaseOperation, in database: CKDatabase? = nil) async {
    await withCheckedContinuation { continuation in
      operation.completionBlock = { continuation.resume() }
      (database ?? self.database).add(operation)
    }
  }
}

/// Carries requests on, one by one where it is told so, and counts them.
final class Gate: CKTransport {
  private struct State {
    var isClosed = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    var arrivals: [CheckedContinuation<Void, Never>] = []
    var count = 0
    var underWay = 0
    var mostUnderWay = 0
  }

  private let base: any CKTransport
  private let state = Mutex(State())

  init(_ base: any CKTransport) { self.base = base }

  /// How many requests have come.
  var count: Int { state.withLock { $0.count } }
  /// How many were under way at once at most.
  var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }

  /// Holds back what comes from now on.
  func close() { state.withLock { $0.isClosed = true } }

  /// Lets everything pass again.
  func open() {
    let waiting = state.withLock { state in
      state.isClosed = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until a request is held back.
  func arrival() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.waiting.isEmpty { state.arrivals.append(continuation) }
        return !state.waiting.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    state.withLock { state in
      state.count += 1
      state.underWay += 1
      state.mostUnderWay = max(state.mostUnderWay, state.underWay)
    }
    defer { state.withLock { $0.underWay -= 1 } }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (passes, arrivals) = state.withLock { state -> (Bool, [CheckedContinuation<Void, Never>]) in
          guard state.isClosed, !Task.isCancelled else { return (true, []) }
          state.waiting.append(continuation)
          defer { state.arrivals = [] }
          return (false, state.arrivals)
        }
        if passes { continuation.resume() }
        for arrival in arrivals { arrival.resume() }
      }
    } onCancel: {
      // A held request ends when its task is cancelled; with one gate for each test it is the only one.
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
    return try await base.send(request)
  }
}

/// What the blocks of an operation were told, in order, and whether ever two ran at once.
final class Trace: Sendable {
  private struct State {
    var events: [String] = []
    var isInside = false
    var overlapped = false
  }

  private let state = Mutex(State())

  var events: [String] { state.withLock { $0.events } }
  var overlapped: Bool { state.withLock { $0.overlapped } }

  func note(_ event: String) {
    state.withLock { state in
      if state.isInside { state.overlapped = true }
      state.isInside = true
      state.events.append(event)
    }
    // The next block would meet this one here, were they called at once.
    sched_yield()
    state.withLock { $0.isInside = false }
  }
}

/// `ok`, or the code of the error, with those of its items.
func told(_ error: (any Error)?) -> String {
  guard let error else { return "ok" }
  guard let error = error as? CKError else { return "\(error)" }
  let items = error.partialErrorsByItemID?.map { key, error in
    let name =
      switch key.base {
      case let id as CKRecord.ID: id.recordName
      case let id as CKRecordZone.ID: id.zoneName
      default: "\(key.base)"
      }
    return "\(name): \(told(error))"
  }
  return items.map { "\(error.code) \($0.sorted())" } ?? "\(error.code)"
}

func told<Value>(_ result: Result<Value, any Error>) -> String {
  switch result {
  case .success: "ok"
  case .failure(let error): told(error)
  }
}
