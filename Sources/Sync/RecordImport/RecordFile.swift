package import CloudSync
package import Facts
import Foundation
import JSONText

/// One record of a file, with the line on which it begins.
package struct ImportRow: Hashable, Sendable {
  package let line: Int
  package let fields: [String: SourceValue]
  /// The fields whose empty cells clear them.
  package var cleared: Set<String> = []
}

/// A line that is not imported, with the reason.
package struct ImportRefusal: Hashable, Sendable {
  package let line: Int
  package let field: String?
  package let message: String

  package init(line: Int, field: String?, message: String) {
    self.line = line
    self.field = field
    self.message = message
  }
}

/// A file that cannot be read as records.
package struct RecordFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem, its position and a suggestion, in one line.
  package let message: String

  package var description: String { message }
}

extension RecordFileError: CommandError {
  package var failure: CommandFailure { .usage(message) }
}

/// The records of a JSON, NDJSON or CSV file. Each reading goes through the file piece by piece.
package struct RecordFile {
  package enum Format: String, Hashable, Sendable, CaseIterable {
    case json, ndjson, csv
  }

  package typealias Visit = (_ line: Int, Result<ImportRow, FieldError>) throws -> Void

  package let format: Format
  let name: String
  private let emptyCells: EmptyCells
  private let pieces: FilePieces

  /// Opens a file; its name is used for the format and in messages.
  ///
  /// - Parameters:
  ///   - format: The format; nil: by the name, else by the content.
  ///   - emptyCells: What an empty cell of a CSV file does.
  ///   - piece: The number of bytes to read at once.
  ///   - longest: The number of bytes of the longest record; the server takes 1 MB.
  ///   - read: Returns at most `count` bytes from a place of the file; none at its end.
  package init(
    name: String,
    format: Format? = nil,
    emptyCells: EmptyCells = .keep,
    piece: Int = 1 << 18,
    longest: Int = 16 << 20,
    _ read: @escaping (_ offset: Int, _ count: Int) throws -> [UInt8]
  ) throws {
    let start = try read(0, 1 << 21)
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) {
      throw RecordFileError(message: "\(name) is UTF-16; convert it to UTF-8, with iconv for example")
    }
    if let kind = BinaryKind(start) { throw RecordFileError(message: "\(name) is \(kind.text)") }
    let offset = start.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    self.name = name.excerpt
    self.emptyCells = emptyCells
    pieces = FilePieces(from: offset, size: piece, longest: longest, read)
    self.format = format ?? Self.format(ofName: name) ?? Self.sniffed(pieces)
  }

  /// Visits every record in order, and every line that is not one.
  ///
  /// - Throws: `RecordFileError` if the rest of the file cannot be read, and what `visit` throws.
  package func each(_ visit: Visit) throws {
    do {
      switch format {
      case .json: try eachOfJSON(visit)
      case .ndjson: try eachOfNDJSON(visit)
      case .csv: try eachOfCSV(visit)
      }
    } catch {
      throw failure(error)
    }
  }

  /// The names of the columns in their order; for JSON those of the members of all records, sorted.
  func columns() throws -> [String] {
    if format == .csv {
      var (pieces, reader) = (pieces, CSVReader())
      return try header(&pieces, &reader)
    }
    var names: Set<String> = []
    try each { _, row in names.formUnion((try? row.get())?.fields.keys.map(\.self) ?? []) }
    return names.sorted()
  }

  private static func format(ofName name: String) -> Format? {
    switch name.split(separator: ".").last?.lowercased() {
    case "json", "geojson": .json
    case "ndjson", "jsonl": .ndjson
    case "csv": .csv
    default: nil
    }
  }

  /// Detects the format by the first lines: an array, or an object over several lines, is JSON; one object per line is
  /// NDJSON. Some of these lines may be damaged.
  private static func sniffed(_ pieces: FilePieces) -> Format {
    var (pieces, reader, text, lines) = (pieces, LineReader(), [UInt8](), [ArraySlice<UInt8>]())
    var isWhole = false
    while lines.count < 20, text.count < 1 << 23 {
      let line: (number: Int, text: [UInt8])?
      do {
        line = try pieces.next(&reader) { $0.next() }
      } catch {
        // A list on one line may be longer than any record of it.
        guard lines.isEmpty else { break }
        let first = reader.bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "[") || first == UInt8(ascii: "{") ? .json : .csv
      }
      guard let line else {
        isWhole = true
        break
      }
      text += line.text + [UInt8(ascii: "\n")]
      let content = line.text.drop { [0x20, 0x09, 0x0D].contains($0) }
      if !content.isEmpty { lines.append(content) }
    }
    let values = lines.map { try? SourceValue(json: Data($0)) }
    let objects = values.count { if case .object? = $0 { true } else { false } }
    let isStructure = lines.first.map { $0.starts(with: "[".utf8) || $0.starts(with: "{".utf8) } ?? false
    if case .object(let members, _)?? = values.first {
      guard values.count == 1, members.count == 1, case .list(let elements)? = members.values.first,
        case .object? = elements.first
      else { return .ndjson }
      return .json
    }
    if isStructure, mayBeJSON(text, isWhole) { return .json }
    // The last line of a damaged list of objects may be one by itself.
    if 2 * objects > lines.count - 1, objects > 0 { return .ndjson }
    return isStructure ? .json : .csv
  }

  /// Whether bytes are a JSON value, or the beginning of one where they are not the whole file.
  private static func mayBeJSON(_ bytes: [UInt8], _ isWhole: Bool) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var json = JSONReader(bytes)
      do throws(JSONError) {
        try json.skip()
        try json.end()
        return true
      } catch {
        return !isWhole && error.offset >= bytes.count
      }
    }
  }

  private func eachOfJSON(_ visit: Visit) throws {
    var (pieces, reader) = (pieces, JSONPieces())
    let isInObject: Bool
    switch try pieces.next(&reader, { try open(&$0) }) {
    case .list(let isMember): isInObject = isMember
    case .record(let record, let line):
      do {
        try pieces.next(&reader) { try $0.read { json throws(JSONError) in try json.end() } }
      } catch is JSONError {
        throw noList
      }
      return try visit(line, Self.row(record, line: line))
    case .empty: return
    }
    var isFirst = true
    while let element = try pieces.next(&reader, { try $0.element(isFirst: isFirst) }) {
      try visit(element.line, Self.row(element.value, line: element.line))
      isFirst = false
    }
    try pieces.next(&reader) { reader in
      // Truncated JSON is reported with its line; otherwise the object has more members.
      if isInObject, try reader.read({ json throws(JSONError) in try json.nextKey() != nil }) {
        throw RecordFileError(message: "\(name) has more than one member; \(Self.advice)")
      }
      try reader.read { json throws(JSONError) in try json.end() }
    }
  }

  private static let advice =
    "expected an array, an object whose one member is an array, or one record; "
    + "name it .ndjson, or give --format ndjson, if it has an object a line"

  private var noList: RecordFileError { RecordFileError(message: "\(name) has no list of records; \(Self.advice)") }

  /// The beginning of a JSON file.
  private enum Opening {
    /// A list follows, which may be the member of an object.
    case list(isMember: Bool)
    /// The only value is one object.
    case record(SourceValue, line: Int)
    /// An object whose only member is an empty list.
    case empty
  }

  private func open(_ reader: inout JSONPieces) throws -> Opening {
    let first = try reader.read { json throws(JSONError) in
      let first = json.peek()
      guard first == UInt8(ascii: "[") || first == UInt8(ascii: "{") else {
        throw json.failure("this is not a JSON list of records")
      }
      return first
    }
    if first == UInt8(ascii: "[") { return .list(isMember: false) }
    // A list of records may be longer than the memory; a single record is not.
    var list = reader
    let isMember = try list.read { json throws(JSONError) in
      try json.enterObject()
      guard try json.nextKey() != nil, json.peek() == UInt8(ascii: "[") else { return false }
      let start = json.offset
      defer { json.offset = start }
      try json.enterArray()
      return json.peek() == UInt8(ascii: "{")
    }
    if isMember {
      reader = list
      return .list(isMember: true)
    }
    let (value, line) = try reader.valueWithLine()
    guard case .object(let members, _) = value, !members.isEmpty else { throw noList }
    let lists = members.values.filter { value in
      if case .list(let elements) = value {
        elements.contains { if case .object = $0 { true } else { false } }
      } else {
        false
      }
    }
    guard lists.isEmpty else { throw noList }
    return members.count == 1 && members.values.first == .list([]) ? .empty : .record(value, line: line)
  }

  private func eachOfNDJSON(_ visit: Visit) throws {
    var (pieces, reader) = (pieces, LineReader())
    while let (number, line) = try pieces.next(&reader, { $0.next() }) {
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }) {
        continue
      }
      let row: Result<ImportRow, FieldError>
      do {
        row = Self.row(try SourceValue(json: Data(line)), line: number)
      } catch {
        row = .failure(FieldError(field: nil, "not JSON: \(error.reason) (column \(error.position.column))"))
      }
      try visit(number, row)
    }
  }

  private func eachOfCSV(_ visit: Visit) throws {
    var (pieces, reader) = (pieces, CSVReader())
    let names = try header(&pieces, &reader)
    while let record = try pieces.next(&reader, { try $0.next() }) {
      try visit(record.line, try row(record, names))
    }
  }

  /// Reads the first line of a CSV file.
  private func header(_ pieces: inout FilePieces, _ reader: inout CSVReader) throws -> [String] {
    guard let header = try pieces.next(&reader, { try $0.next() }) else {
      throw RecordFileError(message: "\(name) is empty; expected a line with the names of the fields")
    }
    let names = header.cells.map(\.text)
    if let problem = header.problem { throw RecordFileError(message: "\(name) line \(header.line): \(problem)") }
    if let twice = Dictionary(grouping: names, by: { $0 }).filter({ $1.count > 1 && $0 != "" }).keys.min() {
      throw RecordFileError(
        message: "\(name) line \(header.line): the column '\(twice.excerpt)' comes twice; name each once"
      )
    }
    if names.count == 1, let separator = names[0].first(where: { ";\t|".contains($0) }) {
      let what = separator == "\t" ? "tabs" : "'\(separator)'"
      throw RecordFileError(
        message: "\(name) line \(header.line): the columns are separated by \(what); separate them by commas"
      )
    }
    let wrong = names.filter { !$0.isEmpty && !NameRule.isFieldName($0) }
    guard wrong.isEmpty else {
      throw RecordFileError(message: "\(name) line \(header.line): \(NameRule.fieldNameProblem(wrong))")
    }
    return names
  }

  private func row(_ record: CSVRecord, _ names: [String]) throws(RecordFileError) -> Result<ImportRow, FieldError> {
    if let problem = record.problem { return .failure(FieldError(field: nil, problem)) }
    guard record.cells.count == names.count else {
      let problem = "\(record.cells.count) cells where the first line names \(names.count)"
      return .failure(FieldError(field: nil, problem))
    }
    var (fields, cleared): ([String: SourceValue], Set<String>) = ([:], [])
    for (column, (name, cell)) in zip(names, record.cells).enumerated() {
      if name.isEmpty {
        // Trailing commas make empty columns.
        guard cell.text.isEmpty else {
          let problem = "column \(column + 1) has a value and no name; name it in the first line, or remove it"
          throw RecordFileError(message: "\(self.name) line \(record.line): \(problem)")
        }
      } else if cell.text.isEmpty, emptyCells == .clear {
        cleared.insert(name)
      } else {
        let value = cell.value(emptyCells)
        if value != .null { fields[name] = value }
      }
    }
    return .success(ImportRow(line: record.line, fields: fields, cleared: cleared))
  }

  private static func row(_ value: SourceValue, line: Int) -> Result<ImportRow, FieldError> {
    guard case .object(let fields, _) = value else {
      return .failure(FieldError(field: nil, "not a JSON object; a record is one object"))
    }
    return .success(ImportRow(line: line, fields: fields))
  }

  private func failure(_ error: any Error) -> any Error {
    let what: String
    switch error {
    case let error as JSONError:
      what = "line \(error.position.line), column \(error.position.column): \(error.reason)"
    case let error as UnclosedQuote: what = "line \(error.line): a quote is never closed"
    case let error as RecordTooLong: what = "has a record of more than \(error.limit) bytes"
    default: return error
    }
    return RecordFileError(message: "\(name) \(what); correct the file, nothing was imported")
  }
}
