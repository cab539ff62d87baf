package import CloudKit
package import CloudSync
import Facts

/// A file that an exported record names.
package struct ImportedFile: Hashable, Sendable {
  /// The name in the folder of files.
  package let name: String
  /// The server's checksum, or that of the machine that had it; nil if there was none.
  package let checksum: String?
  /// The number of bytes that the line states; nil if it states none.
  package var size: Int64?
}

/// A record of an imported file.
package struct ImportedRecord: Hashable, Sendable {
  package let line: Int
  package let type: String
  package let name: String
  /// The zone of an exported record; nil for the zone of the import.
  package let zone: ZoneKey?
  package let fields: [String: FieldValue]
  package let cleared: Set<String>
  /// The files of assets, for each field in the order of its list.
  package let files: [String: [ImportedFile]]
  /// Whether a field was left out because its file was not taken.
  package let lacksFiles: Bool
  /// The approximate bytes of the fields.
  let size: Int
}

/// The next records to enqueue, and the lines rejected among them, each in order.
package struct ImportSlice: Hashable, Sendable {
  package var records: [ImportedRecord] = []
  package var refusals: [ImportRefusal] = []
  private var bytes = 0

  /// Whether it is large enough for a transaction, which must neither keep others waiting nor fill the memory.
  var isFull: Bool { records.count + refusals.count >= 500 || bytes >= 4_000_000 }

  mutating func append(_ record: ImportedRecord) {
    records.append(record)
    bytes += record.size
  }

  mutating func refuse(_ line: Int, _ error: FieldError) {
    refusals.append(ImportRefusal(line: line, field: error.field, message: error.message))
  }
}

