internal import Foundation

/// A JSON value kept unchanged, for protocol values that this library has no type for.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  /// A number that neither type can represent, in its JSON form.
  case digits(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Compares strings by their bytes, as ``FieldValue`` does.
  package static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.digits(let left), .digits(let right)): left == right
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

extension JSONValue: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) { self = try Self.value(&json, depth: 0) }

  private static func value(_ json: inout JSONReader, depth: Int) throws(JSONError) -> JSONValue {
    guard depth < JSONReader.largestDepth else { throw json.failure("nested too deeply") }
    switch json.peek() {
    case UInt8(ascii: "{"):
      var members: [String: JSONValue] = [:]
      try json.enterObject()
      while let key = try json.nextKey() {
        let name = try key.string()
        let value = try value(&json, depth: depth + 1)
        if members[name] == nil { members[name] = value }
      }
      return .object(members)
    case UInt8(ascii: "["):
      var elements: [JSONValue] = []
      try json.enterArray()
      while try json.nextElement() { elements.append(try value(&json, depth: depth + 1)) }
      return .array(elements)
    case UInt8(ascii: "\""): return .string(try json.string())
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool(try json.bool())
    case UInt8(ascii: "n"):
      _ = try json.null()
      return .null
    default: return JSONValue(try json.number())
    }
  }

  private init(_ number: JSONNumber) {
    if let value = number.int64 {
      self = .int(value)
    } else if !number.isPlain, let value = number.double {
      // 2.99999999999999999 is the double 3, and must equal 3 when it is read again.
      self = Int64(exactly: value).map(JSONValue.int) ?? .double(value)
    } else {
      self = .digits(number.text)
    }
  }
}

extension JSONValue: JSONWritable {
  package func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.null()
    case .bool(let value): json.bool(value)
    case .int(let value): json.int64(value)
    case .double(let value): json.double(value)
    case .digits(let text): json.plain(text)
    case .string(let value): json.string(value)
    case .array(let elements): elements.write(to: &json)
    case .object(let members):
      json.beginObject()
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        json.key(name)
        value.write(to: &json)
      }
      json.endObject()
    }
  }
}

extension JSONValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .digits(let text): try container.encode(Decimal(string: text) ?? .nan)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
