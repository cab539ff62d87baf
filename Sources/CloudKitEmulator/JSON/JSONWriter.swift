import Foundation

/// Writes JSON values as UTF-8. Equal values have equal bytes.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  static func data(_ value: JSON) -> Data {
    var writer = JSONWriter()
    writer.write(value)
    return Data(writer.bytes)
  }

  static func text(_ value: JSON) -> String {
    var writer = JSONWriter()
    writer.write(value)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  mutating func write(_ value: JSON) {
    switch value {
    case .null: raw("null")
    case .bool(let flag): raw(flag ? "true" : "false")
    case .int(let number): raw(String(number))
    case .double(let number): raw(number.isFinite ? String(number) : "null")
    case .string(let text): write(text)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for index in elements.indices {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        write(elements[index])
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      bytes.append(UInt8(ascii: "{"))
      for index in object.members.indices {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        write(object.members[index].key)
        bytes.append(UInt8(ascii: ":"))
        write(object.members[index].value)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private mutating func raw(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func write(_ text: String) {
    var text = text
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8 { buffer in
      // Most strings need no escaping and are copied at once.
      var start = 0
      for index in buffer.indices {
        let byte = buffer[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        bytes.append(contentsOf: buffer[start..<index])
        writeEscaped(byte)
        start = index + 1
      }
      bytes.append(contentsOf: buffer[start...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func writeEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): raw("\\\"")
    case UInt8(ascii: "\\"): raw("\\\\")
    case UInt8(ascii: "\n"): raw("\\n")
    case UInt8(ascii: "\r"): raw("\\r")
    case UInt8(ascii: "\t"): raw("\\t")
    case 0..<0x20: raw("\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16))
    default: bytes.append(byte)
    }
  }
}
