import JSONText

/// Reads optional members that must have the right type if present. An invalid member is rejected, because ignoring it
/// could widen the result. [E]
extension JSONObject {
  func list(_ key: String) throws(ServerError) -> [JSON]? {
    guard let json = self[key], json != .null else { return nil }
    guard let array = json.array else { throw .badRequest("Invalid value for '\(key)', expected a list") }
    return array
  }

  func flag(_ key: String) throws(ServerError) -> Bool? {
    guard let json = self[key], json != .null else { return nil }
    guard let flag = json.bool else { throw .badRequest("Invalid value for '\(key)', expected true or false") }
    return flag
  }
}

extension JSON {
  /// The whole number, if this is one. Accepts strings too, because `numbersAsStrings` makes clients expect them.
  var integer: Int64? {
    switch self {
    case .int(let number): number
    case .double(let number): Int64(exactly: number)
    case .string(let text): Int64(text)
    case .null, .bool, .digits, .array, .object: nil
    }
  }

  /// The finite number, if this is one. Accepts strings too.
  var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    case .digits(let text), .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .null, .bool, .array, .object: nil
    }
  }

  var isNull: Bool { self == .null }
}
