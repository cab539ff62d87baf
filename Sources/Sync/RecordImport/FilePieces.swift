/// Reads values from bytes that arrive piece by piece.
protocol PieceReader {
  /// The bytes that are present.
  var bytes: [UInt8] { get }
  /// The place of the next byte to read.
  var index: Int { get }

  /// Adds bytes and drops those already read.
  mutating func append(_ piece: [UInt8])
}

/// A record of more than so many bytes.
struct RecordTooLong: Error {
  let limit: Int
}

/// Feeds a file to a reader, so that only a piece of it is in memory.
struct FilePieces {
  typealias Read = (_ offset: Int, _ count: Int) throws -> [UInt8]

  private let read: Read
  private let size: Int
  private let longest: Int
  private var offset: Int
  private var isComplete = false

  /// - Parameters:
  ///   - size: The number of bytes to read at once.
  ///   - longest: The number of bytes of the longest value.
  init(from offset: Int, size: Int, longest: Int, _ read: @escaping Read) {
    self.offset = offset
    self.size = size
    self.longest = longest
    self.read = read
  }

  /// Reads one value. Reads it again with more bytes if it may go on after those that are present.
  mutating func next<Reader: PieceReader, Value>(_ reader: inout Reader, _ body: (inout Reader) throws -> Value) throws
    -> Value
  {
    while true {
      let start = reader
      let result = Result { try body(&reader) }
      if case .success(let value) = result, reader.index < reader.bytes.count { return value }
      if isComplete { return try result.get() }
      let present = start.bytes.count - start.index
      guard present <= longest else {
        _ = try result.get()
        throw RecordTooLong(limit: longest)
      }
      // As many again, so that a long value is read few times.
      let piece = try read(offset, max(size, present))
      offset += piece.count
      isComplete = piece.isEmpty
      reader = start
      reader.append(piece)
    }
  }
}

/// Reads a text line by line.
struct LineReader: PieceReader {
  private(set) var bytes: [UInt8] = []
  private(set) var index = 0
  private var line = 0

  mutating func append(_ piece: [UInt8]) {
    bytes = bytes[index...] + piece
    index = 0
  }

  /// Returns the next line with its number from 1; nil after the last one.
  mutating func next() -> (number: Int, text: [UInt8])? {
    guard index < bytes.count else { return nil }
    let end = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    defer { index = min(end + 1, bytes.count) }
    line += 1
    return (line, Array(bytes[index..<end]))
  }
}
