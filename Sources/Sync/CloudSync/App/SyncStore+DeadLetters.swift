import CloudKit
import Facts
import Foundation

/// Dead letters that the app may repair.
extension SyncStore {
  /// A dead letter as shown to the app.
  struct DeadLetter: Sendable {
    var id: Int64
    var generation: Int64
    var change: FailedChange
    /// The whole record with the failed change applied; nil for a deletion.
    var record: MirrorRecord?
  }

  /// The app's decision about a dead letter.
  enum DeadLetterAnswer: Hashable, Sendable {
    case keep, retry, discard
    case replace([String: FieldValue])
  }

  /// Failed saves and deletions that have not been shown to the app in this version, oldest first, at most a hundred.
  func deadLettersToOffer() throws(StoreError) -> [DeadLetter] {
    try read { ledger in
      try ledger.deadLettersToOffer(limit: 100).map { operation in
        DeadLetter(
          id: operation.id,
          generation: operation.generation,
          change: FailedChange(QueueRow(operation, serverTag: nil)),
          record: try operation.kind == .save ? ledger.local(operation).record : nil
        )
      }
    }
  }

  /// Records that a dead letter was shown to the app, and applies its decision.
  func offered(_ letter: DeadLetter, _ answer: DeadLetterAnswer) throws(StoreError) {
    let now = now()
    try write { ledger in
      guard var operation = try ledger.operation(letter.id), operation.state == .failed,
        operation.generation == letter.generation
      else { return }
      switch answer {
      case .keep:
        operation.isOffered = true
        try ledger.update(operation)
      case .retry:
        // Offered again only if it has been edited since: an app that always retries would never end.
        operation.isOffered = true
        try perform(.retry, on: operation, now: now, ledger)
      case .discard: try perform(.discard, on: operation, now: now, ledger)
      case .replace(let fields):
        guard let record = letter.record else { return }
        try repair(&operation, record, with: fields, now: now, ledger)
      }
    }
  }

  /// Carries out the app's command, as that of an operator.
  private func perform(_ verb: QueueVerb, on operation: QueuedOperation, now: Int64, _ ledger: Ledger) throws {
    let (actor, id) = ("app", operation.id)
    try audit(.of(verb, .operations([id])), 1, actor, operation: id, zone: operation.key.zone, now: now, ledger)
    try Self.apply(verb, to: [operation], isFinal: false, actor, now: now, ledger)
  }

  private func repair(
    _ operation: inout QueuedOperation,
    _ shown: MirrorRecord,
    with replacement: [String: FieldValue],
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let server = try ledger.local(operation).server
    let cleared = Set(shown.fields.keys).subtracting(replacement.keys)
    let edit = FieldChanges(values: replacement, cleared: cleared).effective(on: shown.fields)
    var encrypted = EncryptedFields()
    if let problem = EncryptedFields.problem(
      of: edit,
      try encrypted.concerned(by: edit, of: operation.type ?? "", ledger)
    ) {
      // The change stays failed.
      operation.isOffered = true
      try ledger.update(operation)
      let event = Event.error(code: StoreError.refused, message: problem, scope: operation.key.name)
      return try EventLog.add(event, of: operation, now: now, ledger)
    }
    let tag = shown.changeTag.isEmpty ? nil : shown.changeTag
    operation.apply(edit, to: shown.fields, readAt: tag, server)
    // If this one fails too, an operator decides.
    operation.isOffered = true
    operation.apply(.repaired(now: now))
    if operation.changes.isEmpty, server != nil {
      try ledger.end(operation, .merged, .withdrawnByApp, now: now)
    } else {
      try ledger.update(operation)
    }
    try EventLog.add(.repaired(record: operation.key.name), of: operation, now: now, ledger)
  }
}

/// Failed saves that a person edits.
extension SyncStore {
  package enum EditOutcome: Hashable, Sendable {
    /// The change is sent again.
    case queued
    /// The edit left nothing to send, so the change was discarded.
    case discarded
    /// The change, or the server's record, is no longer what was edited; nothing was done.
    case moved
    /// The change is not a failed save; nothing was done.
    case notFailed
  }

  /// A state that a person has seen and edits.
  package struct EditedVersion: Hashable, Sendable {
    /// The version of the operation.
    package var operation: String
    /// The change tag of the server's record that was shown beside it; nil if it was not shown.
    package var serverTag: String??

    package init(operation: String, serverTag: String?? = nil) {
      (self.operation, self.serverTag) = (operation, serverTag)
    }
  }

