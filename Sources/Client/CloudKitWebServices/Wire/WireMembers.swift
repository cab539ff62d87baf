package import JSONText

/// An object of a reply. Its members are listed once, in `members`.
package protocol WireReply: JSONReadable {
  /// Creates the object that reading fills.
  init()
  /// Visits the members.
  mutating func members(_ json: inout ReadingMembers) throws(JSONError)
}

/// An object of requests and replies. Its members are listed once, for reading and for writing.
package protocol WireObject: WireReply, JSONWritable {
  /// Visits the members in the order of their keys, in which they are written.
  mutating func members(_ json: inout some WireMembers) throws(JSONError)
}

/// The visitor of an object's members, which reads or writes them.
package protocol WireMembers {
  /// Visits a member that may be missing. Nil is not written.
  mutating func callAsFunction(_ key: StaticString, _ value: inout (some JSONReadable & JSONWritable)?)
    throws(JSONError)

  /// Visits a member that is required.
  mutating func callAsFunction(_ key: StaticString, _ value: inout some JSONReadable & JSONWritable) throws(JSONError)

  /// Visits a member that is always written, and has a default if a reply has none.
  mutating func callAsFunction<Value: JSONReadable & JSONWritable>(
    _ key: StaticString,
    _ value: inout Value,
    default: Value
  ) throws(JSONError)
}

/// Reads the members of an object. The object is visited once for each key, and the member with that key takes its
/// value.
package struct ReadingMembers: WireMembers {
  private var json: JSONReader
  /// The key whose value is next; nil at the end of the object.
  private var key: JSONKey?
  private var isTaken = false
  /// The required members that were read, a bit for each in the order of the visit.
  private var found: UInt64 = 0
  /// The bit of the next required member; 0 before the first visit.
  private var nextBit: UInt64 = 0
  /// A required member that the object does not have.
  private var missing: StaticString?

  private init(_ json: JSONReader) { self.json = json }

  package mutating func callAsFunction(_ key: StaticString, _ value: inout (some JSONReadable)?) throws(JSONError) {
    if take(key) { try json.read(into: &value) }
  }

  package mutating func callAsFunction<Value: JSONReadable>(_ key: StaticString, _ value: inout Value) throws(JSONError)
  {
    let bit = nextBit
    nextBit <<= 1
    guard take(key) else {
      if self.key == nil, found & bit == 0 { missing = missing ?? key }
      return
    }
    found &= ~bit
    if let read = try Value.optional(json: &json) { (value, found) = (read, found | bit) }
  }

  package mutating func callAsFunction<Value: JSONReadable>(
    _ key: StaticString,
    _ value: inout Value,
    default: Value
  ) throws(JSONError) {
    if take(key) { value = try Value.optional(json: &json) ?? `default` }
  }

  @inline(__always) private mutating func take(_ name: StaticString) -> Bool {
    guard !isTaken, let key, name ~= key else { return false }
    isTaken = true
    return true
  }

  /// Visits an object with a key, or at its end; false if no member takes the key.
  @inline(__always) private mutating func visit(_ object: inout some WireReply, at key: JSONKey?) throws(JSONError)
    -> Bool
  {
    (self.key, isTaken, nextBit) = (key, false, 1)
    try object.members(&self)
    return isTaken
  }

  /// Reads the value of the member with a key; false if the object has no such member.
  static func read(_ key: JSONKey, of object: inout some WireReply, _ json: inout JSONReader) throws(JSONError) -> Bool
  {
    var reading = ReadingMembers(json)
    let isMember = try reading.visit(&object, at: key)
    json = reading.json
    return isMember
  }

  /// Fills an object. Returns false if it has a member with the key `failure`, even if required members are missing.
  fileprivate static func fill(
    _ object: inout some WireReply,
    from json: inout JSONReader,
    unless failure: StaticString? = nil
  ) throws(JSONError) -> Bool {
    let start = json.offset
    var reading = ReadingMembers(json)
    var code: String?
    try reading.json.enterObject()
    while let key = try reading.json.nextKey() {
      if try reading.visit(&object, at: key) { continue }
      if let failure, failure ~= key { try reading.json.read(into: &code) } else { try reading.json.skip() }
    }
    json = reading.json
    guard code == nil else { return false }
    if reading.found != reading.nextBit &- 1 { _ = try reading.visit(&object, at: nil) }
    if let missing = reading.missing { throw json.failure("an object without '\(missing)'", at: start) }
    return true
  }
}

extension WireReply {
  package init(json: inout JSONReader) throws(JSONError) {
    self.init()
    _ = try ReadingMembers.fill(&self, from: &json)
  }

  /// Reads an object; nil if it is an error, which is any object with `serverErrorCode` (reference 2.5).
  package static func unlessFailure(_ json: inout JSONReader) throws(JSONError) -> Self? {
    var object = Self()
    return try ReadingMembers.fill(&object, from: &json, unless: "serverErrorCode") ? object : nil
  }
}

extension WireObject {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    writeMembers(to: &json)
    json.endObject()
  }

  /// Writes the members into the object that was begun.
  func writeMembers(to json: inout JSONWriter) {
    var object = self
    do throws(JSONError) { try object.members(&json) } catch { json.fail(error.reason) }
  }
}

extension JSONWriter: WireMembers {
  package mutating func callAsFunction(_ key: StaticString, _ value: inout (some JSONReadable & JSONWritable)?) {
    member(key, value)
  }

  package mutating func callAsFunction(_ key: StaticString, _ value: inout some JSONReadable & JSONWritable) {
    member(key, value)
  }

  package mutating func callAsFunction<Value: JSONReadable & JSONWritable>(
    _ key: StaticString,
    _ value: inout Value,
    default: Value
  ) {
    member(key, value)
  }
}
