import CloudKit
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
      let offered = Self.offers(try ledger.value("offered"))
      return try ledger.operations(in: .failed).lazy
        .filter { operation in
          // Of what cannot be read there is nothing to be repaired.
          operation.kind == .save && operation.errorCode != StoreError.unreadable
            && offered[operation.id] != operation.generation
        }
        .prefix(100)
        .map { operation in
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
      var offers = Self.offers(try ledger.value("offered"))
      // What is no dead letter any more need not be remembered.
      let failed = Set(try ledger.operations(in: .failed).map(\.id))
      offers = offers.filter { failed.contains($0.key) }
      offers[letter.id] = letter.generation
      if var operation = try ledger.operation(letter.id), operation.state == .failed,
        operation.generation == letter.generation, let replacement
      {
        let mirror = try ledger.record(operation.key)
        // Onto what is queued, which may clear fields and have rules that no record shows. What it was made on stays what it
        // was made on: the app has not seen what others have written since.
        let cleared = Set(letter.fields.keys).subtracting(replacement.keys)
        let edit = FieldChanges(values: replacement, cleared: cleared).effective(on: letter.fields)
        for name in edit.names.subtracting(operation.changes.names) { operation.base[name] = letter.fields[name] }
        operation.changes.apply(edit)
        if mirror?.changeTag != operation.baseTag || mirror?.changeTag != letter.tag { operation.needsReadBack = true }
        // What is taken back need not be sent, unless an unanswered request may yet write it.
        if !operation.isUnanswered {
          let base = operation.base
          for name in edit.names where operation.changes[name] == base[name] { operation.changes.forget(name) }
        }
        operation.generation += 1
        operation.editedAt = now
        operation.attempts = 0
        operation.errorCode = nil
        operation.errorMessage = nil
        operation.state = .pending
        operation.reason = "repaired by the app, ready to send"
        // Should this one fail, too, it is an operator's.
        offers[letter.id] = operation.generation
        if operation.changes.isEmpty, mirror != nil {
          try ledger.end(operation, .merged, "the app took its change back", now: now)
        } else {
          try ledger.update(operation)
        }
        try EventLog.add("repair", "\(operation.key.name) was repaired by the app", now: now, ledger)
      }
      try ledger.setValue("offered", String(decoding: try JSONEncoder().encode(offers), as: UTF8.self))
    }
  }

  /// Operations with the generation in which they were offered.
  private static func offers(_ stored: String?) -> [Int64: Int64] {
    stored.flatMap { try? JSONDecoder().decode([Int64: Int64].self, from: Data($0.utf8)) } ?? [:]
  }
}
