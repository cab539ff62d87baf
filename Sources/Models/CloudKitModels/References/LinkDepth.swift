public import CloudKit

/// The number of references in a row that a load follows.
public struct LinkDepth: Sendable, Hashable {
  let limit: Int

  /// Follows no reference. A ``Link`` keeps the identity of its target, an optional model is nil, and a list of models
  /// is empty.
  public static let none = LinkDepth(limit: 0)
  /// Follows every reference, and ends where a record refers back to one that leads to it. A load of more than 100
  /// references in a row, or of a million models, is an error.
  public static let all = LinkDepth(limit: .max)

  /// Follows this number of references in a row: 1 loads the targets of the models, 2 also the targets of those.
  public static func depth(_ limit: Int) -> LinkDepth { LinkDepth(limit: max(0, limit)) }
}

/// Loaded models with the cycles between them.
public struct LoadedModels<Model> {
  /// The models.
  public let models: [Model]
  /// The cycles that were found: records that refer to each other, in order, each cycle once. Its last reference, back
  /// to the first record, is not loaded.
  public let cycles: [[CKRecord.ID]]
}

extension LoadedModels: Sendable where Model: Sendable {}
