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
    while true {
      let operations = try other.operationsToMove(to: path)
      guard !operations.isEmpty else { return }
      for operation in operations {
        if case .refused(let reason) = try enqueue(moved: operation, from: other) {
          let what = "change \(operation.id) of \(other.path) cannot be moved to \(path)"
          throw StoreError(.invalid, "\(what): \(reason); cktop queue discard \(operation.id) --store \(other.path)")
        }
      }
      try other.end(moved: operations, to: path)
    }
  }

  private func enqueue(moved operation: QueuedOperation, from other: SyncStore) throws(StoreError) -> Accepted {
    let accepted: Accepted
    switch operation.kind {
    case .zoneSave: accepted = try enqueueZone(operation.key.zoneKey)
    case .zoneDelete: accepted = try enqueueZoneDeletion(operation.key.zoneKey)
    case .delete: accepted = try enqueue([Change(operation.key, .delete)], group: operation.group).first ?? .unchanged
    case .save:
      let vault = other.storage.assetFolder.map(AssetVault.init)
      let own = Dictionary(grouping: operation.assets, by: \.field)
      let assets = own.mapValues { assets in
        assets.sorted { $0.position < $1.position }.compactMap { asset in
          (asset.path.map { URL(fileURLWithPath: $0) } ?? asset.digest.flatMap { vault?.file($0) })
            .map { AssetSource(file: $0) }
        }
      }
      let change = Change(operation.key, .save(type: operation.type ?? "", operation.changes), assets: assets)
      // Copies are removed with the other store, so copy them here too.
      let isCopied = operation.assets.contains { $0.path == nil }
      let keeping: AssetKeeping = isCopied || operation.assets.isEmpty ? .copied : .referenced
      accepted = try enqueue([change], group: operation.group, assets: keeping).first ?? .unchanged
    }
    if case .enqueued(let id) = accepted, operation.state == .paused {
      _ = try perform(.pause, on: .ids([id]), actor: "sync")
    }
    return accepted
  }

  /// The next operations to move. If there are none, the store stops accepting changes.
  private func operationsToMove(to path: String) throws(StoreError) -> [QueuedOperation] {
    let now = now()
    return try write { ledger in
      let ids = try ledger.operationIDs(matching: nil, now: now)
      if ids.isEmpty { try ledger.setValue("joinedTo", path) }
      return try ledger.operations(ids.sorted().prefix(500).map { $0 }).sorted { $0.id < $1.id }
    }
  }

  /// Removes moved operations from the queue, except those edited meanwhile.
  private func end(moved operations: [QueuedOperation], to path: String) throws(StoreError) {
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
    for ending in ["", "-wal", "-shm", ".driver", ".assets"] {
      try? FileManager.default.removeItem(atPath: path + ending)
    }
  }
}
