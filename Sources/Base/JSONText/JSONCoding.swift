extension String: JSONReadable, JSONWritable {
  @usableFromInline package init(json: inout JSONReader) throws(JSONError) { self = try json.string() }
  @usableFromInline package func write(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONReadable, JSONWritable {
  @usableFromInline package init(json: inout JSONReader) throws(JSONError) { self = try json.bool() }
  @usableFromInline package func write(to json: inout JSONWriter) { json.bool(self) }
}

extension Int64: JSONReadable, JSONWritable {
  @usableFromInline package init(json: inout JSONReader) throws(JSONError) { self = try json.int64() }
  @usableFromInline package func write(to json: inout JSONWriter) { json.int64(self) }
}

extension Double: JSONReadable, JSONWritable {
  @usableFromInline package init(json: inout JSONReader) throws(JSONError) { self = try json.double() }
  @usableFromInline package func write(to json: inout JSONWriter) { json.double(self) }
}

extension Array: JSONReadable where Element: JSONReadable {
  @inlinable package init(json: inout JSONReader) throws(JSONError) {
    self = []
    try json.enterArray()
    while try json.nextElement() { append(try Element(json: &json)) }
  }
}

extension Array: JSONWritable where Element: JSONWritable {
  @inlinable package func write(to json: inout JSONWriter) {
    json.beginArray()
    for element in self { element.write(to: &json) }
    json.endArray()
  }
}

extension Dictionary: JSONReadable where Key == String, Value: JSONReadable {
  /// Reads values by name. Null ones are treated as missing, as the server does.
  @inlinable package init(json: inout JSONReader) throws(JSONError) {
    // Growing from an empty dictionary would take longer than decoding a field.
    self.init(minimumCapacity: 12)
    try json.enterObject()
    while let key = try json.nextKey() { self[try key.string()] = try Value.optional(json: &json) }
  }
}

extension Dictionary: JSONWritable where Key == String, Value: JSONWritable {
  @inlinable package func write(to json: inout JSONWriter) {
    json.beginObject()
    for (name, value) in sorted(by: { $0.key < $1.key }) {
      json.key(name)
      value.write(to: &json)
    }
    json.endObject()
  }
}
