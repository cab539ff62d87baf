internal import Foundation

/// The results of the items of one operation, in the order in which the program gave them.
struct ItemResults<ID: Hashable & Sendable, Value: Sendable>: Sendable {
  let elements: [(id: ID, result: Result<Value, any Error>)]

  /// Extracts the items' results from a reply. A failure as a whole is a failure of every item.
  init(of ids: [ID], in answer: Result<[ID: Result<Value, any Error>], any Error>) {
    elements = ids.map { id in
      switch answer {
      case .success(let results): (id, Result { try results.item(id, in: .read) })
      case .failure(let error): (id, .failure(error))
      }
    }
  }

  /// The successful items.
  var values: [Value] { elements.compactMap { try? $0.result.get() } }

  /// The IDs of the successful items.
  var successes: [ID] { elements.filter { $0.result.failure == nil }.map(\.id) }

  /// The errors of the failed items.
  var errors: [AnyHashable: any Error] {
    var errors: [AnyHashable: any Error] = [:]
    for (id, result) in elements {
      if case .failure(let error) = result { errors[id] = error }
    }
    return errors
  }
}

extension CKOperation {
  /// Returns the result for the last block: the error of the whole operation, or the errors of the failed items. If
  /// items failed and the operation was cancelled, the error is `operationCancelled`.
  func outcome<Answer>(_ answer: Result<Answer, any Error>, itemErrors: [AnyHashable: any Error]) -> Result<
    Void, any Error
  > {
    if case .failure(let error) = answer { return .failure(error) }
    guard !itemErrors.isEmpty else { return .success(()) }
    return .failure(CKError(isCancelled ? .operationCancelled : .partialFailure, itemErrors: itemErrors))
  }
}

extension CKError {
  /// Makes an error with the errors of the failed items.
  init(_ code: Code, itemErrors: [AnyHashable: any Error]) {
    let message = "\(code.summary) (\(itemErrors.count) items)"
    self.init(code, userInfo: [CKPartialErrorsByItemIDKey: itemErrors, NSLocalizedDescriptionKey: message])
  }
}

extension Result where Failure == any Error {
  /// The error; nil for a success.
  var failure: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}
