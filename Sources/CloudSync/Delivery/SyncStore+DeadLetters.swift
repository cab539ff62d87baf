import CloudKit
import Facts
import Foundation

/// Dead letters that the app may repair.
extension SyncStore {
  /// A dead letter as shown to the app.
  struct DeadLetter: Sendable {
    var id: Int64
    var generation: Int64
    var key: RecordKey
    var type: String
    /// The whole record with the failed change applied.
    var fields: [String: FieldValue]
    var tag: String?
    var failure: SyncFailure
  }

  /// Failed saves that have not been shown to the app in this version, oldest first, at most a hundred.
  func deadLettersToOffer() throws(StoreError) -> [DeadLetter] {
    try read { ledger in
      try ledger.deadLettersToOffer(limit: 100).map { operation in
        let mirror = try ledger.record(operation.key)
        return DeadLetter(
          id: operation.id,
          generation: operation.generation,
          key: operation.key,
          type: operation.type ?? "",
          fields: operation.changes.applied(to: mirror?.fields ?? [:]),
          tag: mirror?.changeTag,
          failure: SyncFailure(code: operation.errorCode ?? "", message: operation.errorMessage ?? "")
        )
      }
    }
  }

  /// Records that a dead letter was shown to the app, and queues the replacement, if any.
  func offered(_ letter: DeadLetter, _ replacement: [String: FieldValue]?) throws(StoreError) {
    let now = now()
    try write { ledger in
      guard var operation = try ledger.operation(letter.id), operation.state == .failed,
        operation.generation == letter.generation
      else { return }
      guard let replacement else {
        operation.isOffered = true
        return try ledger.update(operation)
      }
      let mirror = try ledger.record(operation.key)
      // Apply the edit to the queued change, which may clear fields and have rules that a record does not show. Keep
      // its base, because the app has not seen later changes by others.
      let cleared = Set(letter.fields.keys).subtracting(replacement.keys)
      let edit = FieldChanges(values: replacement, cleared: cleared).effective(on: letter.fields)
      for name in edit.names.subtracting(operation.changes.names) { operation.base[name] = letter.fields[name] }
      operation.changes.apply(edit)
      if mirror?.changeTag != operation.baseTag || mirror?.changeTag != letter.tag { operation.needsReadBack = true }
      // A reverted field need not be sent, unless the record is created with it or an unconfirmed request may write it.
      if !operation.isUnanswered {
        let (base, makes) = (operation.base, operation.baseTag == nil)
        for name in edit.names where operation.changes[name] == base[name] && !(makes && base[name] != nil) {
          operation.changes.forget(name)
        }
      }
      operation.generation += 1
      // If this one fails too, an operator decides.
      operation.isOffered = true
      operation.editedAt = now
      operation.forgetFailures()
      operation.state = .pending
      operation.cause = .readyAgain(.repairedByApp)
      if operation.changes.isEmpty, mirror != nil {
        try ledger.end(operation, .merged, .withdrawnByApp, now: now)
      } else {
        try ledger.update(operation)
      }
      try EventLog.add(.repaired(record: operation.key.name), of: operation, now: now, ledger)
    }
  }
}

extension QueuedOperation {
  /// Whether this version of the dead letter has been shown to the app.
  var isOffered: Bool {
    get { askedAbout == "\(generation)" }
    set { askedAbout = newValue ? "\(generation)" : nil }
  }
}
