import ArgumentParser
import CloudSync
import Foundation

/// `cktop records import`.
struct RecordsImport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Enqueue the records of a JSON, NDJSON or CSV file.",
    discussion: """
      A field has the type known from the local copy or the queue, otherwise the type that fits the whole column. \
      Lines that cannot be imported are listed with their numbers; the rest is enqueued. Importing again enqueues only \
      what differs. The output of 'cktop records export' is imported with its names, its types and, without --zone, \
      its zones.

        cktop records import cities.csv --type City --id code --reference country=Country
      """
  )

  @Argument(help: "The file; - reads standard input.") var file: String
  @Option(help: "The record type.") var type: String
  @Option(name: .customLong("id"), help: "The field with the record name; default: generated.") var idField: String?
  @Option(help: "The zone; default: that of the export, or the standard zone.") var zone: String?
  @Option(
    name: .customLong("reference"),
    help: ArgumentHelp(
      "Make a field a reference to the record of that name. May be repeated.",
      valueName: "field=type"
    )
  )
  var references: [String] = []
  @Flag(help: "Print the result as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  /// Large enough to need few transactions, small enough not to block other processes.
  private static let batch = 2000

  func run(_ session: Session) async throws {
    guard NameRule.isFieldName(type) else {
      throw CommandFailure.usage("'\(type)' is not a valid record type; use a letter, then letters, digits and _")
    }
    let references = try ImportPlan.references(parsing: references)
    let records = try RecordFile(data(), name: file == "-" ? "standard input" : file)
    let store = try await session.storeToChange()
    var makesNames = false
    let plan = try ImportPlan(
      records,
      recordType: type,
      keepsZones: zone == nil,
      idField: idField,
      references: references,
      knownTypes: try store.knownFieldTypes(of: type),
      makeName: {
        makesNames = true
        return UUID().uuidString
      }
    )
    let zone = try zone.map(store.zoneKey(named:)) ?? store.scope.zoneForChangesWithoutOne
    let (result, failure) = enqueue(plan, zone, store)
    if json {
      OutputStream.standard.line(result.json.line)
    } else {
      OutputStream.standard.line(result.line)
      OutputStream.error.lines(
        result.refused.map { CommandFailure("line \($0.line): \($0.message)", .itemsFailed).line }
      )
    }
    if result.enqueued > 0 { session.tellGuess(of: store) }
    if let failure { throw result.interrupted(by: failure, makesNames: makesNames) }
    try (result.refused.isEmpty ? CommandStatus.done : .itemsFailed).end()
  }

  private func data() throws(CommandFailure) -> Data {
    do {
      if file == "-" { return try FileHandle.standardInput.readToEnd() ?? Data() }
      return try Data(contentsOf: URL(fileURLWithPath: file))
    } catch {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), isFolder.boolValue {
        throw .usage("\(file) is a folder; name one file")
      }
      let reason = (error as NSError).localizedDescription
      throw .usage("\(file) cannot be read (\(reason)); check the path and its permissions")
    }
  }

  /// - Returns: the result so far, and the error that stopped the import, if any.
  private func enqueue(_ plan: ImportPlan, _ zone: ZoneKey, _ store: SyncStore) -> (ImportResult, StoreError?) {
    var result = ImportResult(plan)
    for start in stride(from: 0, to: plan.records.count, by: Self.batch) {
      let part = plan.records[start..<min(start + Self.batch, plan.records.count)]
      let changes = part.map { record in
        Change(RecordKey(record.zone ?? zone, record.name), .save(type: type, FieldChanges(values: record.fields)))
      }
      let all: [Accepted]
      do { all = try store.enqueue(changes) } catch { return (result, error) }
      for (record, accepted) in zip(part, all) {
        switch accepted {
        case .enqueued: result.enqueued += 1
        case .unchanged: result.unchanged += 1
        case .refused(let reason):
          result.refused.append(ImportResult.Refusal(line: record.line, field: nil, message: reason))
        }
      }
    }
    result.refused.sort { $0.line < $1.line }
    return (result, nil)
  }
}

/// The result of an import.
struct ImportResult {
  var read: Int
  var enqueued = 0
  var unchanged = 0
  var refused: [Refusal]

  /// A line that was not imported, refused by the import plan or by the store.
  struct Refusal {
    var line: Int
    var field: String?
    var message: String
  }

  init(_ plan: ImportPlan) {
    read = plan.read
    refused = plan.refusals.map { Refusal(line: $0.line, field: $0.field, message: $0.message) }
  }

  /// The failure that stopped an import, with what was enqueued before it.
  func interrupted(by error: StoreError, makesNames: Bool) -> CommandFailure {
    let failure = CommandFailure(error)
    guard enqueued > 0 else { return failure }
    let next = makesNames ? "importing again adds them again under other names" : "importing again continues"
    return CommandFailure("\(failure.message); \(enqueued) records are already enqueued, \(next)", .itemsFailed)
  }

  /// The result for people.
  var line: String { "read \(read), enqueued \(enqueued), unchanged \(unchanged), refused \(refused.count)" }

  /// The result for scripts.
  var json: JSONObject {
    [
      "read": .integer(Int64(read)), "enqueued": .integer(Int64(enqueued)), "unchanged": .integer(Int64(unchanged)),
      "refused": .array(
        refused.map { ["line": .integer(Int64($0.line)), "field": .optional($0.field), "message": .text($0.message)] }
      ),
    ]
  }
}
