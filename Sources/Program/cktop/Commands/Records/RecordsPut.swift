import ArgumentParser
import CloudKit
import CloudSync
import Facts
import Foundation
import JSONText

/// `cktop records put`.
struct RecordsPut: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Enqueue a new record, or a change of only these fields of a known record.",
    discussion: """
      A value is parsed as JSON if it is JSON, otherwise it is text. FIELD:TYPE=VALUE sets the wire type, such as \
      ENCRYPTED_STRING for a field that the schema encrypts, FIELD= clears the field. The value of an asset is the path of its file, which is copied now. A reference is the name of a \
      record, or an object such as {"recordName": "t1", "action": "VALIDATE"}; without an action it keeps the field's \
      action and zone, else has NONE and the record's zone. Nothing is sent before the next sync.

        cktop records put --type Task --name t1 title='Buy milk' done=0 due:TIMESTAMP=2026-01-31T12:00:00Z
        cktop records put --type Task --name t1 photo:ASSETID=./milk.jpg
      """
  )

  @Option(help: "The record type.", completion: .recordTypes) var type: String?
  @Option(help: "The record's name; default: a new one is generated.") var name: String?
  @Option(help: "The zone; default: that of the known record, else the standard zone.", completion: .zones)
  var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Flag(help: "Do not copy asset files; read them when they are sent.") var inPlace = false
  @Flag(help: .json("Print the result as a JSON object.", AcceptedRecord.shape)) var json = false
  @Argument(help: ArgumentHelp("The fields.", valueName: "field=value")) var assignments: [String] = []
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let parsed = try FieldAssignment.all(parsing: assignments)
    if let problem = type.flatMap({ NameRule.recordTypeProblem($0) }) { throw CommandFailure.usage(problem) }
    try session.refuseNames(record: name, zone: zone)
    let store = try await session.storeToChange()
    let zone = try store.zoneKey(zone, of: whose)
    let known = try name.flatMap { try store.record(named: $0, zone: zone) }
    guard let type = type ?? known?.record.type else {
      throw CommandFailure.usage("a new record needs a type; give --type")
    }
    let key = try known?.record.key ?? RecordKey(zone ?? store.standardZone(), name ?? UUID().uuidString)
    let types = try store.knownFieldTypes(of: type, wanted: Set(parsed.map(\.name)))
    let fields = known?.record.fields ?? [:]
    if parsed.contains(where: { $0.type != nil }) {
      let sources = try store.fieldTypesBySource(of: type)
      for assignment in parsed {
        let name = assignment.name
        let queued = [sources.queued[name], fields[name]?.wireType].compactMap(\.self)
        try assignment.checkEncryption(fetched: sources.fetched[name], queued: queued)
      }
    }
    var changes = FieldChanges()
    var assets: [String: [AssetSource]] = [:]
    for assignment in parsed {
      let field = assignment.name
      let known = types[field] ?? fields[field]?.typeNotInText
      if let path = assignment.assetPath(knownType: known) {
        assets[field] = [AssetSource(file: URL(fileURLWithPath: try .path(path)))]
      } else {
        changes[field] = try assignment.value(knownType: known)
      }
    }
    let change = Change(key, .save(type: type, changes), assets: assets)
    let isNewZone = try store.isNew(zone)
    let accepted = try store.enqueue([change], assets: inPlace ? .referenced : .copied).first ?? .unchanged
    try accepted.report(key, type, json: json)
    if case .enqueued(let id) = accepted, let reason = try store.lostChange(of: id) {
      let what = "an earlier change of \(key.name) was damaged in the store (\(reason.withoutFullStop))"
      let remedy = "put what is missing again, then run cktop conflicts dropped --seen"
      OutputFile.error.line("cktop: \(what); \(remedy)".visible)
    }
    if isNewZone { ZoneNote.reportCreated(key.zoneKey) }
    session.reportGuess(of: store)
  }
}

extension Accepted {
  /// Prints the result of enqueuing a change; a refusal is a usage failure.
  ///
  /// - Parameters:
  ///   - what: the record or zone in words.
  ///   - action: the words for a change that was accepted.
  ///   - object: makes the JSON object from the operation's number; nil for text.
  func report(_ what: String, action: String, _ object: ((Int64?) -> JSONObject)?) throws(CommandFailure) {
    let (id, result): (Int64?, String)
    switch self {
    case .enqueued(let operation): (id, result) = (operation, action)
    case .unchanged: (id, result) = (nil, "unchanged")
    case .refused(let reason): throw .usage("\(reason); nothing was enqueued")
    }
    let line = "\(result) \(what)\(id.map { " as operation \($0)" } ?? "")"
    OutputFile.standard.line(object?(id).line ?? line.visible)
  }

  /// Prints the result of enqueuing a change of a record.
  func report(_ key: RecordKey, _ type: String?, action: String = "enqueued", json: Bool) throws(CommandFailure) {
    if case .refused(let reason) = self { throw .usage("\(key.name): \(reason); nothing was enqueued") }
    let what = "\(type ?? "record") \(key.name) in zone \(key.zoneKey.title)"
    try report(what, action: action, json ? { AcceptedRecord(key: key, type: type, operation: $0).json } : nil)
  }
}

extension JSONField {
  /// Whether a change was enqueued, which gave it the number of an operation.
  static func accepted(_ operation: @escaping @Sendable (Value) -> Int64?) -> Self {
    text { operation($0) == nil ? "unchanged" : "enqueued" }
  }
}

/// The result of enqueuing a change of a record.
struct AcceptedRecord: PrintedObject {
  let key: RecordKey
  let type: String?
  let operation: Int64?

  static let jsonFields: JSONFields<Self> = [
    "result": .accepted(\.operation), "recordName": .text(\.key.name), "recordType": .text(\.type),
    "zone": .text(\.key.zone), "owner": .unlessEmpty(\.key.owner), "operation": .integer(\.operation),
  ]
}
