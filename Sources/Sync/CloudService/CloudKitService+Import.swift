public import CloudSync

/// The result of taking over another queue.
public struct QueueImport: Sendable {
  /// An operation that could not be accepted.
  public struct Refusal: Sendable {
    /// The operation, which stays in its queue.
    public let operation: QueuedCloudKitOperation
    /// The reason.
    public let error: CloudKitServiceError
  }

  /// The operations that are on disk in the store, in their order, and were removed from their queue.
  public internal(set) var accepted: [QueuedCloudKitOperation] = []
  /// The operations that stay in their queue.
  public internal(set) var refused: [Refusal] = []
}

extension CloudKitService {
  /// The store's queue for code that uses a `CloudKitQueueStorage`; nil while there is no store. What is enqueued is on
  /// disk and sent by the syncing process. There is no other storage: the operations of one are taken over by
  /// ``importQueue(from:)``.
  public var queueStorage: StoreQueueStorage? { store.map { StoreQueueStorage($0) } }

  /// Takes over the operations of another queue, oldest first and in any state, so that they are sent from here. Each
  /// is on disk before it is removed from its queue; after a crash in between it is imported again, and its values are
  /// then saved once more. It counts as made at its `timestamp`.
  ///
  /// An operation without a zone is for the record of that name in the default zone for changes or the default zone.
  ///
  /// ```swift
  /// let result = try await service.importQueue(from: OldQueueStorage())
  /// for refusal in result.refused { log(refusal.operation.id, refusal.error) }
  /// ```
  ///
  /// - Returns: which operations were accepted, and why others were not: a save without its record's data, a type that
  ///   is no change, a record that can never be sent, or a change that the queue of another store is sending now.
  /// - Throws: the other queue's errors; `CloudKitServiceError` if the service is read-only; `StoreError` if the store
  ///   cannot be written, or the queue is its own. What was accepted by then is in the store.
  public func importQueue(from storage: any CloudKitQueueStorage) async throws -> QueueImport {
    let source = (storage as? StoreQueueStorage)?.store
    try await change {
      // The import would merge each operation into itself and then remove it.
      if source?.isSame(as: $0) == true { throw StoreError(.invalid, "the queue is that of this store already") }
    }
    var result = QueueImport()
    let operations = try storage.getAllOperations()
    for start in stride(from: 0, to: operations.count, by: Self.importSlice) {
      let slice = operations[start..<min(start + Self.importSlice, operations.count)]
      // A store does not remove an operation in flight, so it would be sent twice.
      let inFlight = slice.filter { source != nil && $0.status == "processing" }
      result.refused += inFlight.map { .init(operation: $0, error: .invalidRecord("its store is sending it now")) }
      let ready = slice.filter { source == nil || $0.status != "processing" }
      let refusals = try await change { try $0.enqueue(ready, in: $0.zonesForNames) }
      for (operation, refusal) in zip(ready, refusals) {
        if let refusal {
          result.refused.append(.init(operation: operation, error: CloudKitServiceError(refusal)))
        } else {
          try storage.remove(operation)
          result.accepted.append(operation)
        }
      }
    }
    return result
  }

  /// The number of operations that are accepted at once.
  private static var importSlice: Int { 100 }
}
