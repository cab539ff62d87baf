import CloudKitModels

/// The differences between two results of a query. A model is the same one as long as its record name is.
public struct ResultChanges<Model> {
  /// The models that were not among the results, in their order.
  public var inserted: [Model] = []
  /// The models that differ from those of the same record name, in the order of the results.
  public var updated: [Model] = []
  /// The models that are no longer among the results, as they were, in their former order.
  public var removed: [Model] = []

  /// Whether there are none. Results in another order have none.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && removed.isEmpty }
}

extension ResultChanges: Sendable where Model: Sendable {}
extension ResultChanges: Equatable where Model: Equatable {}

extension ResultChanges where Model: CKRecordModel & Equatable {
  /// Compares two results.
  package init(from former: [Model], to present: [Model]) {
    let known = Dictionary(former.map { ($0.recordName, $0) }) { first, _ in first }
    for model in present {
      switch known[model.recordName] {
      case nil: inserted.append(model)
      case model?: break
      case _?: updated.append(model)
      }
    }
    let names = Set(present.map(\.recordName))
    removed = former.filter { !names.contains($0.recordName) }
  }
}

/// The differences between the results of a query, as they change.
struct ResultDifferences<Model: CKRecordModel & Decodable & Equatable & Sendable>: AsyncSequence, Sendable {
  let results: StoredResults<Model>

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(results: results.makeAsyncIterator()) }

  struct AsyncIterator: AsyncIteratorProtocol {
    var results: StoredResults<Model>.AsyncIterator
    var last: [Model] = []

    mutating func next() async throws -> ResultChanges<Model>? {
      while let models = try await results.next() {
        let changes = ResultChanges(from: last, to: models)
        last = models
        if !changes.isEmpty { return changes }
      }
      return nil
    }
  }
}
