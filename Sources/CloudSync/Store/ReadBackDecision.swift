import CloudKit
import Facts

/// The reply to the re-fetch of unconfirmed operations.
enum ReadBackReply {
  /// Each record, nil if the server does not hold it, or its error.
  case records([RecordKey: Result<MirrorRecord?, WebServicesError>])
  case zoneMissing(WebServicesError)
  /// The server rejected the request as a whole: one of its names may be at fault, so bisection finds it.
  case rejected(WebServicesError)

  var isZoneMissing: Bool { if case .zoneMissing = self { true } else { false } }

  /// Matches the elements of a reply to the records requested in a zone.
  ///
  /// - Throws: an error without a name that ends the sync.
  init(_ results: [WireRecordResult], to keys: [RecordKey], in zone: ZoneKey) throws(WebServicesError) {
    var found: [RecordKey: Result<MirrorRecord?, WebServicesError>] = [:]
    var nameless: WebServicesError?
    for result in results {
      switch result {
      case .record(let wire):
        if let record = MirrorRecord(wire, in: zone) { found[record.key] = .success(record) }
      case .deleted(let name, _): found[RecordKey(zone, name)] = .success(nil)
      case .failure(let name?, let error):
        let isAbsent = error.means(.absent, during: .verifying(isWhole: false))
        found[RecordKey(zone, name)] = isAbsent ? .success(nil) : .failure(error)
      case .failure(nil, let error) where Disposition(of: error, during: .fetching).stopsSync: throw error
      case .failure(nil, let error): nameless = error
      }
    }
    for key in keys where found[key] == nil {
      found[key] = .failure(nameless ?? WebServicesError(.unexpectedServerResponse, "the reply omits \(key.name)"))
    }
    self = .records(found)
  }
}

/// The decision about one unconfirmed operation, given the reply to its re-fetch.
struct ReadBackDecision: Hashable {
  private(set) var writes: [StoreWrite] = []
  /// The scope that waits because of the error.
  private(set) var wait: WaitScope?
  /// The error of its record.
  private(set) var error: WebServicesError?
  private var operation: QueuedOperation
  private let request: SentRequest

  init(_ operation: QueuedOperation, _ reply: ReadBackReply, of request: SentRequest, _ facts: RecordFacts) {
    (self.operation, self.request) = (operation, request)
    switch reply {
    case .records(let found):
      switch found[operation.key] {
      case .success(let record): rebase(onto: record, facts)
      case .failure(let error): fail(error)
      // Another operation than those whose records were requested.
      case nil: break
      }
    case .zoneMissing(let error): meetMissingZone(error, facts)
    case .rejected(let error): bisect(error)
    }
  }

  private mutating func rebase(onto record: MirrorRecord?, _ facts: RecordFacts) {
    if operation.bisection?.isCheck == true { operation.apply(.bisected(nil)) }
    writes = Rebase(operation, onto: record, facts, policy: request.policy, now: request.now).writes
  }

  private mutating func meetMissingZone(_ error: WebServicesError, _ facts: RecordFacts) {
    operation.apply(.compared)
    operation.apply(.confirmed())
    writes = operation.meetMissingZone(error, facts, now: request.now)
    writes.append(.update(operation))
  }

  /// Handles a rejected request. The server may be failing in general: no operation is at fault unless other requests
  /// succeed or this lasts.
  private mutating func bisect(_ error: WebServicesError) {
    let isPassing = request.waits[.database].map { $0 < Throttles.longWait } ?? false
    let isToBlame = operation.bisection != nil && !isPassing
    operation.apply(.bisected(.check(request: request.number)))
    if request.count == 1, isToBlame || error.means(.isolate, during: .verifying(isWhole: true)) { return fail(error) }
    operation.cause = .checkRefused(code: error.code.name)
    writes = [.update(operation)]
  }

  /// Handles the error of a single record, which does not hold up the others.
  private mutating func fail(_ error: WebServicesError) {
    self.error = error
    (operation.errorCode, operation.errorMessage) = (error.code.name, error.reason)
    wait = Disposition(of: error, during: .verifying(isWhole: false)).scope(in: operation.key.zoneKey)
    if let wait {
      operation.cause = .checkWaits(wait.asCause, code: error.code.name)
    } else {
      operation.apply(.attempted)
      if operation.attempts >= operation.maxAttempts {
        operation.apply(.failed(.cannotVerify(code: error.code.name, message: error.reason)))
      } else {
        operation.apply(.backedOff(error, now: request.now, random: request.random))
      }
    }
    writes = [.attempt(of: operation.id, to: "read it back", error, seconds: request.seconds), .update(operation)]
  }
}

extension QueuedOperation.Bisection {
  var isCheck: Bool { if case .check = self { true } else { false } }
}
