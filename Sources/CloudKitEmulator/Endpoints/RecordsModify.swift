import CloudKitSchema
import Foundation
import JSONText

/// `records/modify` (reference 5.3). All operations are decided first; the successful ones are then committed together.
/// [D]
extension EmulatorCore {
  func modify(_ call: Call) throws(ServerError) -> JSONObject {
    let operations = try items("operations", of: call.body)
    let place = try place(call.body["zoneID"], for: call)
    let (database, zone) = (place.database, place.zone)
    var batch = ModifyBatch(
      zone: zone,
      guards: guards(call),
      access: place.access,
      configuration: configuration,
      allowsNewSchema: learnsSchema(call),
      schema: schemas[database.key.schema] ?? .predefined,
      existing: { [self] in record($0, in: place, for: call.caller) },
      isPoisoned: call.faults.isPoisoned,
      user: { [self] in user($0)?.recordName },
      asset: { [self] (object, record, field) throws(ServerError) in
        try asset(object, for: record, field: field, in: zone, at: call.milliseconds)
      }
    )
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
        guard configuration.assumptions.repeatedRecord == .failsAlone else { throw error }
        batch.steps.append(ModifyBatch.Step(name: name, keys: nil, outcome: .failure(error)))
        continue
      }
      batch.add(type, record, name: name, keys: Self.names(operation["desiredKeys"]) ?? keys)
    }
    batch.settleSharing()
    batch.settleReferences()
    // Atomic is the default, but applies only in custom zones. [D]
    let isAtomic = try (call.body.flag("atomic") ?? true) && zone.isCustom
    if isAtomic, batch.steps.contains(where: \.hasFailed) {
      statistics.atomicFailures += 1
      return try atomicFailure(batch)
    }
    let saved = try commit(batch, in: database, call)
    let results = batch.steps.map { step in
      switch step.outcome {
      case .failure(let error): step.json(error)
      case .success(.save):
        saved[step.name ?? ""].map { json($0, in: place, keys: step.keys, call) } ?? .null
      // Only the name and the deletion mark. [L1]
      case .success(.delete), .success(.leave), .success(.nothing):
        JSON.object(["recordName": .string(step.name ?? ""), "deleted": .bool(true)])
      }
    }
    return ["records": .array(results)]
  }

  /// Returns the response of a failed atomic batch: the failed records keep their errors and all others get
  /// `ATOMIC_ERROR`, or the whole request is rejected. [E] (Question 1)
  private func atomicFailure(_ batch: ModifyBatch) throws(ServerError) -> JSONObject {
    let sibling = ServerError(.atomicError, "Atomic failure")
    if configuration.assumptions.atomicFailure == .refusesRequest { throw sibling }
    let results = batch.steps.map { step in
      if case .failure(let error) = step.outcome { step.json(error) } else { step.json(sibling) }
    }
    return ["records": .array(results)]
  }

  /// Commits the successful steps and returns the new versions by name.
  private func commit(
    _ batch: ModifyBatch,
    in database: DatabaseState,
    _ call: Call
  ) throws(ServerError) -> [String: StoredRecord] {
    let zone = batch.zone
    let stamp = StoredRecord.Stamp(milliseconds: call.milliseconds, userRecordName: call.caller.recordName ?? "_world")
    var writer = ZoneWriter(database, zone, stamp: stamp)
    for step in batch.steps {
      switch step.outcome {
      case .success(.save(let content, _, _)), .success(.leave(let content)): writer.save(content)
      case .success(.delete): writer.bury(step.name ?? "")
      case .success(.nothing), .failure: break
      }
    }
    // Referring records are deleted in the same transaction, with one tombstone each. [E] (Question 24)
    for name in batch.cascades() { writer.bury(name, isSilent: !configuration.assumptions.cascadesLeaveTombstones) }
    followShares(&writer)
    guard var commit = writer.finish() else { return [:] }
    let saved = writer.saved
    if let schema = schema(database.key.schema, with: batch.learnt) { commit.changes.append(.schemaChanged(schema)) }
    try self.commit(commit)
    statistics.recordsSaved += saved.values.count { $0.modified == stamp }
    statistics.recordsDeleted += commit.changes.count { if case .buried = $0 { true } else { false } }
    return saved
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
