/// Why a predicate cannot be used, in words. Values of the caller's never stand in it: they may be private.
struct PredicateFailure: Error, Hashable {
  private let reason: String
  /// Where in the format the part begins, in scalars from 0.
  private let offset: Int?

  init(_ reason: String, at offset: Int? = nil) {
    self.reason = reason
    self.offset = offset
  }

  var message: String { offset.map { "\(reason) (position \($0 + 1) of the format)" } ?? reason }

  /// The same failure, placed where nobody who knew better has placed it.
  func at(_ offset: Int) -> PredicateFailure {
    PredicateFailure(reason, at: self.offset ?? offset)
  }

  /// The same failure, with what it is about before it.
  func about(_ part: String) -> PredicateFailure {
    PredicateFailure("\(part): \(reason)", at: offset)
  }
}
