import CloudKit
import Facts

/// Versions of queued operations. A decision about a single operation applies to one version of it.
extension SyncStore {
  /// The current versions of those of these operations that are in the queue.
  package func versions(of ids: [Int64]) throws(StoreError) -> [Int64: String] {
    try read { ledger in
      try ids.reduce(into: [:]) { versions, id in
        versions[id] = try ledger.operation(id).map { try Self.row($0, ledger).version }
      }
    }
  }

  /// The current operation, if it is not in the version that was decided on; nil if it is.
  ///
  /// - Parameter version: nil means the current version.
  static func moved(_ operation: QueuedOperation, from version: String?, _ ledger: Ledger) throws -> QueueRow? {
    guard let version, case let row = try row(operation, ledger), row.version != version else { return nil }
    return row
  }

  private static func row(_ operation: QueuedOperation, _ ledger: Ledger) throws -> QueueRow {
    QueueRow(operation, serverTag: operation.state == .conflict ? try ledger.changeTag(operation.key) : nil)
  }
}

extension QueueRow {
  /// The reason why a decision about an earlier version was not applied.
  var hasMoved: Obstacle { .changed(state: state.rawValue) }
}
