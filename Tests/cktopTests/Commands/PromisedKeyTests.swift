import Foundation
import Testing

/// What `cli.md` promises of every verb: the keys of its JSON objects, and local times in its text.
@Suite(.serialized, .timeLimit(.minutes(40))) struct PromisedKeyTests {
  /// The keys of every object that a verb prints.
  private struct Promise {
    /// The verb with its arguments; `CONFLICT`, `FAILED` and `ENDED` are numbers of operations.
    let line: String
    let keys: String
    /// The keys of objects inside, by their own key; each is in the output at least once.
    var inner: [String: String] = [:]
  }

  private static let row = """
    id version operation recordType recordName zone owner state reason attempts maxAttempts nextAttemptAt blockedBy \
    error bytes enqueuedAt
    """
  private static let shown =
    row + " payload difference baseTag serverTag attemptLog ending detail endedAt dropped enqueuedBy"
  private static let conflict = "id version recordName recordType zone fields detectedAt"
  private static let record = "recordName recordType zone changeTag fields createdAt modifiedAt pending"
  private static let receipt = "verb dryRun changed skipped moved unknown unanswered rules"
  private static let decision = "verb dryRun zone changed records moved onHold version"
  private static let sides = ["fields": "name base local server"]
  private static let reason = ["skipped": "id why reason"]

  private static let promises: [Promise] = [
    Promise(
      line: "status",
      keys: """
        store container environment database generatedAt sync queue records account policy throttles lastError lastDay \
        pauses problems dropped
        """,
      inner: [
        "sync": """
        state reason inSync verdict nextStep lastSuccessAt nextActionAt nextAction driver progress unreadable
        """,
        "driver": "pid host live program since",
        "queue": "total pending inFlight waiting failed paused conflicts retryable bytes oldestPendingAt",
        "records": "total byType byZone", "account": "status user credential detail",
        "lastDay": "sent fetched failed bytes", "pauses": "zone owner type at by",
        "problems": "verdict text nextStep", "dropped": "unseen total",
      ]
    ),
    Promise(line: "account", keys: "status user credential detail permissions expiresAt signInURL"),
    Promise(line: "doctor", keys: "check level text meaning remedy"),
    Promise(line: "events", keys: "id at kind text operation zone by"),
    Promise(line: "queue list", keys: row, inner: ["error": "code message"]),
    Promise(
      line: "queue show FAILED",
      keys: shown,
      inner: ["attemptLog": "number at seconds error response", "enqueuedBy": "program pid"]
    ),
    Promise(line: "queue show ENDED", keys: shown, inner: ["enqueuedBy": "program pid"]),
    Promise(line: "queue causes", keys: "state error cause count releases first oldestAt nextAttemptAt where"),
    Promise(line: "queue pauses", keys: "zone owner type at by"),
    Promise(line: "queue retry FAILED CONFLICT --dry-run", keys: receipt, inner: reason),
    Promise(line: "queue pause --type Other", keys: receipt),
    Promise(line: "conflicts list", keys: conflict, inner: sides),
    Promise(line: "conflicts show CONFLICT", keys: conflict, inner: sides),
    Promise(
      line: "conflicts resolve --all --take local --dry-run",
      keys: "verb dryRun changed skipped unknown moved resolutions"
    ),
    Promise(
      line: "conflicts resolve CONFLICT@000000000000 FAILED --take local",
      keys: "verb dryRun changed skipped unknown moved resolutions",
      inner: reason.merging(["moved": conflict]) { $1 }
    ),
    Promise(
      line: "conflicts dropped",
      keys: """
        id operation recordName recordType zone fields cleared reason droppedAt canBeUndone seen editedAt overwritten
        """
    ),
    Promise(
      line: "zones list",
      keys: "zone owner records unsent tokenAt lastFetchAt state paused onHold version"
    ),
    Promise(line: "zones restore ZONE --dry-run", keys: decision),
    Promise(line: "zones accept ZONE --dry-run", keys: decision),
    Promise(line: "records list", keys: record, inner: ["due": "type value"]),
    Promise(line: "records get t1", keys: record),
    Promise(line: "records export", keys: record),
    Promise(
      line: "records import rows.ndjson --type Row --id id",
      keys: "read enqueued unchanged refused",
      inner: ["refused": "line field message"]
    ),
    Promise(line: "sync", keys: "sent fetched deleted waitForApp"),
    Promise(line: "verify", keys: "zone onlyLocal onlyServer different"),
  ]

  @Test func `every object of every verb has the promised keys`() async throws {
    let store = try await Store()
    _ = try store.machine.folder.write("{\"id\": \"n1\", \"a\": 1}\n{\"id\": \"n2\", \"b c\": 1}\n", to: "rows.ndjson")

    for promise in Self.promises {
      let end = try await store.run(promise.line + (promise.line.hasSuffix("export") ? "" : " --json"))
      let objects = try end.objects()
      #expect(!objects.isEmpty, "\(promise.line): \(end.error)")
      for object in objects {
        #expect(Self.missing(promise.keys, in: object).isEmpty, "\(promise.line): \(object.keys.sorted())")
      }
      for (name, keys) in promise.inner {
        let found = objects.flatMap { Self.objects(named: name, in: $0) }
        #expect(!found.isEmpty, "\(promise.line): no \(name)")
        for object in found {
          #expect(Self.missing(keys, in: object).isEmpty, "\(promise.line), \(name): \(object.keys.sorted())")
        }
      }
    }
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

  private static func missing(_ keys: String, in object: [String: Any]) -> [String] {
    keys.split(separator: " ").map(String.init).filter { object[$0] == nil }
  }

  /// The objects with a key, alone or in a list, at any depth.
  private static func objects(named name: String, in value: Any) -> [[String: Any]] {
    if let list = value as? [Any] { return list.flatMap { objects(named: name, in: $0) } }
    guard let object = value as? [String: Any] else { return [] }
    let own = (object[name] as? [String: Any]).map { [$0] } ?? object[name] as? [[String: Any]] ?? []
    return own + object.filter { $0.key != name }.values.flatMap { objects(named: name, in: $0) }
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
      "CONFLICT": try number("conflict"), "FAILED": try number("failed"), "ENDED": "\(discarded)", "ZONE": "cktop",
    ]
  }

  /// Runs a line whose numbers are put in.
  func run(_ line: String, settings: [String: String] = [:]) async throws -> Machine.End {
    let line = numbers.reduce(line) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
    return try await machine.running(line.split(separator: " ").map(String.init), settings: settings)
  }
}