/// Turns a file into records, by the types of its whole columns.
///
/// Reads the file twice: once for the types, and once for the records. Only a slice of the records is in memory.
package struct ImportPlan {
  private let file: RecordFile
  private let reader: RowReader
  private let keepsZones: Bool
  private let known: KnownFieldTypes
  private var types: [String: WireTypeTag] = [:]
  /// The columns of the file and their types, in their order; those of exported records are not among them.
  package private(set) var columns: [ImportColumn] = []
  /// The number of shares of an export, with the line of the first; nil if there are none. They are left out: sharing a
  /// record makes its share, an import does not.
  package private(set) var shares: (count: Int, line: Int)?

  /// Reads the file for the types of its columns; throws if it cannot be read, or if the options contradict the known
  /// fields.
  ///
  /// - Parameters:
  ///   - recordType: The type of the records; exported records of another type are rejected. Nil: only exported records
  ///     are imported, which name their types.
  ///   - keepsZones: Whether exported records keep their zone.
  ///   - idField: The field with the record name; without one, a name is made.
  ///   - references: Fields that refer to a record, with the type of that record.
  ///   - columns: The types of fields that the file does not determine.
  ///   - takesFiles: Whether the files that exported records name are there; without them their fields are left out.
  ///   - knownTypes: Returns the wire types of the fields of a record type as the mirror has them.
  ///   - queuedTypes: Returns those that only queued changes have. They may be wrong: `columns` counts more.
  package init(
    _ file: RecordFile,
    recordType: String?,
    keepsZones: Bool = true,
    idField: String?,
    references: [String: String],
    columns given: [String: WireTypeTag] = [:],
    takesFiles: Bool = false,
    knownTypes: @escaping (_ type: String) throws -> [String: String],
    queuedTypes: @escaping (_ type: String) throws -> [String: String] = { _ in [:] }
  ) throws {
    self.file = file
    self.keepsZones = keepsZones
    known = KnownFieldTypes { type in try queuedTypes(type).merging(knownTypes(type)) { $1 } }
    let (ofMirror, ofQueue) = (try recordType.map(knownTypes) ?? [:], try recordType.map(queuedTypes) ?? [:])
    try Self.check(references, given, ofMirror, ofQueue)
    let (stored, queued) = (KnownFieldTypes.parsed(ofMirror), KnownFieldTypes.parsed(ofQueue))
    reader = RowReader(
      recordType: recordType,
      idField: idField,
      references: Set(references.keys),
      known: stored.merging(given.mapValues { .writable($0) }) { known, _ in known }.merging(queued) { known, _ in known
      },
      dates: Set(given.filter { $0.value.element == .timestamp }.keys),
      takesFiles: takesFiles,
      isTable: file.format == .csv
    )
    var errors: Set<FieldError> = []
    var hasRecord = false
    var fields: Set<String> = []
    /// The types that the values have by themselves, of fields that queued changes have too.
    var own: [String: ColumnType] = [:]
    /// Those fields with a value that cannot be of the type that queued changes have.
    var misfits: Set<String> = []
    var midnights: [String: ImportColumn.Midnight] = [:]
    var shares: (count: Int, line: Int)?
    func skip(_ line: Int) { shares = shares.map { ($0.count + 1, $0.line) } ?? (1, line) }
    let found = try drafts(makeName: { "" }, skip: skip) { line, row, draft in
      for field in queued.keys {
        guard let value = row?.fields[field], value.structuralProblem == nil else { continue }
        _ = own[field, default: ColumnType(isTable: file.format == .csv)].include(value, line: line)
      }
      for field in reader.dates where midnights[field] == nil {
        guard let value = row?.fields[field], value.atMidnight != value else { continue }
        midnights[field] = ImportColumn.Midnight(date: (value.text ?? "").shortened(to: 40), line: line)
      }
      switch draft {
      case .success:
        hasRecord = true
        for field in row?.fields.keys ?? [:].keys where !fields.contains(field) { fields.insert(field) }
      case .failure(let error):
        if !hasRecord, errors.count < 10 { errors.insert(error) }
        for (field, type) in queued where row?.fields[field].map({ type.cannotBe($0, field) }) ?? false {
          misfits.insert(field)
          fields.insert(field)
        }
      }
    }
    for (field, column) in found {
      types[field] = references[field] == nil ? column.result.type : column.referenceType
    }
    self.shares = shares
    if !hasRecord, !errors.isEmpty { try explain(errors) }
    // A table names its columns. All objects may leave out a field that is known, but hardly one that nothing has.
    var wanted = Set(references.keys).union(given.keys)
    if file.format != .csv { wanted = wanted.subtracting(fields).subtracting(ofMirror.keys).subtracting(ofQueue.keys) }
    if file.format == .csv || !fields.isEmpty { for field in wanted.sorted() { try requireColumn(field) } }
    let names = file.format == .csv ? try file.columns().filter { !$0.isEmpty } : fields.sorted()
    columns = names.map { field in
      let type = types[field]?.description ?? reader.known[field]?.description
      let overruled = stored[field] == nil ? queued[field]?.description : nil
      let reason: ColumnType.Reason =
        if references[field] != nil || given[field] != nil {
          .given(queued: overruled == type ? nil : overruled)
        } else if stored[field] != nil { .known } else if let queued = queued[field] {
          .queued(own: queued.difference(to: own[field], isMisfit: misfits.contains(field)))
        } else {
          found[field]?.result.reason ?? .empty
        }
      return ImportColumn(field: field, type: type, reason: reason, midnight: midnights[field])
    }
  }

  /// The warnings to print before the records are enqueued, in the order of the columns.
  package var warnings: [String] { columns.compactMap(\.warning) }

  /// Throws if no line can be imported for one reason.
  private func explain(_ errors: Set<FieldError>) throws {
    if errors.contains(RowReader.noType) {
      throw RecordFileError(message: "\(file.name) has lines that name no record type; give --type")
    }
    guard let idField = reader.idField, errors.contains(where: { $0.field == idField }) else { return }
    try requireColumn(idField)
  }

  private func requireColumn(_ name: String) throws {
    let columns = try file.columns()
    guard !columns.contains(name) else { return }
    let near = Words.nearest(to: name, among: columns)
    let remedy = near.map { "did you mean \($0)?" } ?? "the columns are \(Words.list(columns.map(\.excerpt)))"
    throw RecordFileError(message: "there is no column \(name.excerpt); \(remedy)")
  }

  /// Reads the file for its records and hands them on in slices.
  ///
  /// - Parameter makeName: Returns a new record name.
  package func slices(makeName: () -> String, _ take: (ImportSlice) throws -> Void) throws {
    let names = try TemporaryRecords()
    var slice = ImportSlice()
    _ = try drafts(makeName: makeName) { line, _, draft in
      switch draft.flatMap({ draft in Result { () throws(FieldError) in try reader.record(draft, types) } }) {
      case .failure(let error): slice.refuse(line, error)
      case .success(let record):
        let key = RecordKey(record.zone ?? ZoneKey(zone: ""), record.name)
        if let earlier = try names.add(TemporaryRecords.Row(key, number: record.line)) {
          let field = record.zone == nil ? reader.idField : "recordName"
          let problem = "'\(record.name.excerpt)' names the record of line \(earlier) already; keep one of the two"
          slice.refuse(line, FieldError(field: field, problem))
        } else {
          slice.append(record)
        }
      }
      if slice.isFull {
        try take(slice)
        slice = ImportSlice()
      }
    }
    if slice != ImportSlice() { try take(slice) }
  }

  /// Visits the lines of the file, with the row of each that is not exported. Rejected lines do not affect the types of
  /// the columns.
  ///
  /// - Parameter skip: called for the line of a share.
  /// - Returns: the columns.
  private func drafts(
    makeName: () -> String,
    skip: (_ line: Int) -> Void = { _ in },
    _ visit: (_ line: Int, _ row: ImportRow?, Result<RowReader.Draft, FieldError>) throws -> Void
  ) throws -> [String: ColumnType] {
    var columns: [String: ColumnType] = [:]
    try file.each { line, row in
      let exported = (try? row.get()).flatMap(ExportedRow.init)
      guard exported?.recordType != CKRecord.SystemType.share else { return skip(line) }
      let known = try exported.map { try self.known.types(of: $0.recordType) } ?? [:]
      let plain = exported == nil ? try? row.get() : nil
      let draft = Result { () throws(FieldError) -> RowReader.Draft in
        var draft =
          if let exported { try reader.draft(exported, line: line, known) } else {
            try reader.draft(try row.get(), makeName: makeName)
          }
        if !keepsZones { draft.zone = nil }
        try reader.include(draft, plain, in: &columns)
        return draft
      }
      try visit(line, plain, draft)
    }
    return columns
  }

  /// Checks that fields can become references, or have the types that are given.
  private static func check(
    _ references: [String: String],
    _ given: [String: WireTypeTag],
    _ types: [String: String],
    _ queued: [String: String]
  ) throws(FieldError) {
    for (field, type) in given.sorted(by: { $0.key < $1.key }) {
      if references[field] != nil {
        throw FieldError(field: field, "\(field) has both --column and --reference; leave out one of them")
      }
      // Queued changes may be wrong, but a secret must not become plain text.
      let known = types[field] ?? queued[field].flatMap { type.exposes($0) ? $0 : nil }
      if let known, known != type.description, !(WireTypeTag.isUnknownList(known) && type.isList) {
        throw FieldError(field: field, "\(field) is \(known) already and cannot become \(type); leave out --column")
      }
    }
    for field in references.keys.sorted() {
      guard NameRule.isFieldName(field) else { throw FieldError(field: field, NameRule.fieldNameProblem(field)) }
      guard let type = types[field] ?? queued[field], type != WireTypeTag.unknownList,
        WireTypeTag(type)?.element != .reference
      else { continue }
      throw FieldError(field: field, "\(field) is \(type) already and cannot become REFERENCE; leave out --reference")
    }
  }
}

