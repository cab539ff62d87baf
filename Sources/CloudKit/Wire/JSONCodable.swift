internal import Foundation

// Types that are read from and written to JSON bytes have the same encoding there and inside `Codable` types.

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
  /// Decodes the bytes from a noted offset up to here again, as a type that is only `Decodable`. For rare values only.
  func decode<Value: Decodable>(from start: Int, as type: Value.Type = Value.self) throws(JSONError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: slice(from: start))
    } catch {
      throw failure("invalid \(type)", at: start)
    }
  }
}

// MARK: - Standard library types

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
