import CloudKit
import CloudSync
import Facts

/// Turns one row of a file into a record, in three steps.
struct RowReader {
  /// The type of a field in the mirror or the queue.
  enum KnownType: Hashable, CustomStringConvertible {
    case writable(WireTypeTag)
    /// A type that this version cannot write.
    case foreign(String)

    var isEncrypted: Bool { WireTypeTag.isEncrypted(description) }

    var description: String {
      switch self {
      case .writable(let type): type.description
      case .foreign(let type): type
      }
    }
  }

  /// A row with the fields of known type read; the others wait for the type of their column.
  struct Draft {
    var line: Int
    var type: String
    var name: String
    /// The zone of an exported record; nil for the zone of the import.
    var zone: ZoneKey?
    var settled: [String: FieldValue] = [:]
    var cleared: Set<String> = []
    var files: [String: [ImportedFile]] = [:]
    /// Whether a field is left out because its file is not taken.
    var lacksFiles = false
    var open: [String: SourceValue] = [:]
  }

  /// The error of a line that names no record type, in an import without one.
  static let noType = FieldError(field: nil, "the line names no record type; give --type")

  /// Nil: exported rows name their types, others are rejected.
  let recordType: String?
  let idField: String?
  let references: Set<String>
  /// The types of fields that do not depend on the file.
  let known: [String: KnownType]
  /// The fields with times in which a date stands for its midnight in UTC.
  let dates: Set<String>
  /// Whether the files that exported rows name are taken.
  let takesFiles: Bool
  /// Whether values are cells of a table, where all is text.
  let isTable: Bool

  /// Checks names and structure, and reads the fields of known type.
  func draft(_ row: ImportRow, makeName: () -> String) throws(FieldError) -> Draft {
    guard let recordType else { throw Self.noType }
    for name in row.fields.keys.sorted() where !NameRule.isFieldName(name) {
      throw FieldError(field: name.excerpt, NameRule.fieldNameProblem(name))
    }
    var draft = Draft(line: row.line, type: recordType, name: try name(of: row, recordType) ?? makeName())
    draft.cleared = row.cleared
    for (field, value) in row.fields.sorted(by: { $0.key < $1.key }) {
      switch known[field] {
      case .foreign(let type) where value != .null:
        throw Self.unwritable(field, type)
      case .writable(let type):
        let value = dates.contains(field) ? value.atMidnight : value
        draft.settled[field] = try value.read(as: type, field: field)
      case _ where references.contains(field): draft.settled[field] = try reference(value, field)
      default:
        if let problem = value.structuralProblem { throw FieldError(field: field, "\(field) \(problem)") }
        draft.open[field] = value
      }
    }
    return draft
  }

  private static func unwritable(_ field: String, _ type: String) -> FieldError {
    FieldError(field: field, "\(field) is of type \(type.excerpt), which this version cannot write; leave it out")
  }

  /// Reads an exported row, which includes the types of its fields.
  ///
  /// - Parameter known: The known types of the fields of its record type.
  func draft(_ row: ExportedRow, line: Int, _ known: [String: KnownType]) throws(FieldError) -> Draft {
    guard recordType == nil || row.recordType == recordType else {
      throw FieldError(
        field: nil,
        "the record is a \(row.recordType.excerpt); leave out --type to import records of any type"
      )
    }
    if let problem = NameRule.recordTypeProblem(row.recordType) { throw FieldError(field: nil, problem) }
    var draft = Draft(
      line: line,
      type: row.recordType,
      name: try checked(row.name, of: row.recordType, by: "recordName"),
      zone: row.zone
    )
    for (field, content) in row.fields.sorted(by: { $0.key < $1.key }) {
      guard NameRule.isFieldName(field) || field == FieldChanges.parent else {
        throw FieldError(field: field.excerpt, NameRule.fieldNameProblem(field))
      }
      if content.value == .list([]) {
        let isEncrypted = WireTypeTag.isEncrypted(content.type)
        if let known = known[field], known.isEncrypted != isEncrypted {
          throw FieldError(field: field, "\(field) is \(known) already, and \(content.type) here; leave it out")
        }
        draft.settled[field] = isEncrypted ? .encrypted(.list(.unknown, [])) : .list(.unknown, [])
        continue
      }
      guard let type = WireTypeTag(content.type) else { throw Self.unwritable(field, content.type) }
      if let known = known[field], known != .writable(type) {
        throw FieldError(field: field, "\(field) is \(known) already, and \(type) here; leave it out")
      }
      if type.element == .asset {
        try readFiles(content.value, field, type, into: &draft)
        continue
      }
      let value = try content.value.read(as: type, field: field)
      draft.settled[field] = value
      if field == FieldChanges.parent {
        guard case .reference(let parent)? = value else { throw FieldError(field: field, "a parent is a REFERENCE") }
        draft.settled[field] = .parent(parent.recordName)
      }
    }
    return draft
  }

