import CloudSync
import JSONText

/// Reads the values of a JSON file piece by piece, with the lines on which they begin.
struct JSONPieces: PieceReader {
  private(set) var bytes: [UInt8] = []
  private(set) var index = 0
  /// The position of the next byte in the file.
  private var position = TextPosition()

  mutating func append(_ piece: [UInt8]) {
    bytes = bytes[index...] + piece
    index = 0
  }

  /// Reads from the bytes that are present.
  ///
  /// - Throws: `JSONError` with its position in the file.
  mutating func read<Value>(_ body: (inout JSONReader) throws(JSONError) -> Value) throws(JSONError) -> Value {
    let (start, position) = (index, position)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in
        var json = JSONReader(bytes, from: start)
        do throws(JSONError) {
          return (value: try body(&json), end: json.offset)
        } catch {
          throw error.located(from: position, in: bytes.prefix(error.offset).dropFirst(start))
        }
      }
    }
    let (value, end) = try result.get()
    self.position.advance(over: bytes[start..<end])
    index = end
    return value
  }

  /// Returns the next element of the array, with the line on which it begins; nil after the last one.
  mutating func element(isFirst: Bool) throws(JSONError) -> (value: SourceValue, line: Int)? {
    let hasElement = try read { json throws(JSONError) in
      if isFirst { try json.enterArray() }
      return try json.nextElement()
    }
    return hasElement ? try valueWithLine() : nil
  }

  /// Returns the next value with the line on which it begins.
  mutating func valueWithLine() throws(JSONError) -> (value: SourceValue, line: Int) {
    _ = try read { json throws(JSONError) in json.peek() }
    let line = position.line
    return (try read { json throws(JSONError) in try SourceValue(json: &json) }, line)
  }
}
