internal import CloudKit
internal import Foundation

/// The outcome of saving one of several models.
struct SavedModel<Model> {
  let recordID: CKRecord.ID
  /// The record as saved; nil if it was not.
  let record: CKRecord?
  /// The model as saved, or the error.
  let result: Result<Model, any Error>
}

extension CKDatabase {
  /// Saves models, and first those that they refer to and the server lacks.
  func write<Model: CKRecordModel & Codable>(
    _ models: [Model],
    _ verb: ModelWrite,
    in zoneID: CKRecordZone.ID?,
    replacing: Set<String> = []
  ) async throws -> [SavedModel<Model>] {
    let encoder = CKRecordEncoder(zoneID: try zone(zoneID, of: Model.self))
    let graph = try ModelGraph(models, replacing: replacing, encoder)
    let ids = graph.roots.map(\.record.recordID)
    try Self.refuseRepeated(ids)
    for model in graph.roots + graph.targets { try model.checkZones() }
    for target in graph.targets { try target.database.check(databaseScope) }
    var writer = ModelWriter(self, verb, in: zoneID, graph)
    try await writer.readBases()
    try await writer.findTargets()
    try await writer.send()
    // The targets are the models that were given.
    let resolver = LinkResolver(models: graph.models)
    return ids.map { id in
      let result = writer.results[id] ?? .failure(Self.unanswered(id))
      let model = result.flatMap { record in Result { try resolver.decode(Model.self, from: record) } }
      return SavedModel(recordID: id, record: try? result.get(), result: model)
    }
  }
}

/// Saves encoded models in as few requests as the order of references and the server's limits allow.
private struct ModelWriter {
  private let database: CKDatabase
  private let verb: ModelWrite
  private let zoneID: CKRecordZone.ID?
  private let graph: ModelGraph
  private let roots: Set<CKRecord.ID>
  /// The models to send, as far as they are not settled.
  private var models: [CKRecord.ID: EncodedModel]
  private(set) var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
  /// Whether deferred references are set. The records were written by this save, so each is repeated after a conflict.
  private var isSecondRound = false
  /// Whether some models may have been saved.
  private var hasSent = false

  init(_ database: CKDatabase, _ verb: ModelWrite, in zoneID: CKRecordZone.ID?, _ graph: ModelGraph) {
    (self.database, self.verb, self.zoneID, self.graph) = (database, verb, zoneID, graph)
    models = Dictionary(graph.roots.map { ($0.record.recordID, $0) }) { first, _ in first }
    roots = Set(models.keys)
  }

  /// Reads the server's records onto which models are written. Those that must exist and cannot be read are not saved.
  mutating func readBases() async throws {
    let needed = models.filter { verb.needsBase($0.value) }.map(\.key)
    guard !needed.isEmpty else { return }
    for (id, result) in try await database.uncachedRecords(for: needed) {
      switch result {
      case .success(let record) where record.recordType != models[id]?.record.recordType:
        results[id] = .failure(Self.otherType(record))
        models[id] = nil
      case .success(let record):
        // A newer version is a conflict.
        let tag = models[id]?.record.recordChangeTag
        if tag == nil || tag == record.recordChangeTag { models[id]?.base = record }
      case .failure(let error)
      where models[id]?.knowsVersion == true && (error as? CKError)?.isAbsence == true:
        continue
      // Without its record, a list that only adds would replace that of the server.
      case .failure:
        results[id] = database.missingZoneIsEmpty(result, zoneID)
        models[id] = nil
      }
    }
  }

  private static func otherType(_ record: CKRecord) -> CKError {
    let (name, type) = (record.recordID.recordName, record.recordType)
    return CKError(.invalidArguments, "The server has a record of type \(type) with the name \(name).")
  }

  /// Adds the targets that the server lacks to the models to send.
  mutating func findTargets() async throws {
    let targets = graph.targets
    guard !targets.isEmpty, !models.isEmpty else { return }
    let found = try await database.uncachedRecords(for: targets.map(\.record.recordID), desiredKeys: [])
    for target in targets {
      let id = target.record.recordID
      if case .success(let record)? = found[id], record.recordType != target.record.recordType {
        results[id] = .failure(Self.otherType(record))
      }
      guard case .failure(let error)? = found[id] else { continue }
      switch (error as? CKError)?.code {
      case .unknownItem?: models[id] = target
      case .zoneNotFound? where zoneID == nil: models[id] = target
      default: results[id] = .failure(error)
      }
    }
  }

  /// Sends the models, targets first. References that close a cycle are set by a second request.
  mutating func send() async throws {
    let order = graph.order(where: { models[$0] != nil }, lacking: { models[$0] != nil })
    let complete = models
    for (id, keys) in order.deferred { models[id] = models[id]?.omitting(keys) }
    try await sendFirst(order.ids)
    var again: [CKRecord.ID] = []
    for id in order.ids where order.deferred[id] != nil {
      guard case .success(let record)? = results[id] else { continue }
      models[id] = complete[id]
      models[id]?.base = record
      again.append(id)
    }
    again = again.filter { !failsWithTarget($0, isSaved: true) }
    isSecondRound = true
    if !again.isEmpty { _ = try await send(again, atomically: false) }
    // A record whose target is not complete is not complete either.
    for id in order.ids {
      if case .success? = results[id] { _ = failsWithTarget(id, isSaved: true) }
    }
  }

