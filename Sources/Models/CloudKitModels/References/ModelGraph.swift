package import CloudKit

/// Models to save, with those that they refer to. Each is encoded once, so models that refer to each other end.
package struct ModelGraph {
  /// The models to save, in the order given.
  package private(set) var roots: [EncodedModel] = []
  /// The models that they refer to and that are not known to be on the server, in the order in which they were found.
  package private(set) var targets: [EncodedModel] = []
  /// The merge rules of the targets' types.
  package private(set) var rules: [CKRecord.ID: [String: MergeRule]] = [:]
  /// The models that were referred to.
  private(set) var models: [CKRecord.ID: any CKRecordModel] = [:]

  /// Encodes models and those that they refer to.
  ///
  /// - Parameters:
  ///   - replacing: The reference fields of `models` that are written exactly as they are.
  ///   - isWhole: Whether to encode also those that are known to be on the server, with those that they refer to.
  /// - Throws: `CKModelError` for a value that a record cannot store.
  package init<Model: CKRecordModel & Encodable>(
    _ models: [Model],
    replacing: Set<String> = [],
    isWhole: Bool = false,
    _ encoder: CKRecordEncoder
  ) throws(CKModelError) {
    var open: [ModelReferences.Target] = []
    for model in models {
      let (encoded, found) = try encoder.content(of: model, replacing: replacing)
      roots.append(encoded)
      open += found
    }
    var seen = Dictionary(roots.map { ($0.record.recordID, $0.record.recordType) }) { first, _ in first }
    var next = 0
    while next < open.count {
      let target = open[next]
      next += 1
      if self.models[target.id] == nil { self.models[target.id] = target.model }
      let modelType: any CKRecordModel.Type = type(of: target.model)
      if let other = seen[target.id] {
        guard other != modelType.recordType else { continue }
        let reason = "A model of type \(other) has the same record name in this zone."
        throw CKModelError(modelType, encoding: target.model, reason)
      }
      seen[target.id] = modelType.recordType
      if target.isSaved, !isWhole { continue }
      let (encoded, found) = try Self.encoded(target)
      // The model was read from the server.
      if encoded.knowsVersion, !isWhole { continue }
      targets.append(encoded)
      rules[target.id] = modelType.mergeRules
      open += found
    }
  }

  private static func encoded(
    _ target: ModelReferences.Target
  ) throws(CKModelError) -> (model: EncodedModel, targets: [ModelReferences.Target]) {
    guard let model = target.model as? any CKRecordModel & Encodable else {
      throw CKModelError(type(of: target.model), encoding: target.model, "It must be Encodable to be referred to.")
    }
    return try CKRecordEncoder(zoneID: target.id.zoneID).content(of: model)
  }

  /// Whether a model leads to a cycle.
  var hasCycle: Bool {
    let models = Dictionary((roots + targets).map { ($0.record.recordID, $0.references) }) { first, _ in first }
    let walk = GraphWalk { id in models[id]?.map { ($0.key, $0.target) } ?? [] }
    return walk.hasCycle(from: roots.map(\.record.recordID))
  }

  /// The order in which to send records, targets first.
  package struct Order: Equatable {
    /// The IDs of the records to send.
    package var ids: [CKRecord.ID] = []
    /// The fields that are left out at first, because records refer to each other.
    package var deferred: [CKRecord.ID: Set<String>] = [:]
  }

  /// Returns the order in which to send the roots, and those targets that the server lacks and a sent record refers to.
  ///
  /// - Parameters:
  ///   - isSent: Whether to send a root.
  ///   - isLacking: Whether the server lacks a target.
  package func order(
    where isSent: (CKRecord.ID) -> Bool = { _ in true },
    lacking isLacking: (CKRecord.ID) -> Bool = { _ in true }
  ) -> Order {
    let roots = roots.filter { isSent($0.record.recordID) }
    var models: [CKRecord.ID: EncodedModel] = [:]
    for model in roots + targets.filter({ isLacking($0.record.recordID) }) { models[model.record.recordID] = model }
    var walk = GraphWalk { id in
      // A record whose version is known is on the server, so nothing waits for it.
      let open = models[id]?.references.filter { models[$0.target]?.knowsVersion == false } ?? []
      return open.map { ($0.key, $0.target) }
    }
    for root in roots { walk.visit(root.record.recordID) }
    return Order(ids: walk.levels.flatMap(\.self), deferred: walk.cut)
  }
}
