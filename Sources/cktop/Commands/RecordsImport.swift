import ArgumentParser
import CloudSync
import Foundation
import JSONText
import RecordImport

/// `cktop records import`.
struct RecordsImport: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Enqueue the records of a JSON, NDJSON or CSV file.",
    discussion: """
      A field has the type known from the local copy or the queue, otherwise the type that fits the whole column; the \
      result names the types and the reasons, and --column sets another type. In CSV, a column with a value that looks \
      like a number and would not stay as written, such as 12E12, 0049 or 1.10 beside 1.9, is a column of texts. \
      Lines that cannot be imported are listed with their numbers; the rest is enqueued. Importing again enqueues only \
      what differs. The output of 'cktop records export' names its types and needs no --type. It is imported with its \
      names and, without --zone, its zones.

      JSON is an array, an object whose one member is an array, or one record; NDJSON has an object a line. An empty \
      cell of CSV leaves its field alone; in quotes, in a column of texts, it is an empty text. With --empty clear it \
      clears the field, with --empty text it is an empty text without quotes, too.

        cktop records import cities.csv --type City --id code --reference country=Country --column zip=STRING
        cktop records import export.ndjson
        echo '{"id": "oslo", "people": 700000}' | cktop records import - --type City --id id
      """
  )

  @Argument(help: "The file; - reads standard input.") var file: String
  @Option(help: "The record type; default: that of each record of an export.") var type: String?
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
  @Flag(help: "Print the result as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    if let type, !NameRule.isFieldName(type) {
      throw CommandFailure.usage("'\(type)' is not a valid record type; use a letter, then letters, digits and _")
    }
    if type == nil, idField != nil || !references.isEmpty || !columns.isEmpty {
      throw CommandFailure.usage(
        "--id, --reference and --column need --type; the records of an export name their types and ids"
      )
    }
    let references = try ImportPlan.references(parsing: references)
    let columns = try ImportPlan.columns(parsing: columns)
    let source = try ImportSource(file)
    let records = try RecordFile(name: source.name, format: format, emptyCells: empty, source.read)
    try session.refuseNames(zone: zone)
    let store = try await session.storeToChange()
    let named = try store.zoneKey(zone, of: whose)
    let plan = try ImportPlan(
      records,
      recordType: type,
      keepsZones: zone == nil,
      idField: idField,
      references: references,
      columns: columns,
      knownTypes: { try store.knownFieldTypes(of: $0) }
    )
    let zone = try named ?? (type == nil ? store.scope.zoneForChangesWithoutOne : store.standardZone())
    let isNewZone = try store.isNew(named)
    var result = ImportResult(columns: plan.columns)
    if json { OutputStream.standard.write(#"{"refused":["#) }
    let failure = try enqueue(plan, zone, store, &result)
    OutputStream.standard.lines(json ? ["],\(result.json.line.dropFirst())"] : result.lines.map(\.visible))
    if result.enqueued > 0 {
      if isNewZone { ZoneNote.reportCreated(zone) }
      session.tellGuess(of: store)
    }
    if let failure { throw result.interrupted(by: failure) }
    try (result.refused == 0 ? CommandStatus.done : .itemsFailed).end()
  }

  /// Enqueues the records in slices and lists the lines that are rejected.
  ///
  /// - Returns: the error that stopped the import, if any.
  private func enqueue(_ plan: ImportPlan, _ zone: ZoneKey, _ store: SyncStore, _ result: inout ImportResult) throws
    -> StoreError?
  {
    func makeName() -> String {
      result.makesNames = true
      return UUID().uuidString
    }
    do {
      try plan.slices(makeName: makeName) { slice in
        let changes = slice.records.map { record in
          Change(
            RecordKey(record.zone ?? zone, record.name),
            .save(type: record.type, FieldChanges(values: record.fields, cleared: record.cleared))
          )
        }
        var refusals = slice.refusals
        for (record, accepted) in zip(slice.records, try store.enqueue(changes)) {
          switch accepted {
          case .enqueued: result.enqueued += 1
          case .unchanged: result.unchanged += 1
          case .refused(let reason):
            refusals.append(ImportRefusal(line: record.line, field: nil, message: reason))
          }
        }
        list(refusals.sorted { $0.line < $1.line }, isFirst: result.refused == 0)
        result.refused += refusals.count
      }
      return nil
    } catch let error as StoreError {
      return error
    }
  }

  private func list(_ refusals: [ImportRefusal], isFirst: Bool) {
    guard json else {
      return OutputStream.error.lines(
        refusals.map { CommandFailure("line \($0.line): \($0.message)", .itemsFailed).line }
      )
    }
    guard !refusals.isEmpty else { return }
    let objects = refusals.map { refusal -> String in
      let object: JSONObject = [
        "line": .integer(Int64(refusal.line)), "field": .optional(refusal.field), "message": .text(refusal.message),
      ]
      return object.line
    }
    OutputStream.standard.write((isFirst ? "" : ",") + objects.joined(separator: ","))
  }
}

/// The result of an import.
struct ImportResult {
  /// The columns of the file, with their types.
  let columns: [ImportColumn]
  var enqueued = 0
  var unchanged = 0
  /// Lines that were not imported, rejected by the import plan or by the store.
  var refused = 0
  /// Whether a record got a new name.
  var makesNames = false

  private var read: Int { enqueued + unchanged + refused }

  /// The failure that stopped an import, with what was enqueued before it.
  func interrupted(by error: StoreError) -> CommandFailure {
    let failure = CommandFailure(error)
    guard enqueued > 0 else { return failure }
    let next = makesNames ? "importing again adds them again under other names" : "importing again continues"
    return CommandFailure("\(failure.message); \(enqueued) records are already enqueued, \(next)", .itemsFailed)
  }

  /// The result for people.
  var lines: [String] {
    ["read \(read), enqueued \(enqueued), unchanged \(unchanged), refused \(refused)"]
      + columns.map { "  \($0.field) \($0.type ?? "no type"): \($0.text)" }
  }

  /// The counts for scripts.
  var json: JSONObject {
    [
      "read": .integer(Int64(read)), "enqueued": .integer(Int64(enqueued)), "unchanged": .integer(Int64(unchanged)),
      "columns": .array(
        columns.map { .object(["field": .text($0.field), "type": .optional($0.type), "reason": .text($0.text)]) }
      ),
    ]
  }
}

extension EmptyCells: ExpressibleByArgument {}
extension RecordFile.Format: ExpressibleByArgument {}
