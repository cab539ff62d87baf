import CloudKit

/// Planning what is sent next.
extension SyncStore {
  /// Returns the next step of the engine.
  ///
  /// - Parameters:
  ///   - typeOrder: the order of record types that no reference determines.
  ///   - savesMayGo: whether to send saves that need the app's approval: it is asked, or an operator released them.
  package func plan(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool = false) throws(StoreError) -> Step {
    let now = now()
    return try read { try Self.plan(typeOrder: typeOrder, savesMayGo: savesMayGo, now: now, $0) }
  }

  static func plan(typeOrder: TypeOrder = TypeOrder(), savesMayGo: Bool, now: Int64, _ ledger: Ledger) throws -> Step {
    let facts = try ledger.planFacts()
    let asks = try ledger.settings(stored: facts.settings).asksBeforeSending == true
    let scope = try ledger.sendScope(now: now, savesWaitForApp: asks && !savesMayGo)
    let planner = Planner(operationLimit: facts.operationLimit ?? Planner.requestLimit)
    return try planner.plan(StoredWorkload(scope, facts, typeOrder, ledger))
  }

  /// The time since which one of the operations that the plan for a scope sends or verifies, once missing zones are
  /// created, is not waiting for its own next attempt; nil if the plan does neither.
  static func sendableSince(_ scope: SendScope, _ ledger: Ledger) throws -> Int64? {
    var scope = scope
    scope.missingZones = []
    let step = try Planner().plan(StoredWorkload(scope, ledger.planFacts(), window: 50, ledger))
    switch step {
    case .rest, .held: return nil
    // A step that names no operation renews notes after a write of this moment.
    default: return try ledger.sendableSince(step.operations) ?? scope.now
    }
  }

  /// The number of changes that are still to be sent, for the progress.
  func leftToSend() throws(StoreError) -> Int {
    try read { ledger in
      var status = StoreStatus(generatedAt: 0)
      (status.queue.parts, status.pauses) = (try ledger.queueParts(), try ledger.pauses())
      return status.leftToSend
    }
  }

  /// Notes the blockers of operations and renews notes that may be out of date, so that the next plan finds those that
  /// can be sent.
  func noteBlockers(of ids: [Int64], _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, _ in
      for id in ids { try ledger.noteBlocker(of: id) }
      try Self.renewNotes(ledger)
    }
  }

  static func renewNotes(_ ledger: Ledger) throws { try ledger.noteEndedBlockers(limit: Planner.notesAtOnce) }
}
