/// A value as a file or the command line gives it, before it has a field type.
///
/// Numbers keep their digits: no precision is lost before it is known whether they become numbers at all.
package indirect enum SourceValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number of JSON's grammar, as written.
  case number(String)
  case text(String)
  /// An empty cell in quotes: an empty text in a column of texts, else nothing.
  case emptyCell
  case list([SourceValue])
  /// With its source text.
  case object([String: SourceValue], source: String)

  /// A cell of a table or a bare argument: a number or a truth value where it reads as one, else text.
  static func plain(_ text: String) -> SourceValue {
    switch text {
    case "true": .bool(true)
    case "false": .bool(false)
    default: JSONReader.isNumber(text) ? .number(text) : .text(text)
    }
  }

  /// The integer, if it is one that INT64 holds exactly.
  var integer: Int64? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .number(let digits): Int64(digits)
    default: nil
    }
  }

  /// The value as text, for a field of texts; nil for lists and objects.
  var text: String? {
    switch self {
    case .bool(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .text(let text): text
    case .emptyCell: ""
    case .null, .list, .object: nil
    }
  }

  /// The wire's name for what this would be by itself, for messages.
  var naturalType: String {
    switch self {
    case .null: "null"
    case .bool: "INT64"
    case .number: integer == nil ? "DOUBLE" : "INT64"
    case .text, .emptyCell: "STRING"
    case .list(let elements): elements.first.map { $0.naturalType + "_LIST" } ?? "an empty list"
    case .object: "an object"
    }
  }
}