  private mutating func sendFirst(_ ids: [CKRecord.ID]) async throws {
    var waiting = ids
    // In one atomic request, a record is not saved without its target.
    var canBeAtomic = ids.allSatisfy { $0.zoneID.zoneName != CKRecordZone.ID.defaultZoneName }
    while true {
      waiting = waiting.filter { !failsWithTarget($0) }
      guard !waiting.isEmpty else { return }
      // A record whose version is known is on the server, so nothing waits for it.
      let unsent = Set(waiting.filter { models[$0]?.knowsVersion != true })
      let ready = waiting.filter { id in
        !(models[id]?.references.contains { $0.target != id && unsent.contains($0.target) } ?? false)
      }
      let isAtomic = canBeAtomic && ready.count < min(waiting.count, CKDatabase.largestBatch)
      let batch = isAtomic ? Array(waiting.prefix(CKDatabase.largestBatch)) : ready.isEmpty ? waiting : ready
      if try await send(batch, atomically: isAtomic) {
        let sent = Set(batch)
        waiting.removeAll { sent.contains($0) }
      } else {
        canBeAtomic = false
      }
    }
  }

  /// Returns whether a target of a record could not be saved, and notes that as the record's result.
  private mutating func failsWithTarget(_ id: CKRecord.ID, isSaved: Bool = false) -> Bool {
    guard let model = models[id] else { return true }
    for reference in model.references where reference.target != id {
      // A target that others have changed exists.
      guard case .failure(let error)? = results[reference.target],
        (error as? CKError)?.code != .serverRecordChanged
      else { continue }
      let type = model.record.recordType
      let (key, target) = (reference.key, reference.target)
      results[id] = .failure(CKModelError(type, field: key, target: target, failed: error, isSaved: isSaved))
      return true
    }
    return false
  }

  /// Sends models, and repeats what conflicts with others.
  ///
  /// - Returns: Whether the models are settled; false if they cannot be sent as one atomic group.
  private mutating func send(_ batch: [CKRecord.ID], atomically: Bool) async throws -> Bool {
    var records = Dictionary(
      uniqueKeysWithValues: batch.compactMap { id in
        models[id].map { (id, verb.firstRecord($0)) }
      }
    )
    for attempt in 1...CKDatabase.attempts where !records.isEmpty {
      // A random wait separates callers that conflict with each other.
      if attempt > 2 { try await Task.sleep(for: .milliseconds(Int.random(in: 0...attempt * 10))) }
      let sent = records
      let saved: [CKRecord.ID: Result<CKRecord, any Error>]
      do {
        saved = try await saveCreatingZone(batch.compactMap { sent[$0] }, atomically: atomically)
      } catch let error as CKError where atomically && error.code == .limitExceeded {
        return false
      } catch  where hasSent {
        // Other models have been saved already.
        saved = sent.mapValues { _ in .failure(error) }
      }
      hasSent = true
      records = [:]
      for (id, result) in saved {
        results[id] = result
        guard attempt < CKDatabase.attempts, let base = base(after: result, of: id, attempt: attempt) else { continue }
        records[id] = base
        results[id] = nil
      }
      guard atomically else { continue }
      let refused = saved.filter { $0.value.isRefusedWithGroup }
      for id in refused.keys { results[id] = nil }
      if !refused.isEmpty, refused.count == saved.count { return false }
      for id in batch where refused[id] != nil && !failsWithTarget(id) { records[id] = sent[id] }
    }
    return true
  }

  /// Returns the server's record on which to repeat the write of a model; nil if the result stands.
  private func base(after result: Result<CKRecord, any Error>, of id: CKRecord.ID, attempt: Int) -> CKRecord? {
    let verb = isSecondRound ? ModelWrite.upsert : verb
    guard isSecondRound || roots.contains(id), let model = models[id], case .failure(let error) = result,
      let base = verb.base(after: error, of: model, attempt: attempt)
    else { return nil }
    model.write(onto: base)
    return base
  }

  /// Saves records and creates the zone for models if the server does not have it yet.
  private func saveCreatingZone(
    _ records: [CKRecord],
    atomically: Bool
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    func save(_ records: [CKRecord]) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
      try await database.modifyRecords(saving: records, deleting: [], atomically: atomically).saveResults
    }
    func lacksZone(_ error: any Error) -> Bool {
      zoneID == nil && database.databaseScope == .private && (error as? CKError)?.code == .zoneNotFound
    }
    let modelZone = database.zoneIDForModels
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    var recordsWithoutZone = records
    do {
      results = try await save(records)
      recordsWithoutZone = records.filter { record in
        guard record.recordID.zoneID == modelZone, case .failure(let error) = results[record.recordID] else {
          return false
        }
        return lacksZone(error)
      }
    } catch {
      guard lacksZone(error) else { throw error }
    }
    guard !recordsWithoutZone.isEmpty else { return results }
    try await database.save(CKRecordZone(zoneID: modelZone))
    return results.merging(try await save(recordsWithoutZone)) { $1 }
  }
}

extension Result<CKRecord, any Error> {
  /// Whether another record of an atomic group was refused.
  fileprivate var isRefusedWithGroup: Bool {
    if case .failure(let error) = self { (error as? CKError)?.code == .batchRequestFailed } else { false }
  }
}
