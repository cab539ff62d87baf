import Facts
import Foundation
package import JSONText

/// A value of a file or the command line, before it has a field type.
///
/// Numbers keep their digits, so that no precision is lost before their type is known.
package indirect enum SourceValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number in JSON syntax, as written.
  case number(String)
  case text(String)
  /// An empty cell in quotes: an empty text in a text column, else no value.
  case emptyCell
  case list([SourceValue])
  /// An object with its source text.
  case object([String: SourceValue], source: String)

  /// Parses a table cell or an argument: a number or a Boolean if it has that form, else a text.
  package static func plain(_ text: String) -> SourceValue {
    switch text {
    case "true": .bool(true)
    case "false": .bool(false)
    default: JSONNumber.read(text) { _ in .number(text) } ?? .text(text)
    }
  }

  /// The integer, if INT64 holds it exactly.
  package var integer: Int64? {
    switch self {
    case .bool(let value): value ? 1 : 0
    case .number(let digits): Int64(digits)
    default: nil
    }
  }

  /// The list that a text holds as JSON; nil for any other value.
  package var list: SourceValue? {
    guard case .text(let text) = self, text.utf8.first == UInt8(ascii: "["),
      let value = try? SourceValue(json: Data(text.utf8)), case .list = value
    else { return nil }
    return value
  }

  /// The value as text, for a text field; nil for lists and objects.
  package var text: String? {
    switch self {
    case .bool(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .text(let text): text
    case .emptyCell: ""
    case .null, .list, .object: nil
    }
  }

  /// The wire type that this value has by itself, for messages.
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

extension SourceValue: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    switch json.peek() {
    case UInt8(ascii: "{"):
      let start = json.offset
      var members: [String: SourceValue] = [:]
      try json.enterObject()
      while let key = try json.nextKey() {
        let name = try key.string()
        guard members.updateValue(try SourceValue(json: &json), forKey: name) == nil else {
          throw json.failure("the key \"\(name.excerpt)\" comes twice")
        }
      }
      self = .object(members, source: json.text(from: start))
    case UInt8(ascii: "["): self = .list(try [SourceValue](json: &json))
    case UInt8(ascii: "\""): self = .text(try json.string())
    case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool(try json.bool())
    default: self = try json.null() ? .null : .number(json.number().text)
    }
  }
}
