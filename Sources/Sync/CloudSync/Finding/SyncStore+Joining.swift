import CloudKit
import Facts
import Foundation

/// Moving changes that were queued before the server could name their user.
extension SyncStore {
  /// Moves the queued changes of another store to this one, as if they were enqueued here now. It can be repeated after
  /// an interruption. The other store accepts no changes afterwards.
  ///
  /// - Throws: `StoreError` if a change cannot be accepted here. It stays in the other store.
  package func join(_ other: SyncStore) throws(StoreError) {
    // Pause rules move first, so that no paused change is sent.
    if let policy = try other.settings().policy { try setPolicy(policy, isFirst: true, actor: "sync") }
    for held in try other.pauses() { try pause(held.rule, actor: held.actor ?? "sync") }
    // Changes that a zone delete supersedes must not follow it.
    try other.finishChores(nil)
    while true {
      let operations = try other.operationsToMove(to: path)
      guard !operations.isEmpty else { return }
      for unit in operations.units { try move(unit, from: other) }
    }
  }

  /// Moves a zone operation, a group, or changes of records, each in one transaction here, so that no engine sends a
  /// part of a group, or a paused change.
  private func move(_ operations: [QueuedOperation], from other: SyncStore) throws(StoreError) {
    let first = operations[0]
    let accepted: [Accepted]
    switch first.kind {
    case .zoneSave, .zoneDelete:
      accepted = [try enqueueZoneOperation(first.key.zoneKey, first.kind, pausedBy: first.pausedBy)]
    case .save, .delete:
      let vault = other.storage.assetFolder.map(AssetVault.init)
      // Copies are removed with the other store, so copy them here too.
      let keeping: AssetKeeping = operations.contains(where: \.hasCopies) ? .copied : .referenced
      let changes = operations.map { Change(moved: $0, vault) }
      do {
        accepted = try enqueue(changes, group: first.group, assets: keeping)
      } catch {
        guard error.kind == .invalid, first.group != nil else { throw error }
        let ids = operations.map { String($0.id) }.joined(separator: " ")
        throw unmovable("the atomic group of changes \(ids)", error.message, "show \(first.id)", other)
      }
    }
    let moved = zip(operations, accepted).filter { if case .refused = $0.1 { false } else { true } }.map(\.0)
    try other.end(moved: moved, to: path)
    for case (let operation, .refused(let reason)) in zip(operations, accepted) {
      throw unmovable("change \(operation.id)", reason, "discard \(operation.id)", other)
    }
  }

  private func unmovable(_ what: String, _ reason: String, _ remedy: String, _ other: SyncStore) -> StoreError {
    StoreError(
      .invalid,
      "\(what) of \(other.path) cannot be moved to \(path): \(reason); cktop queue \(remedy) --store \(other.path)"
    )
  }

  /// The next operations to move, with all members of their groups, by the identifier of the first member. If there are
  /// none, the store stops accepting changes.
  private func operationsToMove(to path: String) throws(StoreError) -> [QueuedOperation] {
    try write { ledger in
      let operations = try ledger.operations(after: 0, limit: Self.slice)
      if operations.isEmpty { try ledger.setValue(.joinedTo, path) }
      var groups: Set<String> = []
      return try operations.flatMap { operation in
        guard let group = operation.group else { return [operation] }
        return groups.insert(group).inserted ? try ledger.operations(inGroup: group) : []
      }
    }
  }

  /// Removes moved operations from the queue, except those edited meanwhile.
  private func end(moved operations: [QueuedOperation], to path: String) throws(StoreError) {
    guard !operations.isEmpty else { return }
    let now = now()
    try write { ledger in
      for operation in operations {
        guard let present = try ledger.operation(operation.id), present.generation == operation.generation else {
          continue
        }
        try ledger.end(present, .superseded, .moved(to: path), now: now)
      }
    }
  }

  /// Removes a store's file and the files beside it.
  package static func removeFiles(ofStoreAt path: String) {
    SQLiteStorage.removeDatabase(path)
    for file in [StoreLock.path(path), path + ".assets"] {
      try? FileManager.default.removeItem(atPath: file)
    }
  }
}

extension [QueuedOperation] {
  /// The operations in order, in parts that are moved as a whole: a zone operation, a group, or changes on their own.
  fileprivate var units: [[QueuedOperation]] {
    var units: [[QueuedOperation]] = []
    for operation in self {
      if let last = units.last?.last, last.group == operation.group, last.group != nil || last.isAlike(operation) {
        units[units.count - 1].append(operation)
      } else {
        units.append([operation])
      }
    }
    return units
  }
}

extension Change {
  /// The change of an operation of another store, whose copies of files are in a vault.
  fileprivate init(moved operation: QueuedOperation, _ vault: AssetVault?) {
    let own = Dictionary(grouping: operation.assets, by: \.field)
    let assets = own.mapValues { assets in
      assets.sorted { $0.position < $1.position }.compactMap { asset in
        (asset.path.map { URL(fileURLWithPath: $0) } ?? asset.digest.flatMap { vault?.file($0) })
          .map { AssetSource(file: $0) }
      }
    }
    let isSave = operation.kind == .save
    let kind = isSave ? Kind.save(type: operation.type ?? "", operation.changes) : .delete
    self.init(operation.key, kind, assets: isSave ? assets : [:])
    pausedBy = operation.pausedBy
  }
}

extension QueuedOperation {
  /// Whether the store has copies of its files.
  fileprivate var hasCopies: Bool { assets.contains { $0.path == nil } }

  /// Whether one transaction can move both operations. The caller has checked that neither is in a group.
  fileprivate func isAlike(_ other: QueuedOperation) -> Bool {
    !key.name.isEmpty && !other.key.name.isEmpty && hasCopies == other.hasCopies
  }

  /// The name of the operator who paused it; nil if it is not paused.
  fileprivate var pausedBy: String? {
    guard state == .paused else { return nil }
    return if case .paused(let actor) = cause { actor } else { "sync" }
  }
}
