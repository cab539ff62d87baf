package import CloudKit

/// The server's result for one operation that was sent or verified.
package enum Outcome: Hashable, Sendable {
  /// Saved, with the record as the server holds it now.
  case saved(MirrorRecord)
  case deleted
  /// The zone was created or deleted.
  case zoneDone
  case failed(WebServicesError, Disposition)
  /// Asked what became of an unconfirmed operation, the server returned this.
  case verified(Found)
  case notVerified(WebServicesError, Disposition)

  /// The object of an operation on the server.
  package enum Found: Hashable, Sendable {
    case record(MirrorRecord)
    case zone(token: String?)
    case nothing
  }

  /// Whether the server carried it out, or returned what is needed to verify it.
  var isSuccess: Bool {
    switch self {
    case .saved, .deleted, .zoneDone, .verified: true
    case .failed, .notVerified: false
    }
  }

  /// Whether it answers a request that verifies, not one that sends.
  var isOfVerification: Bool {
    switch self {
    case .saved, .deleted, .zoneDone, .failed: false
    case .verified, .notVerified: true
    }
  }

  /// Whether the request failed as a whole, so that bisection finds the operation at fault, if any is.
  var isRejection: Bool {
    switch self {
    case .failed(_, let disposition), .notVerified(_, let disposition):
      [.isolate, .outage, .verify].contains(disposition)
    case .saved, .deleted, .zoneDone, .verified: false
    }
  }

  /// Whether the server reports that the zone does not exist.
  var missesZone: Bool {
    if case .failed(let error, _) = self { error.code == .zoneNotFound } else { false }
  }

  /// Whether the server reports that what was to be deleted does not exist.
  fileprivate var missesTarget: Bool {
    if case .failed(let error, .acknowledge) = self { error.code == .notFound } else { false }
  }

  /// Whether the server carried it out when it was sent, or reported that there was nothing to do.
  var isDone: Bool {
    switch self {
    case .saved, .deleted, .zoneDone: true
    case .failed(_, let disposition): disposition == .acknowledge
    case .verified, .notVerified: false
    }
  }
}

