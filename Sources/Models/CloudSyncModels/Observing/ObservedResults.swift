public import CloudKitModels
public import Observation

/// The results of a query for a screen, on the actor that creates it, until it is released.
///
/// ```swift
/// let notes = ObservedResults(store.observe(Query<Note>().sorted(by: \.title)))
/// ```
@Observable
public final class ObservedResults<Model: CKRecordModel & Decodable & Equatable & Sendable> {
  /// The latest results; empty before the first ones.
  public private(set) var models: [Model] = []
  /// The error of the last reading, which left the models as they were; nil if it succeeded.
  public private(set) var error: (any Error)?
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Observes the results on an actor.
  ///
  /// - Parameter isolation: The actor; by default that of the caller.
  public init(_ results: StoredResults<Model>, isolation: isolated any Actor = #isolation) {
    task = Task { [weak self] in
      _ = isolation
      var iterator = results.makeAsyncIterator()
      while !Task.isCancelled {
        do {
          while let models = try await iterator.next() { self?.take(models) }
        } catch {
          self?.error = error
        }
      }
    }
  }

  deinit { task?.cancel() }

  private func take(_ models: [Model]) {
    self.models = models
    if error != nil { error = nil }
  }
}
