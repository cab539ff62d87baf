/// The reason why a schema text is invalid, or cannot replace the current schema.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line of the error, from 1.
  public let line: Int
  /// The column of the error in characters, from 1.
  public let column: Int
  /// The error and its position, in the service's wording where it is known:
  /// `Encountered "." at line 433, column 25. Was expecting "("`. [C]
  public let reason: String

  init(_ problem: String, at place: SchemaPlace, expected: String? = nil) {
    line = place.line
    column = place.column
    reason =
      "\(problem) at line \(place.line), column \(place.column)" + (expected.map { ". Was expecting \($0)" } ?? "")
  }

  /// The reason.
  public var description: String { reason }
}

/// A position in a text, from line 1, column 1.
struct SchemaPlace: Sendable, Hashable {
  var line = 1
  var column = 1
}
