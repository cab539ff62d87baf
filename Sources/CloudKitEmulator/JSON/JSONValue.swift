/// A JSON value that keeps integers as integers, so that no INT64 is converted to a Double.
enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object(JSONObject)

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  var bool: Bool? {
    if case .bool(let flag) = self { flag } else { nil }
  }

  var array: [JSON]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  var object: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// The whole number, if this is one. Accepts strings too, because `numbersAsStrings` makes clients expect them.
  var integer: Int64? {
    switch self {
    case .int(let number): number
    case .double(let number): Int64(exactly: number)
    case .string(let text): Int64(text)
    case .null, .bool, .array, .object: nil
    }
  }

  /// The finite number, if this is one. Accepts strings too.
  var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .null, .bool, .array, .object: nil
    }
  }

  var isNull: Bool { self == .null }
}

/// The members of a JSON object in their original order. If a key repeats, the last one counts.
struct JSONObject: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  struct Member: Sendable, Hashable {
    var key: String
    var value: JSON
  }

  private(set) var members: [Member] = []

  init() {}

  init(dictionaryLiteral elements: (String, JSON)...) {
    members = elements.map { Member(key: $0.0, value: $0.1) }
  }

  /// Returns the value of a key, or `nil` if the key is absent or null. CloudKit distinguishes the two only in
  /// `fields`.
  subscript(key: String) -> JSON? {
    guard let value = members.last(where: { $0.key == key })?.value, value != .null else { return nil }
    return value
  }

  mutating func append(_ key: String, _ value: JSON) {
    members.append(Member(key: key, value: value))
  }

  mutating func append(_ key: String, _ value: JSON?) {
    guard let value else { return }
    members.append(Member(key: key, value: value))
  }
}
