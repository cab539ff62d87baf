import ArgumentParser
import CloudKit
import CloudSync
import Facts
import Foundation
import JSONText
import RecordImport

/// `cktop records import`.
struct RecordsImport: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Enqueue the records of a JSON, NDJSON or CSV file.",
    discussion: """
      A field has the type known from the local copy, otherwise that of queued changes, otherwise the type that fits the \
      whole column; the result names the types and the reasons. --column sets a type, also against queued changes; where \
      they and the file differ, that is said before anything is enqueued, and --dry-run shows it. In a TIMESTAMP of \
      --column, a date is its midnight in UTC; other times need an offset. In CSV, a column with a value that looks \
      like a number and would not stay as written, such as 12E12, 0049 or 1.10 beside 1.9, is a column of texts. \
      Lines that cannot be imported are listed with their numbers; the rest is enqueued. Importing again enqueues only \
      what differs. The output of 'cktop records export' names its types and needs no --type. It is imported with its \
      names and, without --zone, its zones. --files takes the files of an export; without it, its records are imported \
      without their files.

      JSON is an array, an object whose one member is an array, or one record; NDJSON has an object a line. An empty \
      cell of CSV leaves its field alone; in quotes, in a column of texts, it is an empty text. With --empty clear it \
      clears the field, with --empty text it is an empty text without quotes, too.

        cktop records import cities.csv --type City --id code --reference country=Country --column zip=STRING
        cktop records import export.ndjson --files ./files
        echo '{"id": "oslo", "people": 700000}' | cktop records import - --type City --id id
      """
  )

  @Argument(help: "The file; - reads standard input.", completion: .file(), transform: String.path) var file: String
  @Option(help: "The record type; default: that of each record of an export.", completion: .recordTypes)
  var type: String?
  @Option(name: .customLong("id"), help: "The field with the record name; default: generated.") var idField: String?
  @Option(help: "The zone; default: that of the export, or the standard zone.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Option(
    name: .customLong("reference"),
    help: ArgumentHelp(
      "Make a field a reference to the record of that name. May be repeated.",
      valueName: "field=type"
    )
  )
  var references: [String] = []
  @Option(
    name: .customLong("column"),
    help: ArgumentHelp(
      "Give a field a wire type, such as STRING or INT64_LIST. May be repeated.",
      valueName: "field=type"
    )
  )
  var columns: [String] = []
  @Option(help: "What an empty CSV cell does to its field: keep, clear or text.") var empty = EmptyCells.keep
  @Option(help: "The format: json, ndjson or csv; default: by the file's name, else by its content.")
  var format: RecordFile.Format?
  @Option(
    help: ArgumentHelp("The folder with the files of an export.", valueName: "folder"),
    completion: .directory,
    transform: String.path
  )
  var files: String?
  @Flag(help: "Only show the types of the columns and the lines that cannot be imported.") var dryRun = false
  @Flag(help: .json("Print the result as a JSON object.", ImportResult.printed)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    if let problem = type.flatMap({ NameRule.recordTypeProblem($0) }) { throw CommandFailure.usage(problem) }
    if type == nil, idField != nil || !references.isEmpty || !columns.isEmpty {
      throw CommandFailure.usage(
        "--id, --reference and --column need --type; the records of an export name their types and ids"
      )
    }
    let references = try ImportPlan.references(parsing: references)
    let columns = try ImportPlan.columns(parsing: columns)
    if let files { try Self.requireFolder(files) }
    let source = try ImportSource(file)
    let records = try RecordFile(name: source.name, format: format, emptyCells: empty, source.read)
    try session.refuseNames(zone: zone)
    let store = dryRun ? try session.storeIfMade() : try await session.storeToChange()
    let named = try store?.zoneKey(zone, of: whose)
    let plan = try ImportPlan(
      records,
      recordType: type,
      keepsZones: zone == nil,
      idField: idField,
      references: references,
      columns: columns,
      takesFiles: files != nil,
      knownTypes: { try store?.fieldTypesBySource(of: $0).fetched ?? [:] },
      queuedTypes: { try store?.fieldTypesBySource(of: $0).queued ?? [:] }
    )
    for warning in plan.warnings { OutputFile.error.line("cktop: \(warning)".visible) }
    var result = ImportResult(plan, isDryRun: dryRun)
    guard let store, !dryRun else {
      if json { OutputFile.standard.write(#"{"refused":["#) }
      let zone = try store.map { try zoneOfRecords(named, of: $0) }
      try plan.slices(makeName: Self.newName) { slice in
        let refusals = try zone.map { try typeRefusals(slice, $0, store) } ?? []
        result.enqueued += slice.records.count - refusals.count
        note(slice, slice.refusals + refusals, &result)
      }
      return try end(result)
    }
    let zone = try zoneOfRecords(named, of: store)
    let isNewZone = try store.isNew(named)
    if json { OutputFile.standard.write(#"{"refused":["#) }
    let failure = try enqueue(plan, zone, store, &result)
    try end(result, failure) {
      guard result.enqueued > 0 else { return }
      if isNewZone { ZoneNote.reportCreated(zone) }
      session.reportGuess(of: store)
    }
  }

  /// The zone of records that name none.
  private func zoneOfRecords(_ named: ZoneKey?, of store: SyncStore) throws -> ZoneKey {
    try named ?? (type == nil ? store.scope.zoneForChangesWithoutOne : store.standardZone())
  }

  /// The lines of a slice with records that have another type in the store, for a dry run.
  private func typeRefusals(_ slice: ImportSlice, _ zone: ZoneKey, _ store: SyncStore?) throws -> [ImportRefusal] {
    try slice.records.compactMap { record in
      let key = RecordKey(record.zone ?? zone, record.name)
      return try store?.typeProblem(of: key, as: record.type)
        .map { ImportRefusal(line: record.line, field: nil, message: $0) }
    }
  }

  private static func newName() -> String { UUID().uuidString }

  private static func requireFolder(_ path: String) throws(CommandFailure) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
      throw .usage("\(path.excerpt) is no folder; give --files the folder of cktop records export --files")
    }
  }

  /// Prints the result.
  private func end(_ result: ImportResult, _ failure: StoreError? = nil, _ notes: () -> Void = {}) throws {
    OutputFile.standard.lines(json ? ["],\(result.json.line.dropFirst())"] : result.lines.map(\.visible))
    for note in [result.filesNote(takes: files != nil), result.sharesNote].compactMap(\.self) {
      OutputFile.error.line("cktop: \(note)")
    }
    notes()
    if let failure { throw result.interrupted(by: failure) }
    try (result.refused == 0 ? CommandStatus.done : .itemsFailed).end()
  }

  /// Lists the lines of a slice that are rejected, and counts them.
  private func note(_ slice: ImportSlice, _ refusals: [ImportRefusal], _ result: inout ImportResult) {
    list(refusals.sorted { $0.line < $1.line }, isFirst: result.refused == 0)
    result.refused += refusals.count
    for record in slice.records where record.lacksFiles { result.noteLackOfFiles(record.line) }
  }

  /// Enqueues the records in slices and lists the lines that are rejected.
  ///
  /// - Returns: the error that stopped the import, if any.
  private func enqueue(_ plan: ImportPlan, _ zone: ZoneKey, _ store: SyncStore, _ result: inout ImportResult) throws
    -> StoreError?
  {
    func makeName() -> String {
      result.makesNames = true
      return Self.newName()
    }
    do {
      try plan.slices(makeName: makeName) { slice in
        var refusals = slice.refusals
        let records = slice.records.filter { record in
          guard let problem = fileProblem(record) else { return true }
          refusals.append(ImportRefusal(line: record.line, field: problem.field, message: problem.message))
          return false
        }
        let changes = try records.map { try change($0, RecordKey($0.zone ?? zone, $0.name), store) }
        for (record, accepted) in zip(records, try store.enqueue(changes)) {
          switch accepted {
          case .enqueued: result.enqueued += 1
          case .unchanged: result.unchanged += 1
          case .refused(let reason):
            refusals.append(ImportRefusal(line: record.line, field: nil, message: reason))
          }
        }
        note(slice, refusals, &result)
      }
      return nil
    } catch let error as StoreError {
      return error
    }
  }

  /// The first file of a record that has not the size that its line states, or not the bytes that its name states, and
  /// so is not the one that was exported.
  private func fileProblem(_ record: ImportedRecord) -> FieldError? {
    for (field, files) in record.files.sorted(by: { $0.key < $1.key }) {
      for file in files {
        let source = path(of: file)
        guard let size = ExportedFiles.size(of: source) else { continue }
        let problem: String
        if let stated = file.size, size != stated {
          problem = "\(size) bytes, not \(stated)"
        } else if ExportedFiles.isAltered(source, file.name) {
          problem = "other bytes than its name states"
        } else {
          continue
        }
        let message = "the file '\(file.name.excerpt)' of \(field) has \(problem); export it again"
        return FieldError(field: field, message)
      }
    }
    return nil
  }

  private func path(of file: ImportedFile) -> URL {
    URL(fileURLWithPath: files ?? "").appending(path: file.name, directoryHint: .notDirectory)
  }

  /// The change of a record, with the files that it does not have already.
  private func change(_ record: ImportedRecord, _ key: RecordKey, _ store: SyncStore) throws -> Change {
    var fields = record.fields
    var assets: [String: [AssetSource]] = [:]
    let here = record.files.isEmpty ? nil : try store.records(named: key.name, zone: key.zoneKey).first?.record.fields
    for (field, files) in record.files {
      let known = here?[field]?.assets?.map(\.fileChecksum)
      if let known, !known.contains(nil), known == files.map(\.checksum) {
        fields[field] = nil
      } else {
        assets[field] = files.map { AssetSource(file: path(of: $0)) }
      }
    }
    return Change(key, .save(type: record.type, FieldChanges(values: fields, cleared: record.cleared)), assets: assets)
  }

  private func list(_ refusals: [ImportRefusal], isFirst: Bool) {
    guard json else {
      return OutputFile.error.lines(
        refusals.map { CommandFailure("line \($0.line): \($0.message)", .itemsFailed).line }
      )
    }
    guard !refusals.isEmpty else { return }
    OutputFile.standard.write((isFirst ? "" : ",") + refusals.map(\.json.line).joined(separator: ","))
  }
}

/// The result of an import.
struct ImportResult {
  /// The columns of the file, with their types.
  let columns: [ImportColumn]
  /// The number of shares, which were left out, and the line of the first.
  private let shares: (count: Int, line: Int)?
  /// Whether nothing is enqueued, and `enqueued` counts what would be at most.
  var isDryRun = false
  var enqueued = 0
  var unchanged = 0
  /// Lines that were not imported, rejected by the import plan or by the store.
  var refused = 0
  /// Whether a record got a new name.
  var makesNames = false

  /// The number of records without their files, and the line of the first.
  private var withoutFiles: (count: Int, line: Int)?

  init(_ plan: ImportPlan, isDryRun: Bool) { (columns, shares, self.isDryRun) = (plan.columns, plan.shares, isDryRun) }

  mutating func noteLackOfFiles(_ line: Int) {
    withoutFiles = withoutFiles.map { ($0.count + 1, $0.line) } ?? (1, line)
  }

  /// The note about records without their files; nil if there is none.
  ///
  /// - Parameter takesFiles: whether files were given.
  func filesNote(takes takesFiles: Bool) -> String? {
    guard let (count, line) = withoutFiles else { return nil }
    let what = "\(Words.count(count, "record")) without files, the first on line \(line)"
    let next = takesFiles ? "export them with --files" : "--files takes the folder of cktop records export --files"
    return "\(what); \(next)"
  }

  /// The note about shares; nil if there is none.
  var sharesNote: String? {
    guard let (count, line) = shares else { return nil }
    let what = "\(Words.count(count, "share")) left out, the first on line \(line)"
    return "\(what); share the records again, an import makes no shares"
  }

  private var read: Int { enqueued + unchanged + refused + (shares?.count ?? 0) }

  /// The failure that stopped an import, with what was enqueued before it.
  func interrupted(by error: StoreError) -> CommandFailure {
    let failure = error.failure
    guard enqueued > 0 else { return failure }
    let next = makesNames ? "importing again adds them again under other names" : "importing again continues"
    return CommandFailure("\(failure.message); \(enqueued) records are already enqueued, \(next)", .itemsFailed)
  }

  /// The result for people.
  var lines: [String] {
    [
      isDryRun
        ? "read \(read), would enqueue at most \(enqueued), refused \(refused); nothing was enqueued"
        : "read \(read), enqueued \(enqueued), unchanged \(unchanged), refused \(refused)"
    ]
      + columns.map { "  \($0.field) \($0.type ?? "no type"): \($0.text)" }
  }
}

extension ImportResult: PrintedObject {
  /// The counts for scripts.
  static let jsonFields: JSONFields<Self> = [
    "read": .integer(\.read), "enqueued": .integer(\.enqueued), "unchanged": .integer(\.unchanged),
    "withoutFiles": .integer { $0.withoutFiles?.count ?? 0 }, "shares": .integer { $0.shares?.count ?? 0 },
    "dryRun": .bool(\.isDryRun), "columns": .list(column, \.columns),
  ]

  private static let column: JSONFields<ImportColumn> = [
    "field": .text(\.field), "type": .text(\.type), "reason": .text(\.text), "warning": .text(\.warning),
  ]

  /// The output, which begins with the lines that are refused, while they are found.
  static let printed = JSONShape(fields: [.init(name: "refused", inner: ImportRefusal.shape)]).adding(shape)
}

extension ImportRefusal: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "line": .integer(\.line), "field": .text(\.field), "message": .text(\.message),
  ]
}

extension EmptyCells: ExpressibleByArgument {}
extension RecordFile.Format: ExpressibleByArgument {}
