/// The reason that a predicate cannot be used. It never contains the caller's values, which may be private.
package struct PredicateFailure: Error, Hashable {
  private let reason: String
  /// The position of the part in the format, in Unicode scalars from 0.
  private let offset: Int?

  /// Creates a failure, with the position of the part in the format if there is a format.
  package init(_ reason: String, at offset: Int? = nil) {
    self.reason = reason
    self.offset = offset
  }

  /// The reason, with the position as people count, from 1.
  package var message: String { offset.map { "\(reason) (position \($0 + 1) of the format)" } ?? reason }

  /// Returns the failure with a position, unless it already has one.
  func at(_ offset: Int) -> PredicateFailure {
    PredicateFailure(reason, at: self.offset ?? offset)
  }

  /// Returns the failure with the name of its part in front.
  package func about(_ part: String) -> PredicateFailure {
    PredicateFailure("\(part): \(reason)", at: offset)
  }
}
