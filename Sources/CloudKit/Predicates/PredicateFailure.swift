/// The reason that a predicate cannot be used. It never contains the caller's values, which may be private.
struct PredicateFailure: Error, Hashable {
  private let reason: String
  /// The position of the part in the format, in Unicode scalars from 0.
  private let offset: Int?

  init(_ reason: String, at offset: Int? = nil) {
    self.reason = reason
    self.offset = offset
  }

  var message: String { offset.map { "\(reason) (position \($0 + 1) of the format)" } ?? reason }

  /// Returns the failure with a position, unless it already has one.
  func at(_ offset: Int) -> PredicateFailure {
    PredicateFailure(reason, at: self.offset ?? offset)
  }

  /// Returns the failure with the name of its part in front.
  func about(_ part: String) -> PredicateFailure {
    PredicateFailure("\(part): \(reason)", at: offset)
  }
}
