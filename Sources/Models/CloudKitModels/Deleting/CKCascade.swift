/// The records that are deleted with a model.
public struct CKCascade: OptionSet, Hashable, Sendable {
  /// The options as bits.
  public let rawValue: Int

  /// Creates a set of options from bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The records that the model refers to, directly or indirectly. The parent is not included. They are deleted even if
  /// other records refer to them.
  public static let targets = CKCascade(rawValue: 1)
  /// The records that have the model's record as their parent, or refer to it with `deleteSelf`, and the children of
  /// those. They are found in the change feed of the zone, which is read once and whole, so the zone must be a custom
  /// one.
  public static let children = CKCascade(rawValue: 2)
}
