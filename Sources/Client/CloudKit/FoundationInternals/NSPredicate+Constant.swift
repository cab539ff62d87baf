internal import Foundation

extension NSPredicate {
  /// The value of a constant predicate, which no API returns; nil for other predicates. Constants are equal by value,
  /// and a predicate made from a block equals none.
  var constant: Bool? { [true, false].first { isEqual(NSPredicate(value: $0)) } }
}
