import CloudKit
import Facts

extension SyncStore {
  /// Applies the reply to the re-fetch of unconfirmed operations.
  func finishReadBack(
    _ ids: [Int64],
    _ reply: ReadBackReply,
    policy: MergePolicy,
    seconds: Double,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    try write(lease) { ledger, now in
      let operations = try ledger.operations(ids).filter(\.needsReadBack)
      var request = SentRequest(operations, seconds: seconds, policy: policy, now: now, random: random)
      var result = OutcomeCounts()
      // One reply is one reason to wait, however many of its elements say so.
      var waits: [WaitScope: WebServicesError] = [:]
      if case .rejected(let error) = reply {
        request.waits[.database] = try ledger.wait(.database)?.seconds
        // Unless one of the names is at fault, and not the server.
        if !error.means(.isolate, during: .verifying(isWhole: true)) { waits.note(.database, error) }
        try ledger.clear(operations.compactMap(\.bisection).filter(\.isCheck), except: operations, by: .bisected(nil))
        result.error = error
      }
      for id in operations.map(\.id) {
        // The loss of the zone may have changed or ended it.
        guard let operation = try ledger.operation(id), operation.needsReadBack else { continue }
        let facts = try RecordFacts(of: operation, zoneIsMissing: reply.isZoneMissing, policy, ledger)
        let decision = ReadBackDecision(operation, reply, of: request, facts)
        try ledger.write(decision.writes, now: now)
        for write in decision.writes {
          guard case .update(let operation) = write else { continue }
          if operation.end != nil { result.acknowledged += 1 } else if operation.state == .failed { result.failed += 1 }
        }
        guard let error = decision.error else { continue }
        result.error = error
        if let scope = decision.wait { waits.note(scope, error) }
      }
      try Throttles.set(waits, now: now, random: random, ledger)
      try ledger.count(sent: result.acknowledged, now: now)
      return result
    }
  }
}
