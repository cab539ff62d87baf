import CloudKitSchema
import Foundation
import JSONText

/// `records/modify` (reference 5.3). All operations are decided first; the successful ones are then committed together.
/// [D]
extension Endpoint {
  func modify() throws(ServerError) -> Decision {
    let operations = try items("operations")
    let view = try view(of: call.body["zoneID"])
    let database = view.database
    var batch = ModifyBatch(self, in: view)
    var names = Set<String>()
    let keys = Self.names(call.body["desiredKeys"])
    for (index, operation) in operations.enumerated() {
      guard let type = operation["operationType"]?.string.flatMap(OperationType.init(rawValue:)),
        let record = operation["record"]?.object
      else { throw .badRequest("Missing or unknown 'operationType', or missing 'record'") }
      // A create without a name gets a generated one. [D]
      var name = record["recordName"]?.string
      if name == nil, type == .create {
        name = Derived.uuid(
          "\(seed)/\(database.key.path)/\(database.counter)/\(index)/\(call.milliseconds)"
        )
      }
      // Only one operation per record is allowed. [E] (Question 7)
      if let name, !names.insert(name).inserted {
        let error = ServerError.badRequest("Record '\(name)' appears in more than one operation")
        guard assumptions.repeatedRecord == .failsAlone else { throw error }
        batch.steps.append(ModifyBatch.Step(name: name, keys: nil, outcome: .failure(error)))
        continue
      }
      batch.add(type, record, name: name, keys: Self.names(operation["desiredKeys"]) ?? keys)
    }
    batch.settleSharing()
    batch.settleReferences()
    // Atomic is the default, but applies only in custom zones. [D]
    let isAtomic = try (call.body.flag("atomic") ?? true) && view.zone.isCustom
    if isAtomic, batch.steps.contains(where: \.hasFailed) { return rollback(batch) }
    let (commit, saved) = commit(of: batch, in: database)
    return Decision(commit: commit) { [self, batch] in
      let encoder = encoder()
      let results = batch.steps.map { step -> JSON in
        switch step.outcome {
        case .failure(let error): step.json(error)
        case .success(.save):
          saved[step.name ?? ""].map { .object(encoder.json($0, in: view, keys: step.keys)) } ?? .null
        // Only the name and the deletion mark. [L1]
        case .success(.delete), .success(.leave), .success(.nothing):
          .object(["recordName": .string(step.name ?? ""), "deleted": .bool(true)])
        }
      }
      return ["records": .array(results)]
    }
  }

  /// Returns the response of a failed atomic batch: the failed records keep their errors and all others get
  /// `ATOMIC_ERROR`, or the whole request is rejected. [E] (Question 1)
  private func rollback(_ batch: ModifyBatch) -> Decision {
    Decision(isRolledBack: true) { [self] () throws(ServerError) in
      let sibling = ServerError(.atomicError, "Atomic failure")
      if assumptions.atomicFailure == .refusesRequest { throw sibling }
      let results = batch.steps.map { step in
        if case .failure(let error) = step.outcome { step.json(error) } else { step.json(sibling) }
      }
      return ["records": .array(results)]
    }
  }

  /// Returns the commit of the successful steps, if they change anything, and the new versions by name.
  private func commit(of batch: ModifyBatch, in database: DatabaseState) -> (Commit?, [String: StoredRecord]) {
    let stamp = StoredRecord.Stamp(milliseconds: call.milliseconds, userRecordName: user.isEmpty ? "_world" : user)
    var writer = ZoneWriter(database, batch.zone, stamp: stamp)
    for step in batch.steps {
      switch step.outcome {
      case .success(.save(let content, _, _)), .success(.leave(let content)): writer.save(content)
      case .success(.delete): writer.bury(step.name ?? "")
      case .success(.nothing), .failure: break
      }
    }
    // Referring records are deleted in the same transaction, with one tombstone each. [E] (Question 24)
    for name in batch.cascades() { writer.bury(name, isSilent: !assumptions.cascadesLeaveTombstones) }
    writer.followShares()
    guard var commit = writer.finish() else { return (nil, [:]) }
    if let schema = schema(with: batch.learnt) { commit.changes.append(.schemaChanged(schema)) }
    return (commit, writer.saved)
  }
}

extension ModifyBatch.Step {
  var hasFailed: Bool {
    if case .failure = outcome { true } else { false }
  }

  fileprivate func json(_ error: ServerError) -> JSON {
    var identity = JSONObject()
    identity.append("recordName", name.map { .string($0) })
    return .object(error.members(after: identity))
  }
}
