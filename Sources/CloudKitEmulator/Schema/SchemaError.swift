/// Why a text is no schema, or none that can replace the one there is.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line of what is wrong, from 1.
  public let line: Int
  /// The column, from 1, in characters.
  public let column: Int
  /// What is wrong, with its place, in the words of the service where they are known:
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

/// A place in a text, from 1.
struct SchemaPlace: Sendable, Hashable {
  var line = 1
  var column = 1
}