/// Turns a reply into one outcome for each operation sent.
package enum Interpreter {
  package static func outcomes(
    of sent: [QueuedOperation],
    _ answer: Result<[WireResult<WireRecord>], WebServicesError>
  ) -> [Int64: Outcome] {
    let results: [WireResult<WireRecord>]
    switch answer {
    case .success(let elements): results = elements
    case .failure(let error):
      return Dictionary(uniqueKeysWithValues: sent.map { ($0.id, failure(of: $0, error, isWhole: true)) })
    }
    let blamesNobody =
      !results.isEmpty
      && results.allSatisfy { result in
        if case .failure(_, let error) = result { error.code == .atomicError } else { false }
      }
    var outcomes: [Int64: Outcome] = [:]
    for (operation, result) in zip(sent, results.matched(to: sent.map(\.key.name))) {
      let isDelete = (operation.sentKind ?? operation.kind) == .delete
      outcomes[operation.id] =
        switch SentResult(result, ofDelete: isDelete) {
        case .saved(let record):
          MirrorRecord(record, in: operation.key.zoneKey).map(Outcome.saved)
            ?? lost(operation, "the reply has the record without its type or tag")
        case .deleted: .deleted
        case .failed(let error): failure(of: operation, error, isWhole: blamesNobody && error.code == .atomicError)
        }
    }
    return outcomes
  }

  /// The outcome of a reply that does not show what became of the operation: verify.
  private static func lost(_ operation: QueuedOperation, _ reason: String) -> Outcome {
    let error = WebServicesError(.unexpectedServerResponse, reason, effect: .unknown)
    return failure(of: operation, error, isWhole: false)
  }

  package static func failure(of operation: QueuedOperation, _ error: WebServicesError, isWhole: Bool) -> Outcome {
    .failed(
      error,
      Disposition(
        of: error,
        during: .sending(
          operation.sentKind ?? operation.kind,
          isCreation: operation.baseTag == nil,
          attempt: operation.attempts + 1,
          of: operation.maxAttempts,
          isWhole: isWhole
        )
      )
    )
  }

  // MARK: - Zones

  /// Whether the server reports for some operation that its zone does not exist.
  static func missesZone(_ outcomes: [Int64: Outcome]) -> Bool { outcomes.values.contains(where: \.missesZone) }

  /// The operations for which the server reports that the zone, or what they were to delete, does not exist.
  static func doubtful(_ outcomes: [Int64: Outcome]) -> Set<Int64> {
    Set(outcomes.filter { $0.value.missesZone || $0.value.missesTarget }.keys)
  }

  /// The outcomes if the server does have what it reported as missing for some operations: a failure like others, after
  /// which they back off.
  static func outcomes(_ outcomes: [Int64: Outcome], of sent: [QueuedOperation], disproved: Set<Int64>) -> [Int64:
    Outcome]
  {
    var outcomes = outcomes
    for operation in sent where disproved.contains(operation.id) {
      guard case .failed(let error, _)? = outcomes[operation.id] else { continue }
      outcomes[operation.id] = .failed(
        error,
        .transient(attempt: operation.attempts + 1, of: operation.maxAttempts)
      )
    }
    return outcomes
  }

  package static func outcome(
    ofZoneOperation operation: QueuedOperation,
    _ answer: Result<[WireResult<WireZone>], WebServicesError>
  ) -> Outcome {
    switch answer {
    case .failure(let error): return failure(of: operation, error, isWhole: true)
    case .success(let results):
      switch results.matched(to: [operation.key.zoneKey.wire])[0] {
      case .item, .deleted: return .zoneDone
      // A zone request names a single zone, so nothing else can be the cause.
      case .failure(_, let error): return failure(of: operation, error, isWhole: error.code == .atomicError)
      case nil: return lost(operation, "the reply does not include the zone")
      }
    }
  }

  // MARK: - Verifying

  /// Turns the reply to a re-fetch into one outcome for each operation verified, all of one zone.
  ///
  /// - Throws: an error without a name that ends the sync.
  static func outcomes(
    ofVerifying asked: [QueuedOperation],
    in zone: ZoneKey,
    _ results: [WireResult<WireRecord>]
  ) throws(WebServicesError) -> [Int64: Outcome] {
    var found: [String: Outcome] = [:]
    var nameless: WebServicesError?
    for result in results {
      switch result {
      case .item(let wire):
        if let record = MirrorRecord(wire, in: zone) { found[record.key.name] = .verified(.record(record)) }
      case .deleted(let name, _): found[name] = .verified(.nothing)
      case .failure(let name?, let error): found[name] = outcome(ofVerifyingOne: error)
      case .failure(nil, let error) where Disposition(of: error, during: .fetching).stopsSync: throw error
      case .failure(nil, let error): nameless = error
      }
    }
    func omitted(_ name: String) -> Outcome {
      outcome(
        ofVerifyingOne: nameless ?? WebServicesError(.unexpectedServerResponse, "the reply omits \(name)")
      )
    }
    return Dictionary(uniqueKeysWithValues: asked.map { ($0.id, found[$0.key.name] ?? omitted($0.key.name)) })
  }

  /// The outcome of the error of one record. One wrong reply does not prove that its zone is missing.
  private static func outcome(ofVerifyingOne error: WebServicesError) -> Outcome {
    switch Disposition(of: error, during: .verifying(isWhole: false)) {
    case .absent: .verified(.nothing)
    case .zoneMissing: .notVerified(error, .backOff)
    case let disposition: .notVerified(error, disposition)
    }
  }

  /// The outcome of verifying an operation on a zone, given the zone's element of the reply.
  static func outcome(ofVerifyingZone zone: ZoneKey, _ result: WireResult<WireZone>?) -> Outcome {
    switch result {
    case .item(let zone): .verified(.zone(token: zone.syncToken))
    case .failure(_, let error) where result?.isMissing == false:
      .notVerified(error, Disposition(of: error, during: .verifying(isWhole: false)))
    case .deleted, .failure: .verified(.nothing)
    case nil: .notVerified(.unmentioned(zone), .wait(.throttle))
    }
  }

  // MARK: - References

  /// The referenced records that rejected saves need and that the server may not hold, by zone.
  package static func doubtfulTargets(
    of sent: [QueuedOperation],
    _ outcomes: [Int64: Outcome]
  ) -> [(zone: ZoneKey, names: [String])] {
    var targets: Set<RecordKey> = []
    for operation in sent where operation.kind == .save {
      guard case .failed(let error, _)? = outcomes[operation.id], error.code == .validatingReferenceError else {
        continue
      }
      targets.formUnion(operation.changes.targets(in: operation.key.zoneKey, validated: true).map(\.key))
    }
    return Dictionary(grouping: targets, by: \.zoneKey).sorted { $0.key < $1.key }.map { zone, keys in
      (zone, keys.map(\.name).sorted().prefix(Planner.requestLimit).map { $0 })
    }
  }

  /// The records that the server reports as missing.
  package static func absent(in results: [WireResult<WireRecord>], _ zone: ZoneKey) -> Set<RecordKey> {
    var absent: Set<RecordKey> = []
    for result in results {
      switch result {
      case .deleted(let name, _): absent.insert(RecordKey(zone, name))
      case .failure(let name?, let error) where error.means(.absent, during: .verifying(isWhole: false)):
        absent.insert(RecordKey(zone, name))
      case .item, .failure: continue
      }
    }
    return absent
  }

  package static func wireOperation(_ operation: QueuedOperation) -> WireRecordOperation {
    var record = WireRecord(recordName: operation.key.name, recordType: operation.type)
    record.recordChangeTag = operation.baseTag
    switch operation.kind {
    case .save:
      var values = operation.changes.values.filter { !$0.value.isEmptyList || operation.clears($0.key) }
      for (field, value) in values where value == .list(.unknown, []) {
        if case .list(let element, _)? = operation.base[field] { values[field] = .list(element, []) }
      }
      for field in Set(operation.assets.map(\.field)) {
        values[field] = values[field].map { operation.assets.addingReceipts(field, $0) }
      }
      // A record that does not exist yet has nothing to clear.
      record.take(values, clearing: operation.baseTag == nil ? [] : operation.changes.cleared)
      return WireRecordOperation(operation.baseTag == nil ? .create : .update, record)
    case .delete:
      record.recordType = nil
      return WireRecordOperation(operation.baseTag == nil ? .forceDelete : .delete, record)
    case .zoneSave, .zoneDelete:
      preconditionFailure("A zone operation is no operation of records/modify.")
    }
  }
}

extension QueuedOperation {
  /// Whether a field that this save empties has a value on the server, or may get one by an unconfirmed request. For
  /// other fields an empty list is left out: the server refuses one for a field that it does not know.
  fileprivate func clears(_ field: String) -> Bool {
    guard baseTag != nil else { return false }
    return !base[field].isAbsent || sentChanges.contains { $0.names.contains(field) }
  }
}

extension WebServicesError {
  /// The error of a reply that does not include a zone of the request.
  static func unmentioned(_ zone: ZoneKey) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "the reply does not mention zone \(zone.zone)")
  }
}
