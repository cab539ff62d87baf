import ArgumentParser
import CloudKitContract
import CloudKitSchema
import CloudService
import CloudSync
import Doctor
import Foundation
import TerminalUI
import TestSupport
import Testing

@testable import cktop

/// What every verb promises: the fields of its JSON objects, and local times in its text.
@Suite(.serialized, .timeLimit(.minutes(40))) struct PromisedKeyTests {
  /// The fields of every object that a verb prints.
  private struct Promise {
    /// The verb with its arguments; `CONFLICT`, `FAILED`, `ENDED` and `PENDING` are numbers of operations.
    let line: String
    let shape: JSONShape
    /// The keys of objects inside that are in the output at least once.
    var inner: [String] = []
    /// Whether the machine of these tests can run it.
    var isRun = true

    /// The verb, with the option that has it print another object.
    var name: String {
      let verb = verb
      return verb + (["--at", "--contract"].first { line.hasPrefix("\(verb) \($0)") }.map { " \($0)" } ?? "")
    }

    var verb: String { PromisedKeyTests.verbs.map(\.path).first { "\(line) ".hasPrefix("\($0) ") } ?? line }
  }

  fileprivate static let verbs = CommandLineTests.verbs(Cktop.self)

  /// Those that change something are in an order in which all of them can be run.
  private static let promises: [Promise] = [
    Promise(line: "status", shape: StatusObject.shape, inner: ["driver", "pauses", "problems"]),
    Promise(line: "status --at 02:47", shape: MomentObject.shape),
    Promise(line: "account", shape: AccountState.longFields.shape),
    Promise(line: "events", shape: EventRow.shape),
    Promise(line: "queue list", shape: OperationLine.shape, inner: ["error"]),
    Promise(line: "queue causes", shape: QueueCause.shape),
    Promise(line: "queue show FAILED", shape: ShownOperation.shape, inner: ["attemptLog", "enqueuedBy"]),
    Promise(line: "queue show ENDED", shape: ShownOperation.shape, inner: ["enqueuedBy"]),
    Promise(line: "queue export", shape: ShownOperation.shape),
    Promise(line: "queue retry FAILED CONFLICT --dry-run", shape: Receipt.operations.shape, inner: ["skipped"]),
    Promise(line: "queue discard PENDING@000000000000 --yes", shape: Receipt.operations.shape, inner: ["moved"]),
    Promise(line: "queue pause --type Other", shape: Receipt.operations.shape),
    Promise(line: "queue pauses", shape: Pause.shape),
    Promise(line: "queue resume --type Other", shape: Receipt.operations.shape),
    Promise(line: "queue salvage --into rescued.sqlite", shape: Salvaged.shape),
    Promise(line: "conflicts list", shape: Conflict.shape, inner: ["fields"]),
    Promise(line: "conflicts show CONFLICT", shape: Conflict.shape, inner: ["fields"]),
    Promise(
      line: "conflicts resolve --all --take local --dry-run",
      shape: Receipt.resolution.shape,
      inner: ["resolutions"]
    ),
    Promise(
      line: "conflicts resolve CONFLICT@000000000000 FAILED --take local",
      shape: Receipt.resolution.shape,
      inner: ["skipped", "moved"]
    ),
    Promise(line: "conflicts resolve CONFLICT --take local", shape: Receipt.resolution.shape),
    Promise(line: "conflicts dropped", shape: DroppedChange.shape),
    Promise(line: "conflicts undo ENDED", shape: Receipt.undo.shape, inner: ["restored"]),
    Promise(line: "records list", shape: RecordRow.shape, inner: ["due"]),
    Promise(line: "records get t1", shape: RecordRow.shape),
    Promise(line: "records query Task", shape: RecordRow.shape),
    Promise(line: "records export", shape: RecordRow.shape),
    Promise(
      line: "records import rows.ndjson --type Row --id id",
      shape: ImportResult.printed,
      inner: ["refused", "columns"]
    ),
    Promise(line: "records put --type Task --name t2 a=1", shape: AcceptedRecord.shape),
    Promise(line: "records delete t2 --yes", shape: AcceptedRecord.shape),
    Promise(line: "zones list", shape: ZoneRow.shape),
    Promise(line: "zones restore ZONE --dry-run", shape: Receipt.decision.shape),
    Promise(line: "zones accept ZONE --dry-run", shape: Receipt.decision.shape),
    Promise(line: "zones pause ZONE", shape: Receipt.zonePauses.shape),
    Promise(line: "zones resume ZONE", shape: Receipt.zonePauses.shape),
    Promise(line: "zones repair ZONE", shape: Receipt.repair.shape),
    Promise(line: "zones create notes", shape: AcceptedZone.shape),
    Promise(line: "zones delete notes --yes", shape: AcceptedZone.shape),
    Promise(line: "queue edit FAILED a=2", shape: Receipt.edit.shape),
    Promise(line: "queue flush", shape: Receipt.flushed.shape),
    Promise(line: "sync", shape: SyncReport.shape),
    Promise(line: "verify", shape: ZoneDifference.printed),
    Promise(line: "schema check old.ckdb", shape: SchemaProblem.shape),
    Promise(line: "schema diff old.ckdb new.ckdb", shape: CKSchema.Change.shape),
    Promise(line: "schema import new.ckdb", shape: CKSchema.Change.shape, isRun: false),
    Promise(line: "keygen", shape: GeneratedKey.shape),
    Promise(line: "themes list", shape: ListedTheme.shape),
    Promise(line: "themes show midnight", shape: ThemeRole.shape),
    Promise(line: "config check", shape: SettingLine.shape),
    Promise(line: "doctor", shape: Finding.shape),
    Promise(line: "doctor --contract", shape: ContractReport.Line.shape, isRun: false),
  ]

  @Test func `every object of every verb has the promised fields`() async throws {
    let store = try await Store()
    let files = [
      "rows.ndjson": "{\"id\": \"n1\", \"a\": 1}\n{\"id\": \"n2\", \"b c\": 1}\n", "old.ckdb": "DEFINE SCHEMA",
      "new.ckdb": "DEFINE SCHEMA\nRECORD TYPE Task (a INT64);\n",
    ]
    for (name, text) in files { _ = try store.machine.folder.write(text, to: name) }

    for promise in Self.promises where promise.isRun {
      let end = try await store.run(promise.line + " --json")
      let objects = try end.objects()
      #expect(!objects.isEmpty, "\(promise.line): \(end.error)")
      #expect(objects.flatMap { Self.differences($0, promise.shape) } == [], "\(promise.line)")
      for name in promise.inner {
        #expect(!objects.flatMap { Self.objects(named: name, in: $0) }.isEmpty, "\(promise.line): no \(name)")
      }
    }
  }

  @Test func `the help of every verb names the fields that it prints`() throws {
    for (path, type) in Self.verbs {
      let help = Cktop.helpMessage(for: type, columns: 10_000)
      let named = help.matches(of: /JSON fields: ([^\n]+)/).map { $0.1.components(separatedBy: ", ") }

      #expect(help.contains("\n  --json ") == !named.isEmpty, "\(path)")
      #expect(Set(named) == Set(Self.promises.filter { $0.verb == path }.map(\.shape.names)), "\(path)")
    }
  }

  /// `RECORD_SNAPSHOTS=1` writes the list.
  @Test func `the handbook has the fields of every verb`() throws {
    let path = "Sources/Handbook/Program/Subcommands.md"
    let page = try packageText(path)
    let head = try #require(page.range(of: "<!-- fields -->\n"))
    let tail = try #require(page.range(of: "<!-- end of fields -->"))
    var items: [(names: [String], text: String)] = []
    for promise in Self.verbs.flatMap({ verb in Self.promises.filter { $0.verb == verb.path } }) {
      let place = items.firstIndex { $0.text == promise.shape.text } ?? items.endIndex
      if place == items.endIndex { items.append(([], promise.shape.text)) }
      if !items[place].names.contains(promise.name) { items[place].names.append(promise.name) }
    }
    let list = items.map { item in
      let lines = wrap(StyledText("\(item.names.map { "`\($0)`" }.joined(separator: ", ")): \(item.text)"), to: 118)
      return "- " + lines.map(\.plain).joined(separator: "\n  ") + "\n"
    }
    let text = page[..<head.upperBound] + list.joined() + page[tail.lowerBound...]
    #expect(try recorded(path, String(text)) == text)
  }

  @Test func `no text for people has a time in UTC`() async throws {
    let store = try await Store()
    let lines = [
      "status", "account", "events", "queue list", "queue show FAILED", "queue show ENDED", "queue causes",
      "queue pauses", "conflicts show CONFLICT", "zones list", "records list", "records get t1",
    ]
    for line in lines {
      let output = try await store.run(line, settings: ["TZ": "Asia/Kolkata"]).output

      #expect(!output.isEmpty)
      #expect(!output.contains(/:\d\d(\.\d+)?Z/), "\(output)")
      if ["records list", "records get t1", "conflicts show CONFLICT"].contains(line) {
        #expect(output.contains("2026-01-02 08:34:05.500+05:30"), "\(output)")
      }
    }
  }

  /// The fields that an object lacks, and those that it has beside them.
  private static func differences(_ object: [String: Any], _ shape: JSONShape, at path: String = "") -> [String] {
    let missing = shape.fields.filter { $0.isAlways && object[$0.name] == nil }.map(\.name)
    let unknown = Set(object.keys).subtracting(shape.names)
    let inside = shape.fields.flatMap { field -> [String] in
      guard let inner = field.inner, let value = object[field.name] else { return [] }
      let parts = value as? [[String: Any]] ?? (value as? [String: Any]).map { [$0] } ?? []
      return parts.flatMap { differences($0, inner, at: "\(path)\(field.name).") }
    }
    return missing.map { "\(path)\($0) is missing" } + unknown.map { "\(path)\($0) is not promised" } + inside
  }

  /// The objects with a key, alone or in a list, at any depth.
  private static func objects(named name: String, in value: Any) -> [[String: Any]] {
    if let list = value as? [Any] { return list.flatMap { objects(named: name, in: $0) } }
    guard let object = value as? [String: Any] else { return [] }
    let own = (object[name] as? [String: Any]).map { [$0] } ?? object[name] as? [[String: Any]] ?? []
    return own + object.filter { $0.key != name }.values.flatMap { objects(named: name, in: $0) }
  }
}

