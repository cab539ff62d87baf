import CloudKit
import Facts
import Foundation

/// Dead letters that an app may put right.
extension SyncStore {
  /// A dead letter as an app sees it.
  struct DeadLetter: Sendable {
    var id: Int64
    var generation: Int64
    var key: RecordKey
    var type: String
    /// The whole record with the failed change in it.
    var fields: [String: FieldValue]
    var tag: String?
    var failure: SyncFailure
  }

  /// Failed saves that have not been offered in this version, oldest first, a hundred at most.
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

  /// Writes down that a dead letter was offered, and what is to be sent in its place, if anything.
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
      // Onto what is queued, which may clear fields and have rules that no record shows. What it was made on stays what it
      // was made on: the app has not seen what others have written since.
      let cleared = Set(letter.fields.keys).subtracting(replacement.keys)
      let edit = FieldChanges(values: replacement, cleared: cleared).effective(on: letter.fields)
      for name in edit.names.subtracting(operation.changes.names) { operation.base[name] = letter.fields[name] }
      operation.changes.apply(edit)
      if mirror?.changeTag != operation.baseTag || mirror?.changeTag != letter.tag { operation.needsReadBack = true }
      // What is taken back need not be sent, unless the record is to be made with it, or an unanswered request may write it.
      if !operation.isUnanswered {
        let (base, makes) = (operation.base, operation.baseTag == nil)
        for name in edit.names where operation.changes[name] == base[name] && !(makes && base[name] != nil) {
          operation.changes.forget(name)
        }
      }
      operation.generation += 1
      // Should this one fail, too, it is an operator's.
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
  /// Whether the app has been offered it, a dead letter, as it is now.
  var isOffered: Bool {
    get { askedAbout == "\(generation)" }
    set { askedAbout = newValue ? "\(generation)" : nil }
  }
}
