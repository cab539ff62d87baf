/// The reason why a schema text is invalid, or cannot replace the current schema.
public struct CKSchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line of the error, from 1.
  public let line: Int
  /// The column of the error in characters, from 1.
  public let column: Int
  /// The error and its position, in the service's wording where it is known:
  /// `Encountered "." at line 433, column 25. Was expecting "("`. [C]
  public let reason: String

  package init(_ problem: String, at place: CKSchema.Place, expected: String? = nil) {
    line = place.line
    column = place.column
    reason =
      "\(problem) at line \(place.line), column \(place.column)" + (expected.map { ". Was expecting \($0)" } ?? "")
  }

  /// The reason.
  public var description: String { reason }
}

extension CKSchema {
  /// A position in a text, from line 1, column 1.
  package struct Place: Sendable, Hashable {
    var line = 1
    var column = 1

    package init() {}
  }

  /// Returns the position of the declaration of a type or field in the parsed text; its beginning if it has none.
  package func place(of type: String, field: String? = nil) -> Place {
    source?.lines.first { line in
      switch line.statement {
      case .opening(type): field == nil
      case .field(type, let name, _): name == field
      default: false
      }
    }?.place ?? Place()
  }
}
