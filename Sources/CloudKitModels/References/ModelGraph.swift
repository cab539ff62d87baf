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
  /// - Parameter replacing: The reference fields of `models` that are written exactly as they are.
  /// - Throws: `CKModelError` for a value that a record cannot store.
  package init<Model: CKRecordModel & Encodable>(
    _ models: [Model],
    replacing: Set<String> = [],
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
      if target.isSaved { continue }
      let (encoded, found) = try Self.encoded(target)
      // The model was read from the server.
      if encoded.knowsVersion { continue }
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
    var walk = GraphWalk(models)
    for root in roots { walk.visit(root.record.recordID) }
    return walk.order
  }
}

/// A walk from records to those that they refer to, depth first. It is a loop, because a chain can be long.
private struct GraphWalk {
  private enum State {
    case open, done(level: Int)
  }

  private let models: [CKRecord.ID: EncodedModel]
  private var states: [CKRecord.ID: State] = [:]
  private var levels: [[CKRecord.ID]] = []
  private var deferred: [CKRecord.ID: Set<String>] = [:]

  init(_ models: [CKRecord.ID: EncodedModel]) { self.models = models }

  /// Records without targets come first, then those that need only these, and so on.
  var order: ModelGraph.Order { ModelGraph.Order(ids: levels.flatMap(\.self), deferred: deferred) }

  mutating func visit(_ root: CKRecord.ID) {
    var stack = [(id: root, next: 0, level: 0)]
    guard states[root] == nil else { return }
    states[root] = .open
    while let (id, next, level) = stack.last {
      let references = models[id]?.references ?? []
      guard next < references.count else {
        stack.removeLast()
        finish(id, level: level)
        if let last = stack.indices.last { stack[last].level = max(stack[last].level, level + 1) }
        continue
      }
      stack[stack.count - 1].next += 1
      let reference = references[next]
      // A record whose version is known is on the server, so nothing waits for it.
      guard let target = models[reference.target], !target.knowsVersion else { continue }
      switch states[reference.target] {
      case .open?: deferred[id, default: []].insert(reference.key)
      case .done(let targetLevel)?: stack[stack.count - 1].level = max(level, targetLevel + 1)
      case nil:
        states[reference.target] = .open
        stack.append((reference.target, 0, 0))
      }
    }
  }

  private mutating func finish(_ id: CKRecord.ID, level: Int) {
    states[id] = .done(level: level)
    while levels.count <= level { levels.append([]) }
    levels[level].append(id)
  }
}