extension JSONShape {
  /// The names, such as `id, error { code, message }`.
  fileprivate var text: String {
    fields.map { field in field.name + (field.inner.map { " { \($0.text) }" } ?? "") }.joined(separator: ", ")
  }
}

/// A machine whose store has a bit of everything: a conflict, a failed change, an ended one, one that waits, a pause and
/// deletions on hold.
private final class Store: Sendable {
  let machine: Machine
  private let cloud: Cloud
  private let numbers: [String: String]

  init() async throws {
    let faults = """
      [[rules]]
      when = { operation = "records/modify", recordName = "bad" }
      then = "poison"
      """
    cloud = try await Cloud(faults: faults)
    let other = try Machine(cloud)
    machine = try Machine(cloud, ["CKTOP_POLICY": "manual"])
    let names = (0..<110).map { "r\($0)" }
    let rows = names.map { #"{"id": "\#($0)", "a": 1}"# }.joined(separator: "\n")
    let file = try other.folder.write(rows, to: "rows.ndjson")
    let put = ["records", "put", "--type", "Task", "--name"]
    try await other.succeed("records", "import", file, "--type", "Row", "--id", "id")
    _ = try await other.succeeding(put + ["t1", "title=old", "due:TIMESTAMP=2026-01-02T03:04:05Z"])
    try await other.succeed("sync")
    try await machine.succeed("sync")
    _ = try await other.succeeding(["records", "delete", "--yes"] + names.prefix(100))
    _ = try await other.succeeding(put + ["t1", "title=theirs", "due:TIMESTAMP=2026-01-02T03:04:05.250Z"])
    try await other.succeed("sync")
    _ = try await machine.succeeding(put + ["t1", "title=mine", "due:TIMESTAMP=2026-01-02T03:04:05.500Z"])
    _ = try await machine.succeeding(put + ["bad", "a=1"])
    let end = try await machine.run("sync")
    try #require(end.status == 3, "\(end.error)")
    _ = try await machine.succeeding(put + ["p1", "a=1"])
    let ended = try await machine.succeeding(put + ["p2", "a=1", "--json"]).object()
    let discarded = try #require(ended["operation"] as? Int)
    try await machine.succeed("queue", "discard", "\(discarded)", "--yes")
    try await machine.succeed("queue", "pause", "--type", "Other")
    let queue = try await machine.succeed("queue", "list", "--json").objects()
    func number(_ state: String) throws -> String {
      "\(try #require(queue.first { $0["state"] as? String == state }?["id"] as? Int))"
    }
    numbers = [
      "CONFLICT": try number("conflict"), "FAILED": try number("failed"), "ENDED": "\(discarded)",
      "PENDING": try number("pending"), "ZONE": "cktop",
    ]
  }

  /// Runs a line whose numbers are put in.
  func run(_ line: String, settings: [String: String] = [:]) async throws -> Machine.End {
    let line = numbers.reduce(line) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
    return try await machine.running(line.split(separator: " ").map(String.init), settings: settings)
  }
}
