import CloudSync

/// The meaning of empty cells of a CSV file.
package enum EmptyCells: String, Hashable, Sendable, CaseIterable {
  /// The field is left alone. An empty cell in quotes is an empty text in a column of texts.
  case keep
  /// The field is cleared.
  case clear
  /// An empty text in a column of texts; in others the field is left alone.
  case text
}

/// One record of a CSV file.
struct CSVRecord: Hashable {
  struct Cell: Hashable {
    var text: String
    var isQuoted: Bool

    /// Quotes do not determine the type, because many programs quote every cell; they matter only for empty cells and
    /// `null`.
    func value(_ empty: EmptyCells) -> SourceValue {
      if text.isEmpty { return isQuoted || empty == .text ? .emptyCell : .null }
      return !isQuoted && text == "null" ? .null : .plain(text)
    }
  }

  var line: Int
  var cells: [Cell]
  /// The problem of this record; later ones can still be read.
  var problem: String?
}

/// A quote that is never closed, so that later records cannot be found.
struct UnclosedQuote: Error, Hashable {
  let line: Int
}

/// Reads CSV by RFC 4180: quotes doubled inside quotes, line breaks inside quotes, CRLF, LF or CR between records.
struct CSVReader: PieceReader {
  private(set) var bytes: [UInt8] = []
  private(set) var index = 0
  private var line = 1

  mutating func append(_ piece: [UInt8]) {
    bytes = bytes[index...] + piece
    index = 0
  }

  /// Returns the next record that is not an empty line; nil at the end.
  mutating func next() throws(UnclosedQuote) -> CSVRecord? {
    while index < bytes.count, takeLineBreak() {}
    guard index < bytes.count else { return nil }
    var record = CSVRecord(line: line, cells: [])
    while true {
      try cell(&record)
      guard index < bytes.count else { return record }
      if bytes[index] == UInt8(ascii: ",") {
        index += 1
      } else if takeLineBreak() {
        return record
      }
    }
  }

  private mutating func cell(_ record: inout CSVRecord) throws(UnclosedQuote) {
    var content: [UInt8] = []
    let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
    if isQuoted { content = try quoted() }
    let rest = bytes[index...].prefix { $0 != UInt8(ascii: ",") && !Self.isLineBreak($0) }
    index += rest.count
    if isQuoted, !rest.isEmpty {
      record.problem = record.problem ?? "text follows a closing quote; double the quotes inside a cell"
    }
    content.append(contentsOf: rest)
    guard let text = String(validating: content, as: UTF8.self) else {
      record.problem = record.problem ?? "not valid UTF-8; convert the file, with iconv for example"
      return
    }
    record.cells.append(CSVRecord.Cell(text: text, isQuoted: isQuoted))
  }

  /// Reads a quoted cell, including its closing quote.
  private mutating func quoted() throws(UnclosedQuote) -> [UInt8] {
    let start = line
    var content: [UInt8] = []
    index += 1
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        index += 1
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return content }
        index += 1
        content.append(byte)
      } else {
        let before = index
        if !takeLineBreak() { index += 1 }
        content.append(contentsOf: bytes[before..<index])
      }
    }
    throw UnclosedQuote(line: start)
  }

  private mutating func takeLineBreak() -> Bool {
    guard Self.isLineBreak(bytes[index]) else { return false }
    let isPair = bytes[index...].starts(with: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    index += isPair ? 2 : 1
    line += 1
    return true
  }

  private static func isLineBreak(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
}
