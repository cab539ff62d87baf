import Foundation

/// Finds one part of a `multipart/form-data` body without copying the others.
struct MultipartForm {
  private let delimiter: [UInt8]

  init?(contentType: String) {
    let parameters = contentType.split(separator: ";").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
    guard let parameter = parameters.first(where: { $0.lowercased().hasPrefix("boundary=") }) else { return nil }
    let boundary = parameter.dropFirst("boundary=".count).trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    guard !boundary.isEmpty, boundary.utf8.count <= 70 else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
  }

  /// Returns the content of the first part with the name; `nil` if it is missing or incomplete.
  func part(named name: String, of body: Data) -> Data? {
    body.withUnsafeBytes { bytes in
      // The first delimiter is at the very start, without a line break.
      let opening = delimiter.dropFirst(2)
      guard bytes.starts(with: opening) else { return nil }
      var position = opening.count
      while let headers = Self.find(Array("\r\n\r\n".utf8), in: bytes, from: position),
        let end = Self.find(delimiter, in: bytes, from: headers + 2)
      {
        let head = String(decoding: bytes[position..<headers], as: UTF8.self)
        let content = min(headers + 4, end)..<end
        if Self.isNamed(name, head) { return body[body.startIndex + content.lowerBound..<body.startIndex + end] }
        position = end + delimiter.count
      }
      return nil
    }
  }

  private static func isNamed(_ name: String, _ head: String) -> Bool {
    head.split(separator: "\r\n").contains { line in
      guard line.lowercased().hasPrefix("content-disposition:") else { return false }
      return line.split(separator: ";").contains { parameter in
        ["name=\"\(name)\"", "name=\(name)"].contains(parameter.trimmingCharacters(in: .whitespaces))
      }
    }
  }

  private static func find(_ pattern: [UInt8], in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let last = pattern.last, let first = pattern.first, start >= 0 else { return nil }
    var position = start
    while position + pattern.count <= bytes.count {
      if bytes[position] == first, bytes[position + pattern.count - 1] == last,
        bytes[position..<position + pattern.count].elementsEqual(pattern)
      {
        return position
      }
      position += 1
    }
    return nil
  }
}
