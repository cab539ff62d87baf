public import CloudKit
import Facts

/// A change that is on disk, to await its outcome.
///
/// ```swift
/// switch try await service.save(record).outcome {
/// case .sent(let record): show(record)
/// case .failed(let failure): show(failure.ckError)
/// case .conflict(let conflict): ask(conflict)
/// case .merged, .superseded, .discarded: break
/// }
/// ```
public struct QueuedChange: Sendable {
  /// The record to save or delete.
  public let recordID: CKRecord.ID
  /// Whether the record is to be deleted.
  public let isDeletion: Bool
  /// The number of the operation, as `cktop queue list` shows it. Later changes of the record that are accepted before
  /// it is sent share it. Nil if nothing had to be queued: the server's record already has these values.
  public let id: Int64?
  let store: SyncStore
  /// The database that downloads the assets of the record.
  let origin: CKDatabase?

  /// Waits until the change is sent, fails, is dropped or needs a person, and returns which of these.
  ///
  /// It may take as long as the machine is offline, paused or signed out; cancel the task to stop waiting, which does
  /// not affect the change. It does not matter which process syncs the store. A failed change and a conflict can still
  /// be retried or resolved: then the next access waits again.
  ///
  /// - Throws: `CancellationError`; `StoreError` if the store cannot be read, or the change ended so long ago (90 days,
  ///   or 100,000 other changes) that its outcome is not stored any more.
  public var outcome: ChangeOutcome {
    get async throws { try await store.outcomes(of: [self])[0] }
  }
}

/// The outcome of a queued change.
public enum ChangeOutcome: Sendable {
  /// The server has the change. The record as the server has it now; nil if it is deleted.
  case sent(CKRecord?)
  /// The server or the app rejected it, or its attempts are used up. It stays in the queue until it is retried,
  /// discarded or edited.
  case failed(SyncFailure)
  /// Both sides changed the record, and a person decides. It stays in the queue until then.
  case conflict(OpenConflict)
  /// The record changed on the server too, and the policy or a person kept the server's values of some fields. What
  /// else the change contains is on the server. The dropped values can be restored by an undo until the record is
  /// edited again.
  ///
  /// The record is as the server has it now; nil if it is deleted. `dropped` names the fields whose values were
  /// dropped, in ascending order, of this change and of others that share its ``QueuedChange/id``; `parent` stands for
  /// the parent. It is empty if a deletion was dropped.
  case merged(CKRecord?, dropped: [CKRecord.FieldKey])
  /// A later change took its place before it was sent: an edit back to the server's values, the deletion of the record
  /// or of its zone, or a save after its deletion.
  case superseded
  /// A person or the app discarded it.
  case discarded
}

/// The outcomes of several changes, one for each.
public struct BatchOutcome: Sendable {
  /// A change with its outcome.
  public struct Item: Sendable {
    /// The change.
    public let change: QueuedChange
    /// Its outcome.
    public let outcome: ChangeOutcome
  }

  /// All changes with their outcomes, in the order of the call that accepted them.
  public let items: [Item]

  /// The records whose changes the server has.
  public var successful: [CKRecord.ID] {
    items.compactMap {
      switch $0.outcome {
      case .sent: $0.change.recordID
      case .merged, .failed, .conflict, .superseded, .discarded: nil
      }
    }
  }

  /// The changes that failed, with the reason.
  public var failed: [(recordID: CKRecord.ID, failure: SyncFailure)] {
    items.compactMap { if case .failed(let failure) = $0.outcome { ($0.change.recordID, failure) } else { nil } }
  }

  /// The conflicts to resolve.
  public var conflicts: [OpenConflict] {
    items.compactMap { if case .conflict(let conflict) = $0.outcome { conflict } else { nil } }
  }

  /// The records whose changes, or parts of them, are not sent any more: merged, superseded or discarded.
  public var dropped: [CKRecord.ID] {
    items.compactMap {
      switch $0.outcome {
      case .merged, .superseded, .discarded: $0.change.recordID
      case .sent, .failed, .conflict: nil
      }
    }
  }
}