  /// Reads the files that an exported field names, or leaves the field out.
  private func readFiles(_ value: SourceValue, _ field: String, _ type: WireTypeTag, into draft: inout Draft)
    throws(FieldError)
  {
    guard value != .null else { return }
    let values = if type.isList, case .list(let elements) = value { elements } else { [value] }
    var files: [ImportedFile] = []
    for value in values {
      guard case .object(let parts, _) = value else {
        throw FieldError(field: field, "\(field) is \(type), which cannot be given as text; leave it out")
      }
      guard takesFiles, let name = parts["file"]?.text else {
        draft.lacksFiles = true
        return
      }
      guard !["", ".", ".."].contains(name), !name.contains("/"), !name.contains("\0") else {
        throw FieldError(
          field: field,
          "\(field) has the file '\(name.excerpt)', which is no name in a folder; export it again"
        )
      }
      files.append(ImportedFile(name: name, checksum: parts["fileChecksum"]?.text, size: parts["size"]?.integer))
    }
    draft.files[field] = files
    // The list that the files fill.
    if type.isList { draft.settled[field] = .list(.asset, []) }
  }

  /// Takes a row into account for the types of its columns.
  func include(_ draft: Draft, _ row: ImportRow?, in columns: inout [String: ColumnType]) throws(FieldError) {
    var widened = columns
    for field in references where known[field] == nil {
      guard let value = row?.fields[field] else { continue }
      var column = widened[field] ?? ColumnType()
      column.includeReference(listed(value))
      if widened[field] != column { widened[field] = column }
    }
    for (field, value) in draft.open.sorted(by: { $0.key < $1.key }) {
      var column = widened[field] ?? ColumnType(isTable: isTable)
      guard column.include(value, line: draft.line) else {
        throw FieldError(field: field, "\(field) is a list on some lines and one value on others; use one of the two")
      }
      // Most values change nothing, so that nothing is copied.
      if widened[field] != column { widened[field] = column }
    }
    columns = widened
  }

  /// Reads the open fields by the types of their columns.
  func record(_ draft: Draft, _ types: [String: WireTypeTag]) throws(FieldError) -> ImportedRecord {
    var fields = draft.settled
    for field in references where types[field] == .scalar(.reference) {
      guard case .list? = fields[field] else { continue }
      throw FieldError(
        field: field,
        "\(field) is a list here and the name of a record on other lines; use one of the two"
      )
    }
    for (field, value) in draft.open {
      guard let type = types[field] else { continue }
      // No value, or an empty list, if all lists in the column are empty.
      let isEmptyList = type == .list(.unknown) && value == .list([])
      fields[field] = isEmptyList ? .list(.unknown, []) : try value.read(as: type, field: field)
    }
    let (size, limit) = (RecordSize.bytes(of: fields), RecordSize.limit)
    guard size <= limit else {
      let problem = "the record has \(size) bytes and the server takes at most \(limit); shorten it or split it"
      throw FieldError(field: nil, problem)
    }
    return ImportedRecord(
      line: draft.line,
      type: draft.type,
      name: draft.name,
      zone: draft.zone,
      fields: fields,
      cleared: draft.cleared,
      files: draft.files,
      lacksFiles: draft.lacksFiles,
      size: size
    )
  }

  private func name(of row: ImportRow, _ recordType: String) throws(FieldError) -> String? {
    guard let idField else { return nil }
    let name: String
    switch row.fields[idField] {
    case nil, .null, .emptyCell:
      throw FieldError(field: idField, "\(idField) has no value and names the record; give it one")
    case .text(let text): name = text
    case .number(let digits): name = digits
    case .bool, .list, .object:
      throw FieldError(field: idField, "\(idField) names the record; give it a text or a number")
    }
    return try checked(name, of: recordType, by: idField)
  }

  /// Checks that a record can have this name.
  private func checked(_ name: String, of type: String, by field: String) throws(FieldError) -> String {
    if let problem = NameRule.certain.recordNameProblem(name, mayBeUser: type == CKRecord.SystemType.userRecord) {
      throw FieldError(field: field, "\(field) names no record: \(problem)")
    }
    return name
  }

  /// A value, or the list that a cell of a table holds.
  private func listed(_ value: SourceValue) -> SourceValue { isTable ? value.list ?? value : value }

  private func reference(_ value: SourceValue, _ field: String) throws(FieldError) -> FieldValue? {
    let value = listed(value)
    if case .object = value, let problem = value.structuralProblem {
      throw FieldError(field: field, "\(field) \(problem)")
    }
    if case .list = value { return try value.read(as: .list(.reference), field: field) }
    return try value.read(as: .scalar(.reference), field: field)
  }
}

extension SourceValue {
  /// This value, in which a date without a time is its midnight in UTC.
  var atMidnight: SourceValue {
    switch self {
    case .text(let text):
      let midnight = text + "T00:00:00Z"
      return RFC3339.milliseconds(midnight) == nil ? list?.atMidnight ?? self : .text(midnight)
    case .list(let elements): return .list(elements.map(\.atMidnight))
    case .null, .bool, .number, .emptyCell, .object: return self
    }
  }
}
