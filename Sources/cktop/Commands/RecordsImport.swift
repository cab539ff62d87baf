import ArgumentParser
import CloudSync
import Foundation

/// `cktop records import`.
struct RecordsImport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Enqueues the records of a JSON, NDJSON or CSV file.",
    discussion: """
      A field has the type that mirror or queue know it by, else the one that fits the whole column. Lines that \
      cannot be imported are listed with their numbers, the rest is enqueued. \
      Importing again enqueues only what differs. What 'cktop records export' wrote is read as it is: by its names, its \
      types and, without --zone, into its zones.

        cktop records import cities.csv --type City --id code --reference country=Country
      """
  )

  @Argument(help: "The file; - reads standard input.") var file: String
  @Option(help: "The record type.") var type: String
  @Option(name: .customLong("id"), help: "The field that names the record; without it, names are made.") var idField:
    String?
  @Option(help: "The zone; without it the standard one, or an export's own.") var zone: String?
  @Option(
    name: .customLong("reference"),
    help: ArgumentHelp(
      "Makes a field a reference to the record of that name. May be repeated.",
      valueName: "field=type"
    )
  )
  var references: [String] = []
  @Flag(help: "What was done as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  /// Enough for few transactions, few enough not to keep other processes waiting.
  private static let batch = 2000

  func run(_ session: Session) async throws {
    guard NameRule.isFieldName(type) else {
      throw CommandFailure.usage("'\(type)' is no record type; use a letter, then letters, digits and _")
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
      throw .usage("\(file) cannot be read (\((error as NSError).localizedDescription)); check the path and its rights")
    }
  }

  /// - Returns: how far it went, with what stopped it, if anything did.
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

/// What an import did.
struct ImportResult {
  var read: Int
  var enqueued = 0
  var unchanged = 0
  var refused: [Refusal]

  /// A line that was not imported, by the file's plan or by the store.
  struct Refusal {
    var line: Int
    var field: String?
    var message: String
  }

  init(_ plan: ImportPlan) {
    read = plan.read
    refused = plan.refusals.map { Refusal(line: $0.line, field: $0.field, message: $0.message) }
  }

  /// What stopped an import, with what is to be known of what came before.
  func interrupted(by error: StoreError, makesNames: Bool) -> CommandFailure {
    let failure = CommandFailure(error)
    guard enqueued > 0 else { return failure }
    let next = makesNames ? "importing again makes them a second time, under other names" : "importing again goes on"
    return CommandFailure("\(failure.message); \(enqueued) records are enqueued already, \(next)", .itemsFailed)
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
