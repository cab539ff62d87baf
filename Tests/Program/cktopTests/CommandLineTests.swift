import ArgumentParser
import CloudKit
import CloudService
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudSync
@testable import Dashboard
@testable import cktop

/// The verbs of the command line beside the keys of the dashboard.
@Suite struct CommandLineTests {
  private static let version = "0123456789ab"
  private static let zone = ZoneKey(zone: "my notes")

  private static func lines() throws -> [(ServiceCommand, String)] {
    [
      (.perform(.retry, .ids([14])), "queue retry 14"),
      (.perform(.pause, .ids([14, 15]), dryRun: true), "queue pause 14 15 --dry-run"),
      (.perform(.resume, .ids([14])), "queue resume 14"),
      (.perform(.discard, .ids([14, 15]), versions: [15: version]), "queue discard 14 15@\(version)"),
      (.perform(.retry, .all), "queue retry --all"), (.perform(.discard, .all), "queue discard --all"),
      (
        .perform(.retry, .matching(try QueueFilter(parsing: "error = 'THROTTLED'"), text: "error = 'THROTTLED'")),
        #"queue retry --where 'error = '\''THROTTLED'\'''"#
      ),
      (.pause([.everything]), "queue pause --all"), (.pause([.type("Task")]), "queue pause --type Task"),
      (.pause([.zone(zone)]), "zones pause 'my notes'"), (.resume([.zone(zone)]), "zones resume 'my notes'"),
      (.resume([.type("Task")]), "queue resume --type Task"), (.resume(nil), "queue resume --all"),
      (.resume([.everything]), "queue resume --everything"),
      (.flush(), "queue flush"), (.flush(throttles: true), "queue flush --throttles"),
      (
        .resolve(4, take: .server, fields: ["a": .local], version: version),
        "conflicts resolve 4@\(version) --take server --field 'a=local'"
      ),
      (
        .resolve(4, take: .newest, fields: [:], version: nil, dryRun: true),
        "conflicts resolve 4 --take newest --dry-run"
      ),
      (.resolveAll([4: version, 5: nil], take: .base, fields: [:]), "conflicts resolve 4@\(version) 5 --take base"),
      (.undo([4]), "conflicts undo 4"), (.undo([5, 4]), "conflicts undo 5 4"),
      (
        .edit(4, [try FieldAssignment(parsing: "title:STRING=two words")], version: nil),
        "queue edit 4 'title:STRING=two words'"
      ),
      (.fetchAgain([zone]), "zones repair 'my notes'"),
      (.fetchAgain([zone, ZoneKey(zone: "b")]), "zones repair 'my notes' b"),
      (.pause([.zone(zone), .zone(ZoneKey(zone: "b"))]), "zones pause 'my notes' b"),
      (.resume([.zone(zone), .zone(ZoneKey(zone: "b"))]), "zones resume 'my notes' b"),
      (.acceptDeletions(zone, version: version), "zones accept 'my notes' --version \(version)"),
      (
        .restoreDeletions(zone, version: version, dryRun: true),
        "zones restore 'my notes' --version \(version) --dry-run"
      ),
      (.sync, "sync"), (.keepSyncing, "sync --watch"),
    ]
  }

  @Test(arguments: try lines()) func `a command line is parsed into the command that it was made from`(
    _ command: ServiceCommand,
    _ line: String
  ) throws {
    let folder = try TemporaryFolder()
    let store = try SyncStore(
      path: folder.path("store.sqlite"),
      scope: SyncStore.Scope(container: "iCloud.test", environment: "development", database: .private)
    )
    // Deletions of this zone are on hold.
    try store.write { ledger in
      try ledger.insertZone(Self.zone, state: .ready)
      for name in ["a", "b"] {
        let record = MirrorRecord(key: RecordKey(Self.zone, name), type: "Task", changeTag: "1", fields: [:])
        try ledger.put(record, epoch: MirrorRecord.gone)
      }
      var known = try #require(try ledger.zone(Self.zone))
      known.heldSince = 1
      try ledger.put(known)
    }

    #expect(command.commandLine == "cktop \(line)")
    let parsed = try #require(try Cktop.parseAsRoot(Self.words(of: line)) as? any CommandVerb)
    #expect(try parsed.command(store) == command)
  }

  private static let unspoken: [ServiceCommand] = [
    .perform(.retry, .listing(QueueListing(), except: [4])), .perform(.retry, .ids([])),
    .perform(.pause, .listing(QueueListing(), except: [])), .pause([.zone(zone), .everything]),
    .perform(.pause, .all), .perform(.retry, .ids(Array(1...21))),
    // A control character would end the paste, or the line.
    .pause([.type("T\u{3}")]), .pause([.type("T\nls")]), .undoAll(DroppedListing(), except: []),
    .markDroppedSeen(through: 4), .requestSync,
  ]

