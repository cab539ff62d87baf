public import CloudKit
import Foundation

/// The error of a call for several models when some of them failed. The others are saved or deleted.
///
/// ```swift
/// do {
///   try await database.save(notes)
/// } catch let error as CKModelBatchError {
///   for failure in error.failures { report(notes[failure.index], failure.error) }
/// }
/// ```
public struct CKModelBatchError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible, Sendable {
  /// A model that failed.
  public struct Failure: Sendable {
    /// The place of the model among those of the call, from 0.
    public let index: Int
    /// The ID of its record.
    public let recordID: CKRecord.ID
    /// The reason: the server's `CKError`, or a ``CKModelError`` if a model that it refers to failed, or if the saved
    /// record does not match the model.
    public let error: any Error
  }

  /// The name of the models' type.
  public let model: String
  /// The models that failed, at least one, in the order of the call.
  public let failures: [Failure]
  /// The records that were saved, as the server has them, in the order of the call.
  public let saved: [CKRecord]
  /// The records that are deleted or did not exist, in the order of the call.
  public let deleted: [CKRecord.ID]

  private let count: Int
  /// The step that failed, as in "saved".
  private let step: String

  /// The number of failures that the text describes.
  private static let describedFailures = 3

  /// Creates the error of a save; nil if no model failed.
  init?(saving model: Any.Type, _ outcomes: [SavedModel<some Any>]) {
    self.init(model, "saved", outcomes.map { ($0.recordID, $0.result.error) }, saved: outcomes.compactMap(\.record))
  }

  /// Creates the error of a deletion; nil if no model failed.
  init?(deleting model: Any.Type, _ outcomes: [(recordID: CKRecord.ID, result: Result<Void, any Error>)]) {
    let deleted = outcomes.filter { $0.result.error == nil }.map(\.recordID)
    self.init(model, "deleted", outcomes.map { ($0.recordID, $0.result.error) }, deleted: deleted)
  }

  private init?(
    _ model: Any.Type,
    _ step: String,
    _ errors: [(recordID: CKRecord.ID, error: (any Error)?)],
    saved: [CKRecord] = [],
    deleted: [CKRecord.ID] = []
  ) {
    failures = errors.enumerated().compactMap { index, model in
      model.error.map { Failure(index: index, recordID: model.recordID, error: $0) }
    }
    guard !failures.isEmpty else { return nil }
    (self.model, self.step, count) = ("\(model)", step, errors.count)
    (self.saved, self.deleted) = (saved, deleted)
  }

  /// A sentence with the number of models that failed, and the names and reasons of the first.
  public var errorDescription: String? {
    let reasons = failures.prefix(Self.describedFailures).map {
      "Record '\($0.recordID.recordName)': \($0.error.localizedDescription)"
    }
    let others = failures.count - reasons.count
    let rest = others > 0 ? ["\(others) more failed."] : []
    let subject = "\(failures.count) of \(count) models of type '\(model)' could not be \(step)."
    return ([subject] + reasons + rest).joined(separator: " ")
  }

  /// The same text.
  public var description: String { errorDescription ?? model }
  /// The same text.
  public var debugDescription: String { description }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
