package import Foundation

/// A JSON value.
///
/// Numbers are never rounded to another integer: a number is an `int` if it has that form, else the nearest `double`,
/// else its digits. Objects keep the order of their members.
package enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  /// A number that neither type can represent, as written.
  case digits(String)
  case string(String)
  case array([JSON])
  case object(JSONObject)

  /// Compares strings by their bytes. Swift treats canonically equivalent strings as equal.
  package static func == (left: JSON, right: JSON) -> Bool {
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

  /// The text, if this is one.
  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The Boolean, if this is one.
  package var bool: Bool? {
    if case .bool(let flag) = self { flag } else { nil }
  }

  /// The elements, if this is an array.
  package var array: [JSON]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The members, if this is an object.
  package var object: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// The value with the members of all objects in the order of their keys, and each key once, so that values that mean
  /// the same are equal and have equal bytes.
  package var sorted: JSON {
    switch self {
    case .array(let elements): .array(elements.map(\.sorted))
    case .object(let object):
      .object(
        JSONObject(
          Dictionary(object.members.map { ($0.key, $0.value.sorted) }) { $1 }.sorted { $0.key < $1.key }
        )
      )
    default: self
    }
  }
}

/// The members of a JSON object in their original order. If a key repeats, the last one counts.
package struct JSONObject: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// A key with its value.
  package struct Member: Hashable, Sendable {
    package var key: String
    package var value: JSON
  }

  /// The members, with all values of repeated keys.
  package private(set) var members: [Member] = []

  package init() {}

  package init(_ members: [(String, JSON)]) { self.members = members.map { Member(key: $0.0, value: $0.1) } }

  package init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }

  /// The value of a key; nil if the key is absent or null. CloudKit distinguishes the two only in `fields`. Setting a
  /// new key appends it.
  package subscript(key: String) -> JSON? {
    get {
      guard let value = members.last(where: { $0.key == key })?.value, value != .null else { return nil }
      return value
    }
    set {
      guard let place = members.lastIndex(where: { $0.key == key }) else { return append(key, newValue) }
      if let newValue { members[place].value = newValue } else { members.removeAll { $0.key == key } }
    }
  }

  /// Appends a member.
  package mutating func append(_ key: String, _ value: JSON) { members.append(Member(key: key, value: value)) }

  /// Appends a member, or nothing if the value is nil.
  package mutating func append(_ key: String, _ value: JSON?) {
    if let value { append(key, value) }
  }
}

extension JSON: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    switch json.peek() {
    case UInt8(ascii: "{"):
      var object = JSONObject()
      try json.enterObject()
      while let key = try json.nextKey() { object.append(try key.string(), try JSON(json: &json)) }
      self = .object(object)
    case UInt8(ascii: "["): self = .array(try [JSON](json: &json))
    case UInt8(ascii: "\""): self = .string(try json.string())
    case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .bool(try json.bool())
    case UInt8(ascii: "n"):
      _ = try json.null()
      self = .null
    default: self.init(try json.number())
    }
  }

  private init(_ number: JSONNumber) {
    if number.isPlain {
      self = number.int64.map(JSON.int) ?? .digits(number.text)
    } else if let value = number.double {
      self = .double(value)
      // Doubles this large leave integers out. 9.223372036854776e+17 is how a double is written, though.
      if value.magnitude >= 0x1p53, let whole = number.int64, Int64(exactly: value) != whole,
        JSONNumber.read(value.description, \.int64) != whole
      {
        self = .int(whole)
      }
    } else {
      self = .digits(number.text)
    }
  }
}

extension JSON: JSONWritable {
  /// Writes the value. A number that is not finite becomes null.
  package func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.null()
    case .bool(let value): json.bool(value)
    case .int(let value): json.int64(value)
    // 3.0 stays a double.
    case .double(let value): json.plain(value.isFinite ? value.description : "null")
    case .digits(let text): json.plain(text)
    case .string(let value): json.string(value)
    case .array(let elements): elements.write(to: &json)
    case .object(let object):
      json.beginObject()
      json.members(object)
      json.endObject()
    }
  }

  /// The value as a document on one line.
  package var text: String { String(decoding: JSONWriter.bytes(of: self), as: UTF8.self) }
  /// The bytes of the document.
  package var data: Data { Data(JSONWriter.bytes(of: self)) }
}