/// The types of fields that the mirror or the queue already has. Those of a record type are looked up once.
private final class KnownFieldTypes {
  private let lookUp: (_ type: String) throws -> [String: String]
  private var found: [String: [String: RowReader.KnownType]] = [:]

  init(_ lookUp: @escaping (_ type: String) throws -> [String: String]) { self.lookUp = lookUp }

  func types(of type: String) throws -> [String: RowReader.KnownType] {
    if let known = found[type] { return known }
    let known = Self.parsed(try lookUp(type))
    found[type] = known
    return known
  }

  /// The known types, without those of empty lists, whose elements are unknown.
  static func parsed(_ types: [String: String]) -> [String: RowReader.KnownType] {
    types.filter { !WireTypeTag.isUnknownList($0.value) }
      .mapValues { WireTypeTag($0).map(RowReader.KnownType.writable) ?? .foreign($0) }
  }
}

extension RowReader.KnownType {
  /// Whether a value cannot be read as one of this type.
  fileprivate func cannotBe(_ value: SourceValue, _ field: String) -> Bool {
    guard case .writable(let type) = self else { return false }
    do throws(FieldError) {
      _ = try value.read(as: type, field: field)
      return false
    } catch {
      return true
    }
  }

  /// The type that a column has by itself, if that is another. A file has only texts and numbers, so that a time or a
  /// reference is no difference, unless a value cannot be one.
  fileprivate func difference(to column: ColumnType?, isMisfit: Bool) -> String? {
    guard case .writable(let type) = self, isMisfit || [.string, .int64, .double].contains(type.element),
      let (own, reason) = column?.result, let own, own.element != .unknown, own != type.plain, reason != .emptyTexts
    else { return nil }
    return (type == type.plain ? own : .encrypted(own)).description
  }
}

extension ImportPlan {
  /// Parses `FIELD=TYPE` options for `columns`.
  package static func columns(parsing options: [String]) throws(FieldError) -> [String: WireTypeTag] {
    var columns: [String: WireTypeTag] = [:]
    for option in options {
      let parts = option.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, NameRule.isFieldName(parts[0]) else {
        throw FieldError(field: nil, "'\(option.excerpt)' names no column; write FIELD=TYPE, as in code=STRING")
      }
      let type = try WireTypeTag.written(parts[1], for: parts[0])
      if let other = columns.updateValue(type, forKey: parts[0]), other != type {
        throw FieldError(field: parts[0], "\(parts[0]) is \(other) and \(type); give --column once a field")
      }
    }
    return columns
  }

  /// Parses `FIELD=TYPE` options for `references`.
  package static func references(parsing options: [String]) throws(FieldError) -> [String: String] {
    var references: [String: String] = [:]
    for option in options {
      let parts = option.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, NameRule.isFieldName(parts[0]), NameRule.isFieldName(parts[1]) else {
        throw FieldError(field: nil, "'\(option.excerpt)' names no reference; write FIELD=TYPE, as in country=Country")
      }
      if let other = references.updateValue(parts[1], forKey: parts[0]), other != parts[1] {
        throw FieldError(
          field: parts[0],
          "\(parts[0]) refers to \(other) and to \(parts[1]); give --reference once a field"
        )
      }
    }
    return references
  }
}
