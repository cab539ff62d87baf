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
  /// Takes over the operations of another queue, oldest first and in any state, so that they are sent from here. Each
  /// is on disk before it is removed from its queue; after a crash in between it is imported again, which does no harm.
  ///
  /// An operation without a zone is for the record of that name in the default zone for changes or the default zone.
  ///
  /// ```swift
  /// let result = try await service.importQueue(from: OldQueueStorage())
  /// for refusal in result.refused { log(refusal.operation.id, refusal.error) }
  /// ```
  ///
  /// - Returns: which operations were accepted, and why others were not: a save without its record's data, a type that
  ///   is no change, a record that can never be sent.
  /// - Throws: the other queue's errors; `CloudKitServiceError` if the service is read-only; `StoreError` if the store
  ///   cannot be written. What was accepted by then is in the store.
  public func importQueue(from storage: any CloudKitQueueStorage) async throws -> QueueImport {
    var result = QueueImport()
    for operation in try storage.getAllOperations() {
      do {
        try await change { try $0.enqueue(operation, in: $0.zonesForNames) }
      } catch let error as StoreError where error.kind != .invalid {
        throw error
      } catch CloudKitServiceError.writeNotSupportedOnPlatform {
        throw CloudKitServiceError.writeNotSupportedOnPlatform
      } catch {
        result.refused.append(QueueImport.Refusal(operation: operation, error: CloudKitServiceError(error)))
        continue
      }
      try storage.remove(operation)
      result.accepted.append(operation)
    }
    return result
  }
}