extension [QueuedChange] {
  /// Waits for the outcome of every change, as for a single one. One that fails does not end the wait for the others.
  ///
  /// - Throws: `CancellationError`; `StoreError` as for a single change.
  public var outcomes: BatchOutcome {
    get async throws {
      var items = [BatchOutcome.Item?](repeating: nil, count: count)
      for places in Dictionary(grouping: indices, by: { ObjectIdentifier(self[$0].store) }).values {
        let changes = places.map { self[$0] }
        let outcomes = try await changes[0].store.outcomes(of: changes)
        for (place, outcome) in zip(places, outcomes) { items[place] = .init(change: self[place], outcome: outcome) }
      }
      return BatchOutcome(items: items.compactMap(\.self))
    }
  }
}

extension SyncStore {
  /// Waits for the outcome of each change.
  @concurrent
  func outcomes(of changes: [QueuedChange]) async throws -> [ChangeOutcome] {
    let wakeup = Wakeup()
    let wait = outcomeWaits.add(wakeup, of: self)
    defer { outcomeWaits.remove(wait) }
    var outcomes = [ChangeOutcome?](repeating: nil, count: changes.count)
    while true {
      try Task.checkCancellation()
      outcomeWaits.set(outcomes.indices.compactMap { outcomes[$0] == nil ? changes[$0].id : nil }, of: wait)
      try decide(&outcomes, of: changes)
      let decided = outcomes.compactMap(\.self)
      if decided.count == changes.count { return decided }
      // Ended by a write that concerns one of the changes, or by cancellation.
      await wakeup.sleep(nil)
    }
  }

  /// The outcome of a change, if it has one by now.
  package func outcome(of change: QueuedChange) throws(StoreError) -> ChangeOutcome? {
    var outcomes: [ChangeOutcome?] = [nil]
    try decide(&outcomes, of: [change])
    return outcomes[0]
  }

  /// Fills in the outcomes that are known by now.
  private func decide(_ outcomes: inout [ChangeOutcome?], of changes: [QueuedChange]) throws(StoreError) {
    let open = outcomes.indices.filter { outcomes[$0] == nil }
    let decided = try read { ledger in
      let underWay = try ledger.underWay(open.compactMap { changes[$0].id })
      return try open.compactMap { place -> (Int, ChangeOutcome)? in
        if let id = changes[place].id, underWay.contains(id) { return nil }
        return try Self.outcome(of: changes[place], ledger).map { (place, $0) }
      }
    }
    for (place, outcome) in decided { outcomes[place] = outcome }
  }

  /// The outcome of a change; nil as long as it has none.
  private static func outcome(of change: QueuedChange, _ ledger: Ledger) throws -> ChangeOutcome? {
    let server = try ledger.record(RecordKey(change.recordID))
    let record = server.map { CKRecord($0) }
    change.origin?.adoptAssets(of: record.map { [$0] } ?? [])
    guard let id = change.id else { return .sent(record) }
    if let operation = try ledger.operation(id) {
      switch operation.state {
      case .failed: return .failed(SyncFailure(operation))
      case .conflict:
        // The app decides first, if it has to.
        if try ledger.settings().asksAboutConflicts == true, try ledger.isForApp(id) { return nil }
        return .conflict(OpenConflict(operation, server))
      case .pending, .inFlight, .waiting, .paused: return nil
      }
    }
    guard let ended = try ledger.history(of: id) else {
      throw StoreError(.invalid, "change \(id) ended so long ago that its outcome is not stored any more")
    }
    if case (.superseded, .deletedBeforeSent) = (ended.ending, ended.cause), change.isDeletion { return .sent(nil) }
    // A later change of the other kind took its place in the same operation.
    guard (ended.kind == .delete) == change.isDeletion else { return .superseded }
    switch ended.ending {
    case .acknowledged, .merged:
      // A change that was dropped as a whole and sent has been restored, or is a deletion now.
      let kept = try ledger.dropped(of: id).filter { !$0.isWhole }
      let dropped = kept.flatMap(\.changes.names).map(FieldChanges.displayName)
      guard ended.ending == .merged || !dropped.isEmpty else { return .sent(ended.kind == .delete ? nil : record) }
      return .merged(record, dropped: Set(dropped).sorted())
    case .superseded: return .superseded
    case .discarded: return .discarded
    }
  }
}

extension SyncFailure {
  /// The failure of a dead letter.
  init(_ operation: QueuedOperation) {
    self.init(code: operation.errorCode ?? "", message: operation.errorMessage ?? "")
  }
}
