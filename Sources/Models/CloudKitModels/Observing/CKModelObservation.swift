public import CloudKit

/// Reports the changes of models to a closure until it is released.
///
/// Keep it in the object that receives the changes, and let the closure refer to that object weakly. Then the
/// observation ends with the object:
///
/// ```swift
/// observation = try await Note.observe(in: container) { [weak self] in self?.receive($0) }
/// ```
public final class CKModelObservation: Sendable {
  private let task: Task<Void, Never>

  fileprivate init(_ task: Task<Void, Never>) { self.task = task }

  deinit { task.cancel() }

  /// Ends the observation.
  public func cancel() { task.cancel() }
}

extension CKRecordModel where Self: Decodable & Sendable {
  /// Subscribes to the changes of this type's models, as ``changes(in:where:zone:)`` does, and calls a closure with
  /// each until the returned observation is released.
  ///
  /// When it returns, no later change is missed: load the models then.
  ///
  /// - Parameter receive: Called with each change, one after the other, on any thread. A failure is the last call.
  public static func observe(
    in container: CKContainer,
    where query: Query<Self> = Query(),
    zone zoneID: CKRecordZone.ID? = nil,
    _ receive: @escaping @Sendable (Result<CKModelChange<Self>, any Error>) -> Void
  ) async throws -> CKModelObservation {
    var started = changes(in: container, where: query, zone: zoneID).makeAsyncIterator()
    try await started.start()
    return CKModelObservation(
      Task { [started] in
        var iterator = started
        do {
          while let change = try await iterator.next(), !Task.isCancelled { receive(.success(change)) }
        } catch {
          receive(.failure(error))
        }
      }
    )
  }

  /// Observes the changes of this type's models, as ``observe(in:where:zone:_:)`` does, and calls the handler once with
  /// the observation, on any thread.
  public static func observe(
    in container: CKContainer,
    where query: Query<Self> = Query(),
    zone zoneID: CKRecordZone.ID? = nil,
    _ receive: @escaping @Sendable (Result<CKModelChange<Self>, any Error>) -> Void,
    completionHandler: @escaping @Sendable (Result<CKModelObservation, any Error>) -> Void
  ) {
    Task {
      do {
        completionHandler(.success(try await observe(in: container, where: query, zone: zoneID, receive)))
      } catch {
        completionHandler(.failure(error))
      }
    }
  }
}