  @Test func `what a list selects is named by its expression, else by the numbers that were changed`() throws {
    var listing = QueueListing()
    #expect(Receipt(.perform(.retry, .listing(listing, except: []))).commandLine == "cktop queue retry --all")
    listing.filter = try ListFilter.parse("type = 'Task'", of: .queue).get()
    listing.states = [.failed]
    let command = ServiceCommand.perform(.retry, .listing(listing, except: []))
    let line = try #require(command.commandLine)
    #expect(line == #"cktop queue retry --where 'state in ('\''failed'\'') and (type = '\''Task'\'')'"#)
    #expect(try Cktop.parseAsRoot(Self.words(of: String(line.dropFirst(6)))) is QueueRetry)

    var receipt = Receipt(.perform(.retry, .listing(listing, except: [4])))
    receipt.result.changed = [6, 5]
    #expect(receipt.commandLine == "cktop queue retry 5 6")
    receipt.command = .undoAll(DroppedListing(), except: [])
    #expect(receipt.commandLine == "cktop conflicts undo 5 6")
    // The server's record that a screen shows beside the change is not named.
    let edit = ServiceCommand.edit(
      4,
      [try FieldAssignment(parsing: "a=1")],
      version: SyncStore.EditedVersion(operation: Self.version, serverTag: "1")
    )
    #expect(edit.commandLine == "cktop queue edit 4@\(Self.version) 'a=1'")
  }

  @Test(arguments: unspoken) func `a command that no command line can give has none`(_ command: ServiceCommand) {
    #expect(command.commandLine == nil)
  }

  /// The words that a shell makes of a line, as `asArgument` quotes them.
  private static func words(of line: String) -> [String] {
    var (words, word, isQuoted, isEscaped) = ([String](), "", false, false)
    for character in line.unicodeScalars {
      switch character {
      case _ where isEscaped: (word, isEscaped) = (word + String(character), false)
      case "'": isQuoted.toggle()
      case "\\" where !isQuoted: isEscaped = true
      case " " where !isQuoted: (words, word) = (words + [word], "")
      default: word.unicodeScalars.append(character)
      }
    }
    return words + [word]
  }

  // MARK: - Keys

  /// The verbs that do what a key does.
  private static let verbsOfKeys: [CommandID: [String]] = [
    .syncOnce: ["sync"], .keepSyncing: ["sync"], .flush: ["queue flush"], .pauseAll: ["queue pause", "queue resume"],
    .undo: ["conflicts undo"], .restore: ["conflicts undo"], .retry: ["queue retry"], .retryAll: ["queue retry"],
    .pauseThese: ["queue pause", "queue resume"], .discard: ["queue discard"], .edit: ["queue edit"],
    .editField: ["queue edit"], "newField": ["queue edit"], .saveEdit: ["queue edit"],
    .fieldLocal: ["conflicts resolve"], .fieldServer: ["conflicts resolve"], .fieldBase: ["conflicts resolve"],
    .allLocal: ["conflicts resolve"], .allServer: ["conflicts resolve"], .allBase: ["conflicts resolve"],
    .allNewest: ["conflicts resolve"], "allAlike": ["conflicts resolve"], .resolve: ["conflicts resolve"],
    "pauseZone": ["zones pause", "zones resume"], "repairZone": ["verify", "zones repair"],
    .acceptDeletions: ["zones accept"],
    .restoreDeletions: ["zones restore"], "liftPause": ["queue resume", "zones resume"],
    .undoView: ["conflicts dropped"],
  ]

  /// The keys and verbs that only one of the two has, with the reason.
  private static let keysAlone: [CommandID: String] = [.yes: "answers a question; a verb has --yes"]
  private static let verbsAlone = [
    "records put": "needs a record's name, type and fields", "records import": "needs a file",
    "records delete": "needs the names of records", "zones create": "needs a zone's name",
    "zones delete": "needs a zone's name, and deletes all its records", "schema import": "needs a file",
  ]

  @Test func `every verb that changes something has a key, and every such key has a verb`() {
    let changing = Set(Self.verbs(Cktop.self).filter { $0.type is any ChangingVerb.Type }.map(\.path))
    let keys = Set(Command.registry.filter(\.isChange).map(\.id))

    #expect(keys.subtracting(Self.verbsOfKeys.keys) == Set(Self.keysAlone.keys))
    // The view of dropped changes marks them as seen, which no person asks for.
    #expect(Set(Self.verbsOfKeys.keys).subtracting(keys) == [.undoView])
    #expect(changing.subtracting(Self.verbsOfKeys.values.joined()) == Set(Self.verbsAlone.keys))
    #expect(Set(Self.verbsOfKeys.values.joined()).isSubset(of: changing))
  }

  @Test func `a command line names a verb that changes something`() throws {
    let changing = Self.verbs(Cktop.self).filter { $0.type is any ChangingVerb.Type }.map(\.path)
    for (_, line) in try Self.lines() {
      #expect(changing.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)")
    }
  }

  /// The verbs below a command, as words: `queue list`. What takes no verb below it counts as one itself.
  static func verbs(_ command: any ParsableCommand.Type, _ path: [String] = []) -> [(
    path: String, type: any ParsableCommand.Type
  )] {
    let below = command.configuration.subcommands
    if below.isEmpty { return [(path.joined(separator: " "), command)] }
    return below.flatMap { verbs($0, path + [$0._commandName]) }
  }
}
