package import Foundation

/// One record of a file, with the line on which it begins.
package struct ImportRow: Hashable, Sendable {
  package let line: Int
  package let fields: [String: SourceValue]
}

/// A line that is not imported, with the reason.
package struct ImportRefusal: Hashable, Sendable {
  package let line: Int
  package let field: String?
  package let message: String
}

/// A file that cannot be read as records.
package struct RecordFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem, its position and a suggestion, in one line.
  package let message: String

  package var description: String { message }
}

/// The records of a JSON, NDJSON or CSV file.
package struct RecordFile: Hashable, Sendable {
  package enum Format: String, Hashable, Sendable {
    case json, ndjson, csv
  }

  package private(set) var rows: [ImportRow] = []
  /// Lines that are not records, in order; the others are still read.
  package private(set) var refusals: [ImportRefusal] = []
  package let format: Format

  /// Reads a file; its name is used for the format and in messages.
  package init(_ data: Data, name: String) throws(RecordFileError) {
    var bytes = Array(data)
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw RecordFileError(message: "\(name) is UTF-16; convert it to UTF-8, with iconv for example")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    format = Self.format(ofName: name) ?? Self.sniffed(bytes)
    do {
      switch format {
      case .json: try readJSON(bytes, name)
      case .ndjson: readNDJSON(bytes)
      case .csv: try readCSV(bytes, name)
      }
    } catch {
      throw Self.failure(error, name)
    }
  }

  private static func format(ofName name: String) -> Format? {
    switch name.split(separator: ".").last?.lowercased() {
    case "json", "geojson": .json
    case "ndjson", "jsonl": .ndjson
    case "csv": .csv
    default: nil
    }
  }

  /// Detects the format by content: an array, or an object over several lines, is JSON; one object per line is NDJSON.
  private static func sniffed(_ bytes: [UInt8]) -> Format {
    var reader = JSONReader(bytes)
    switch reader.peek() {
    case UInt8(ascii: "["): return .json
    case UInt8(ascii: "{"):
      let line = bytes[reader.index...].prefix { $0 != UInt8(ascii: "\n") }
      guard case .object(let members, _)? = try? JSONReader.value(Array(line)) else { return .json }
      if members.count == 1, case .list(let elements)? = members.values.first, case .object? = elements.first {
        return .json
      }
      return .ndjson
    default: return .csv
    }
  }

  private mutating func readJSON(_ bytes: [UInt8], _ name: String) throws {
    var reader = JSONReader(bytes)
    switch reader.peek() {
    case UInt8(ascii: "["): try readElements(&reader)
    case UInt8(ascii: "{"):
      let advice =
        "expected an array or an object whose one member is an array; name it .ndjson if it has an object a line"
      guard try reader.firstKey() != nil, reader.peek() == UInt8(ascii: "[") else {
        throw RecordFileError(message: "\(name) has no list of records; \(advice)")
      }
      try readElements(&reader)
      guard reader.closeObject() else {
        // Truncated JSON is reported with its line; otherwise the object has more members.
        guard reader.peek() == UInt8(ascii: ",") else { throw reader.unexpected() }
        throw RecordFileError(message: "\(name) has more than one member; \(advice)")
      }
    default: throw reader.unexpected()
    }
    try reader.end()
  }

  private mutating func readElements(_ reader: inout JSONReader) throws(JSONSyntaxError) {
    var elements: [(SourceValue, Int)] = []
    try reader.elements { elements.append(($0, $1)) }
    for (value, line) in elements { append(value, line: line) }
  }

  private mutating func readNDJSON(_ bytes: [UInt8]) {
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }) {
        continue
      }
      do {
        append(try JSONReader.value(Array(line), line: number), line: number)
      } catch {
        refuse(number, "not JSON: \(error.message) (column \(error.column))")
      }
    }
  }

  private mutating func readCSV(_ bytes: [UInt8], _ name: String) throws {
    var reader = CSVReader(bytes)
    guard let header = try reader.next() else {
      throw RecordFileError(message: "\(name) is empty; expected a line with the names of the fields")
    }
    let names = header.cells.map(\.text)
    if let problem = header.problem { throw RecordFileError(message: "\(name) line \(header.line): \(problem)") }
    if let twice = Dictionary(grouping: names, by: { $0 }).filter({ $1.count > 1 && $0 != "" }).keys.min() {
      throw RecordFileError(message: "\(name) line \(header.line): the column '\(twice)' comes twice; name each once")
    }
    while let record = try reader.next() {
      if let problem = record.problem {
        refuse(record.line, problem)
      } else if record.cells.count != names.count {
        refuse(record.line, "\(record.cells.count) cells where the first line names \(names.count)")
      } else {
        var fields: [String: SourceValue] = [:]
        for (name, cell) in zip(names, record.cells) where cell.value != .null { fields[name] = cell.value }
        rows.append(ImportRow(line: record.line, fields: fields))
      }
    }
  }

  private mutating func append(_ value: SourceValue, line: Int) {
    guard case .object(let fields, _) = value else { return refuse(line, "not a JSON object; a record is one object") }
    rows.append(ImportRow(line: line, fields: fields))
  }

  private mutating func refuse(_ line: Int, _ message: String) {
    refusals.append(ImportRefusal(line: line, field: nil, message: message))
  }

  private static func failure(_ error: any Error, _ name: String) -> RecordFileError {
    let what: String
    switch error {
    case let error as RecordFileError: return error
    case let error as JSONSyntaxError: what = "line \(error.line), column \(error.column): \(error.message)"
    case let error as UnclosedQuote: what = "line \(error.line): a quote is never closed"
    default: preconditionFailure("Reading a file throws nothing else: \(error)")
    }
    return RecordFileError(message: "\(name) \(what); correct the file, nothing was imported")
  }
}
