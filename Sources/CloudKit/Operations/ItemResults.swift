internal import Foundation

/// The results of the items of one operation, in the order in which the program named them.
struct ItemResults<ID: Hashable & Sendable, Value: Sendable>: Sendable {
  let elements: [(id: ID, result: Result<Value, any Error>)]

  /// Takes the items' results out of an answer. A failure of the whole is one of every item.
  init(of ids: [ID], in answer: Result<[ID: Result<Value, any Error>], any Error>) {
    elements = ids.map { id in
      switch answer {
      case .success(let results):
        (id, results[id] ?? .failure(CKError(.internalError, "The answer does not name the item.")))
      case .failure(let error): (id, .failure(error))
      }
    }
  }

  /// The items that came off well.
  var values: [Value] { elements.compactMap { try? $0.result.get() } }

  /// Their identifiers.
  var successes: [ID] { elements.filter { $0.result.failure == nil }.map(\.id) }

  /// The errors of the others.
  var errors: [AnyHashable: any Error] {
    var errors: [AnyHashable: any Error] = [:]
    for (id, result) in elements {
      if case .failure(let error) = result { errors[id] = error }
    }
    return errors
  }
}

extension CKOperation {
  /// What the last block is told: why the whole failed, or which items did. An operation that was cancelled before all
  /// items came off well was cancelled.
  func outcome<Answer>(_ answer: Result<Answer, any Error>, itemErrors: [AnyHashable: any Error]) -> Result<
    Void, any Error
  > {
    if case .failure(let error) = answer { return .failure(error) }
    guard !itemErrors.isEmpty else { return .success(()) }
    return .failure(CKError(isCancelled ? .operationCancelled : .partialFailure, itemErrors: itemErrors))
  }
}

extension CKError {
  /// An error of an operation some of whose items failed.
  init(_ code: Code, itemErrors: [AnyHashable: any Error]) {
    let message = "\(code.summary) (\(itemErrors.count) items)"
    self.init(code, userInfo: [CKPartialErrorsByItemIDKey: itemErrors, NSLocalizedDescriptionKey: message])
  }
}

extension Result where Failure == any Error {
  /// The error, where there is one.
  var failure: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}
