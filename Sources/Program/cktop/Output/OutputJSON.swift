import CloudSync
import Facts
package import JSONText

/// A JSON value of the command line's output. Keys keep their order, unknown values are null.
///
/// Synthesised `Encodable` would omit keys with nil values, but every documented key must be present.
typealias OutputJSON = JSON

extension JSON {
  static func text(_ text: String) -> JSON { .string(text) }
  static func integer(_ integer: Int64) -> JSON { .int(integer) }
  static func number(_ number: Double) -> JSON { .double(number) }

  /// A text, or null if it is unknown.
  static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }

  /// A text, or null if it is empty, such as the owner of the user's own zone.
  static func unlessEmpty(_ text: String) -> JSON { optional(text.isEmpty ? nil : text) }

  static func optional(_ integer: (some BinaryInteger)?) -> JSON { integer.map { .int(Int64($0)) } ?? .null }

  static func optional(_ number: Double?) -> JSON { number.map(JSON.double) ?? .null }

  static func optional(_ bool: Bool?) -> JSON { bool.map(JSON.bool) ?? .null }

  /// A time in milliseconds since 1970, as RFC 3339 in UTC; null if unknown or out of range.
  static func time(_ milliseconds: Int64?) -> JSON {
    optional(milliseconds.flatMap { RFC3339.text(milliseconds: $0) })
  }

  /// Counts or sizes by name, sorted by name.
  static func counts(_ counts: [String: Int]) -> JSON {
    .object(JSONObject(counts.sorted { $0.key < $1.key }.map { ($0.key, .int(Int64($0.value))) }))
  }

  /// The value on one line, safe to print on a terminal.
  var line: String {
    let text = String(decoding: JSONWriter.bytes(of: self, isSpaced: true), as: UTF8.self)
    var line = String.UnicodeScalarView()
    // All of these are inside strings.
    for scalar in text.unicodeScalars {
      if Self.isUnsafe(scalar) {
        for unit in String(scalar).utf16 { line += Self.escape(unit) }
      } else {
        line.append(scalar)
      }
    }
    return String(line)
  }

  /// Whether a terminal would interpret or hide the scalar.
  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar == "\u{7F}" }
    return switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }

  private static func escape(_ unit: UInt16) -> String.UnicodeScalarView {
    let digits = String(unit, radix: 16)
    return ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars
  }
}

extension JSONObject {
  /// The object as a line of NDJSON.
  var line: String { JSON.object(self).line }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .int(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(JSONObject(elements)) }
}
