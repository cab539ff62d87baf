import CloudSync
import Facts

/// A JSON value of the command line's output. Keys keep their order, unknown values are null.
///
/// Synthesised `Encodable` would omit keys with nil values, but every documented key must be present.
enum OutputJSON: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case number(Double)
  case text(String)
  case array([OutputJSON])
  case object(JSONObject)

  /// A text, or null if it is unknown.
  static func optional(_ text: String?) -> OutputJSON { text.map(OutputJSON.text) ?? .null }

  /// A text, or null if it is empty, such as the owner of the user's own zone.
  static func unlessEmpty(_ text: String) -> OutputJSON { optional(text.isEmpty ? nil : text) }

  static func optional(_ integer: (some BinaryInteger)?) -> OutputJSON {
    integer.map { .integer(Int64($0)) } ?? .null
  }

  static func optional(_ number: Double?) -> OutputJSON { number.map(OutputJSON.number) ?? .null }

  static func optional(_ bool: Bool?) -> OutputJSON { bool.map(OutputJSON.bool) ?? .null }

  /// A time in milliseconds since 1970, as RFC 3339 in UTC; null if unknown or out of range.
  static func time(_ milliseconds: Int64?) -> OutputJSON {
    optional(milliseconds.flatMap { RFC3339.text(milliseconds: $0) })
  }

  /// A duration in seconds.
  static func seconds(_ duration: Duration?) -> OutputJSON { optional(duration.map { $0 / .seconds(1) }) }

  /// Counts or sizes by name, sorted by name.
  static func counts(_ counts: [String: Int]) -> OutputJSON {
    .object(JSONObject(counts.sorted { $0.key < $1.key }.map { ($0.key, .integer(Int64($0.value))) }))
  }

  /// The value on one line, safe to print on a terminal.
  var line: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .number(let value): text += value.isFinite ? "\(value)" : "null"
    case .text(let value): Self.write(value, to: &text)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += ", " }
        element.write(to: &text)
      }
      text += "]"
    case .object(let object):
      text += "{"
      for (index, member) in object.members.enumerated() {
        if index > 0 { text += ", " }
        Self.write(member.key, to: &text)
        text += ": "
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where isUnsafe(scalar): for unit in String(scalar).utf16 { text += escape(unit) }
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  /// Whether JSON forbids the scalar, or a terminal would interpret or hide it.
  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }

  private static func escape(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// A JSON object whose keys keep their order.
struct JSONObject: Hashable, Sendable {
  struct Member: Hashable, Sendable {
    var key: String
    var value: OutputJSON
  }

  private(set) var members: [Member]

  init(_ members: [(String, OutputJSON)] = []) { self.members = members.map { Member(key: $0.0, value: $0.1) } }

  /// The value of a key; setting a new key appends it.
  subscript(key: String) -> OutputJSON? {
    get { members.first { $0.key == key }?.value }
    set {
      let place = members.firstIndex { $0.key == key }
      switch (place, newValue) {
      case (let place?, let value?): members[place].value = value
      case (let place?, nil): members.remove(at: place)
      case (nil, let value?): members.append(Member(key: key, value: value))
      case (nil, nil): break
      }
    }
  }

  /// The object as a line of NDJSON.
  var line: String { OutputJSON.object(self).line }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral elements: (String, OutputJSON)...) { self.init(elements) }
}

extension OutputJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
  init(stringLiteral value: String) { self = .text(value) }
  init(integerLiteral value: Int64) { self = .integer(value) }
  init(floatLiteral value: Double) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(nilLiteral: ()) { self = .null }
  init(arrayLiteral elements: OutputJSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, OutputJSON)...) { self = .object(JSONObject(elements)) }
}
