internal import Foundation

// What is read from bytes and written to them has one spelling, here and inside types that are `Codable`.

extension JSONReadable where Self: Decodable {
  package init(from decoder: any Decoder) throws {
    try self.init(json: try JSONValue(from: decoder).json())
  }
}

extension JSONWritable where Self: Encodable {
  package func encode(to encoder: any Encoder) throws {
    try JSONValue(json: try json()).encode(to: encoder)
  }
}

extension JSONReader {
  /// Reads what lies between a place noted before and here once more, as a type that is only `Decodable`: for what is rare.
  func decode<Value: Decodable>(from start: Int, as type: Value.Type = Value.self) throws(JSONError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: slice(from: start))
    } catch {
      throw failure("no \(type)", at: start)
    }
  }
}

// MARK: - Swift's own types

extension String: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) { self = try json.string() }
  package func write(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) { self = try json.bool() }
  package func write(to json: inout JSONWriter) { json.bool(self) }
}

extension Int64: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) { self = try json.int64() }
  package func write(to json: inout JSONWriter) { json.int64(self) }
}

extension Double: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) { self = try json.double() }
  package func write(to json: inout JSONWriter) { json.double(self) }
}

extension Array: JSONReadable where Element: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    self = []
    try json.enterArray()
    while try json.nextElement() { append(try Element(json: &json)) }
  }
}

extension Array: JSONWritable where Element: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginArray()
    for element in self { element.write(to: &json) }
    json.endArray()
  }
}
