import CloudKit
import Facts

/// Versions of queued operations, to which decisions about single ones are tied.
extension SyncStore {
  /// The versions of those of these operations that are in the queue now.
  package func versions(of ids: [Int64]) throws(StoreError) -> [Int64: String] {
    try read { ledger in
      try ids.reduce(into: [:]) { versions, id in
        versions[id] = try ledger.operation(id).map { try Self.row($0, ledger).version }
      }
    }
  }

  /// The operation as it is now, where that is not the version that was decided on.
  ///
  /// - Parameter version: nil: the operation as it is now is meant.
  static func moved(_ operation: QueuedOperation, from version: String?, _ ledger: Ledger) throws -> QueueRow? {
    guard let version, case let row = try row(operation, ledger), row.version != version else { return nil }
    return row
  }

  private static func row(_ operation: QueuedOperation, _ ledger: Ledger) throws -> QueueRow {
    QueueRow(operation, serverTag: operation.state == .conflict ? try ledger.changeTag(operation.key) : nil)
  }
}

extension QueueRow {
  /// Why a decision about an earlier version leaves the operation alone.
  var hasMoved: Obstacle { .changed(state: state.rawValue) }
}
