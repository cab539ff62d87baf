/// An error in a filter expression, with its position.
package struct FilterError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem and a suggestion, as one clause without a full stop.
  package let message: String
  /// The position in Unicode scalars from 1; one past the end if something is missing.
  package let column: Int

  /// The error in one line.
  package var description: String { "\(message) (column \(column))" }
}
