import Foundation

/// Thrown for bytes that this code cannot have written.
struct DamagedBytes: Error {}

/// Writes numbers and texts in sequence. Small numbers take few bytes.
struct PackedWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  mutating func add(byte: UInt8) { bytes.append(byte) }

  mutating func add(_ number: Int) {
    var rest = UInt(bitPattern: number)
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Numbers near zero take few bytes, whatever their sign.
  mutating func add(signed number: Int64) { add(Int(truncatingIfNeeded: number << 1 ^ number >> 63)) }

  mutating func add(_ number: Double) {
    withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add($0) }
  }

  mutating func add(_ data: Data) {
    data.withUnsafeBytes { raw in raw.withMemoryRebound(to: UInt8.self) { add($0) } }
  }

  private mutating func add(_ buffer: UnsafeBufferPointer<UInt8>) {
    add(buffer.count)
    bytes.append(contentsOf: buffer)
  }

  /// Writes a part preceded by its length, so that a reader can skip it.
  mutating func add(part: (inout PackedWriter) -> Void) {
    let start = bytes.count
    bytes.append(0)
    part(&self)
    let length = bytes.count - start - 1
    guard length >= 0x80 else { return bytes[start] = UInt8(length) }
    var prefix = PackedWriter()
    prefix.add(length)
    bytes.replaceSubrange(start...start, with: prefix.bytes)
  }
}

/// Reads what `PackedWriter` wrote. The bytes may come from a damaged file, so everything is checked.
struct PackedReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func byte() throws(DamagedBytes) -> UInt8 {
    guard position < bytes.count else { throw DamagedBytes() }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number() throws(DamagedBytes) -> Int {
    var number: UInt = 0
    var shift: UInt = 0
    while true {
      let byte = try byte()
      guard shift < 64 else { throw DamagedBytes() }
      number |= UInt(byte & 0x7F) << shift
      if byte < 0x80 { return Int(bitPattern: number) }
      shift += 7
    }
  }

  mutating func signed() throws(DamagedBytes) -> Int64 {
    let number = UInt64(UInt(bitPattern: try number()))
    return Int64(bitPattern: number >> 1) ^ -Int64(number & 1)
  }

  mutating func double() throws(DamagedBytes) -> Double {
    let part = try part(8)
    return Double(bitPattern: UInt64(littleEndian: part.loadUnaligned(as: UInt64.self)))
  }

  mutating func text() throws(DamagedBytes) -> String { String(decoding: try part(), as: UTF8.self) }

  mutating func data() throws(DamagedBytes) -> Data { Data(try part()) }

  /// Reads the bytes of a text or part, which start with their length.
  mutating func part() throws(DamagedBytes) -> UnsafeRawBufferPointer { try part(try number()) }

  private mutating func part(_ length: Int) throws(DamagedBytes) -> UnsafeRawBufferPointer {
    guard length >= 0, length <= bytes.count - position else { throw DamagedBytes() }
    defer { position += length }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
  }
}