  /// Sets fields of a failed save, or clears them, and sends it again.
  ///
  /// The type of a field is that of the assignment, else that of the server's record, else that of the newest records
  /// of its type, else that of the failed change if its text does not show it.
  ///
  /// - Parameter version: the state that was edited; nil: the current one.
  /// - Throws: `StoreError`, with nothing changed, if a value does not fit its field.
  package func edit(
    _ id: Int64,
    _ assignments: [FieldAssignment],
    ifVersion version: EditedVersion? = nil,
    actor: String
  ) throws(StoreError) -> EditOutcome {
    let now = now()
    return try write { ledger in
      guard var operation = try ledger.operation(id), operation.state == .failed, operation.kind == .save else {
        return .notFailed
      }
      guard operation.errorCode != StoreError.unreadable else {
        throw StoreError(.invalid, "operation \(id) is damaged in the store; discard it, or edit the record again")
      }
      let local = try ledger.local(operation)
      if let version {
        guard version.operation == operation.version(serverTag: nil) else { return .moved }
        if let tag = version.serverTag, tag != local.mirror?.changeTag { return .moved }
      }
      let before = operation
      let edit = try Self.edit(assignments, of: operation, local.mirror, ledger).completed(from: local.fields)
        .canonical(in: operation.key.zoneKey)
      if let problem = try Self.referenceProblem(of: edit, in: operation.key.zoneKey, names, ledger) {
        throw StoreError(.invalid, problem)
      }
      operation.apply(edit, to: local.fields, readAt: local.server?.changeTag, local.server)
      operation.assets = operation.assets.kept(by: operation.changes)
      operation.editedAt = now
      let command = Event.Command.edit(operation: id, fields: edit.names.sorted())
      try audit(command, 1, actor, operation: id, zone: operation.key.zone, now: now, ledger)
      guard operation.changes.isEmpty, local.server != nil else {
        try Self.apply(.retry, to: [operation], isFinal: false, actor, now: now, ledger)
        return .queued
      }
      try ledger.add(DroppedChange(before.changes, of: before, .discarded(by: actor), at: now))
      try ledger.end(operation, .discarded, .discarded(by: actor), now: now)
      return .discarded
    }
  }

  private static func edit(
    _ assignments: [FieldAssignment],
    of operation: QueuedOperation,
    _ mirror: MirrorRecord?,
    _ ledger: Ledger
  ) throws -> FieldChanges {
    var edit = FieldChanges()
    let recordType = operation.type ?? ""
    let known = try ledger.fieldTypes(of: recordType, wanted: Set(assignments.map(\.name)))
    let isTyped = assignments.contains { $0.type != nil }
    let sources = isTyped ? try ledger.fieldTypesBySource(of: recordType) : nil
    for assignment in assignments {
      let name = assignment.name
      let (fetched, own) = (mirror?.fields[name]?.wireType, operation.changes[name])
      let type = fetched ?? known[name] ?? own?.typeNotInText
      do {
        let queued = [sources?.queued[name], own?.wireType].compactMap(\.self)
        try assignment.checkEncryption(fetched: fetched ?? sources?.fetched[name], queued: queued)
        edit[name] = try assignment.value(knownType: type)
      } catch {
        guard assignment.assetPath(knownType: type) != nil else { throw StoreError(.invalid, error.message) }
        let put = "cktop records put --name \(operation.key.name.asArgument) \(name):ASSETID=PATH"
        throw StoreError(.invalid, "\(name) is a file, which no edit changes; give it with \(put)")
      }
    }
    return edit
  }
}

extension FieldValue {
  /// The wire type, if its values are written like texts or are files, or do not show that they are encrypted. The type
  /// of a text or number may be why the change failed.
  package var typeNotInText: String? {
    switch self {
    case .timestamp, .location, .bytes, .reference, .asset, .encrypted: wireType
    default: nil
    }
  }
}

extension QueuedOperation {
  /// Applies an edit to a failed save.
  ///
  /// The queued change may clear fields and have rules that a record does not show. It keeps its base, because the
  /// editor has not seen later changes by others.
  ///
  /// - Parameters:
  ///   - fields: the whole record that was edited.
  ///   - tag: the server's change tag at that time.
  fileprivate mutating func apply(
    _ edit: FieldChanges,
    to fields: [String: FieldValue],
    readAt tag: String?,
    _ mirror: MirrorRecord?
  ) {
    for name in edit.names.subtracting(changes.names) { base[name] = fields[name] }
    changes.apply(edit)
    if mirror?.changeTag != baseTag || mirror?.changeTag != tag { apply(.stale) }
    generation += 1
    // A reverted field need not be sent, unless the record is created with it or an unconfirmed request may write it.
    guard !isUnconfirmed else { return }
    let isCreate = baseTag == nil
    for name in edit.names where changes[name].isSame(as: base[name]) && !(isCreate && !base[name].isAbsent) {
      changes.forget(name)
    }
  }

  /// Whether this version of the dead letter has been shown to the app.
  var isOffered: Bool {
    get { asked == .deadLetter(generation: generation) }
    set { asked = newValue ? .deadLetter(generation: generation) : nil }
  }
}
