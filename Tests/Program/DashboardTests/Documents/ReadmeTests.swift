import CloudKit
import CloudService
import Facts
import Foundation
import TerminalUI
import TestSupport
import Testing

@testable import CloudSync
@testable import Dashboard

/// The parts of the README that are made from the program. `RECORD_SNAPSHOTS=1` writes them.
struct ReadmeTests {
  @Test func `the picture shows the overview as it is drawn`() throws {
    let theme = try #require(Theme.builtIn.first { $0.name == "midnight" })
    let world = Self.world
    var app = App()
    _ = app.update(.changed, world)
    let svg = Picture(app.draw(world).grid, theme).svg
    #expect(svg.utf8.count < 60_000)
    try expectFile("Sources/Handbook/Program/Resources/overview.svg", svg)
  }

  @Test func `the handbook's key table lists every command of the registry once`() throws {
    try expectKeys(Self.keyTable, in: "Sources/Handbook/Program/Dashboard.md")
  }

  @Test func `README has the keys of the first day`() throws {
    let ids: [CommandID] = [
      .syncOnce, .open, .filter, .problems, .retry, .edit, .discard, .conflicts, .undo, .help,
    ]
    let rows = try ids.map { id in
      let command = try #require(Command.registry.first { $0.id == id })
      return "| `\(command.keys[0].name)` | \(command.help) |"
    }
    try expectKeys((["| Key | Does |", "|---|---|"] + rows).joined(separator: "\n") + "\n", in: "README.md")
  }

  private func expectKeys(_ table: String, in page: String) throws {
    let text = try packageText(page)
    let (begin, end) = ("<!-- keys -->\n", "<!-- end of keys -->")
    let head = try #require(text.range(of: begin))
    let tail = try #require(text.range(of: end))
    try expectFile(page, text[..<head.upperBound] + table + text[tail.lowerBound...])
  }

  // MARK: - The picture

  /// A shop whose importer runs into failures and conflicts while it sends.
  private static var world: World {
    let operations = Self.operations
    return Sample.world(Size(width: 120, height: 36)) { world in
      world.scope.environment = "production"
      world.data = Sample.data(operations)
      world.data.records = ListPage(RecordListing(), Window(total: 98_110, offset: 0, rows: records))
      world.data.events = Sample.events(events)
      world.data.status?.identity = "_f684b3e89a634573e4989c85a4b643aa"
      world.data.status?.progress = Progress(phase: .send, done: 412, total: 1204, perSecond: 210)
      world.data.status?.queue.total = 798
      world.data.status?.queue.pending = 791
      world.data.status?.queue.bytes = 293_664
      world.data.queue = ListPage(
        QueueListing(),
        Window(total: 798, offset: 0, rows: operations),
        retryable: 4
      )
    }
  }

  private static let operations: [QueueRow] = {
    func rejected(_ id: Int64, _ name: String) -> QueueRow {
      Sample.operation(id, .failed, name) { row in
        row.cause = .failed(.rejected(code: "BAD_REQUEST", message: "field 'total' must be DOUBLE, not STRING"))
        (row.errorCode, row.attempts) = ("BAD_REQUEST", 1)
      }
    }
    return [
      rejected(1041, "order-1041"), rejected(1042, "order-1042"), rejected(1107, "order-1107"),
      Sample.operation(1007, .conflict, "order-1007") { $0.cause = .conflict(.fields(["note", "total"])) },
      Sample.operation(1011, .conflict, "order-1011") { $0.cause = .conflict(.fields(["note"])) },
      Sample.operation(1120, .waiting, "order-1120") { row in
        row.cause = .backOff(code: "INTERNAL_ERROR", attempt: 2, of: 8)
        (row.attempts, row.nextAttemptAt) = (2, Sample.now + 12_000)
      },
    ] + (1201...1206).map { Sample.operation($0, .pending, "order-\($0)") }
  }()

  static let records: [RecordRow] = (0..<8).map { index in
    var row = Sample.records[2]
    let isHere = index % 3 != 1
    row.record.key.name = "order-\(1200 - index)"
    row.record.modifiedAt = Sample.now - Int64(index) * 47_000
    row.record.modifiedBy = isHere ? "_f684b3e89a634573e4989c85a4b643aa" : "_9c21f0"
    row.record.fields = [
      "customer": .reference(WireReference(recordName: ["ana", "bo", "chen"][index % 3])),
      "note": .string(["two pieces", "gift wrapped", "leave at the door"][index % 3]),
      "total": .double(12.5 + Double(index * 7 % 5)),
    ]
    return row
  }

  private static let events = [
    EventRow(id: 3, at: Sample.now - 2_000, event: .conflict(record: "Order/order-1007", .fields(["note", "total"]))),
    EventRow(
      id: 2,
      at: Sample.now - 61_000,
      event: .synced(sent: 412, fetched: 38, deleted: 0, failed: 3, seconds: 2.1)
    ),
    EventRow(id: 1, at: Sample.now - 185_000, event: .recovered(.network, seconds: 252)),
  ]

  // MARK: - The key table

  private enum Group: String, CaseIterable {
    case syncing, day, lists, fields, queue, editing, records, columns, conflicts, zones, pauses, undo, questions,
      moving, overview, everywhere

    init(_ scopes: KeyScope) {
      self =
        switch scopes {
        case .syncing: .syncing
        case .day: .day
        case .conflicts: .conflicts
        case .zones: .zones
        case .pauses: .pauses
        case .undoing: .undo
        case .records: .records
        case .editing: .editing
        case .choosing: .columns
        case .question: .questions
        case .panes: .overview
        case .fields: .fields
        case _ where scopes.isSubset(of: [.everywhere, .closing, .question, .demo]): .everywhere
        case _ where scopes.contains(.moving): .moving
        case _ where scopes.contains(.records): .lists
        case _ where scopes.contains(.queue): .queue
        default: .lists
        }
    }
  }

  /// A table with the commands of each group in the order of the registry, in lines that an editor can show.
  private static var keyTable: String {
    let commands = Dictionary(grouping: Command.registry) { Group($0.scopes) }
    let rows = Group.allCases.flatMap { group -> [String] in
      var lines: [String] = []
      for command in commands[group] ?? [] {
        let keys = command.keys.map { "`\($0.name)`" }.joined(separator: " ")
        // The views name themselves before a colon.
        let help = command.help.prefix { $0 != ":" }
        let does = command.title.isEmpty ? help.prefix(1).lowercased() + help.dropFirst() : command.title
        let entry = "\(keys) \(does)"
        if let last = lines.last, last.count + entry.count < 100 {
          lines[lines.count - 1] = "\(last) · \(entry)"
        } else {
          lines.append(entry)
        }
      }
      return lines.enumerated().map { "| \($0.offset == 0 ? group.rawValue.capitalized : "") | \($0.element) |" }
    }
    return (["| Where | Keys |", "|---|---|"] + rows).joined(separator: "\n") + "\n"
  }
}
