import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The recording in the README: what an operator presses when the importer of a shop fails. `RECORD_SNAPSHOTS=1` writes
/// it.
struct RecordingTests {
  private typealias Session = AppTests.Session

  @Test func `the recording shows the screens as they are drawn`() throws {
    let theme = try #require(Theme.builtIn.first { $0.name == "midnight" })
    let svg = Picture(try Self.moments(), theme).svg
    #expect(svg.utf8.count < 150_000)
    try expectFile("Sources/Handbook/Program/Resources/recording.svg", svg)
  }

  private static func moments() throws -> [Picture.Moment] {
    var moments: [Picture.Moment] = []
    var session = Session(world)
    func show(_ caption: String, seconds: Int = 4) {
      moments.append(.init(grid: session.app.draw(session.world).grid, tenths: seconds * 10, caption: caption))
    }

    show("One look: a change was rejected, one is in conflict. The line names the key.", seconds: 5)
    session.type("!")
    session.show(data(rejected: 1, problemsOnly: true))
    show("!  shows what needs a person")
    session.type("e")
    session.send(.changed)
    show("e  edits a change that the server rejects")
    session.type(.enter, .ctrl("u"), .ctrl("u"))
    session.type("total=20")
    show("Enter, and the value that it should have", seconds: 3)
    session.type(.enter)
    session.type("r")
    try answer(&session, 1041)
    session.show(data(rejected: 0, problemsOnly: true))
    show("r  saves it, and sends it again")
    session.type(.escape)
    session.type("c")
    show("c  shows each conflict: the value before, here, and on the server")
    session.type("ls")
    show("l, s  take this machine's or the server's value, field by field")
    session.type(.enter)
    try answer(&session, 1007)
    session.show(data(rejected: 0, conflicts: []))
    session.type(.escape, .escape)
    session.show(inSync)
    show("Enter  resolves it. Everything is on the server; u would undo it.", seconds: 5)
    return moments
  }

  /// The last command given has been carried out.
  private static func answer(_ session: inout Session, _ id: Int64) throws {
    var receipt = Receipt(try #require(session.commands.last))
    (receipt.result.changed, receipt.changed, receipt.isToBeSent) = ([id], 1, true)
    session.send(.receipt(receipt))
    session.send(.said(receipt.text { "\($0)" }, isError: false))
  }

  // MARK: - The shop

  private static var world: World {
    Sample.world { world in
      world.scope.environment = "production"
      world.data = data(rejected: 1)
    }
  }

  private static let key = RecordKey(Sample.zone, "order-1007")

  private static func data(
    rejected: Int,
    conflicts: [Conflict] = [Sample.conflict(1007)],
    problemsOnly: Bool = false
  ) -> ViewData {
    let failed = (0..<rejected).map { index in
      Sample.operation(Int64(1041 + index), .failed, "order-\(1041 + index)") { row in
        row.cause = .failed(.rejected(code: "BAD_REQUEST", message: "'total' must be DOUBLE, not STRING"))
        (row.errorCode, row.attempts) = ("BAD_REQUEST", 1)
      }
    }
    let open = conflicts.map { conflict in
      Sample.operation(conflict.id, .conflict, "order-\(conflict.id)") {
        $0.cause = .conflict(.fields(["note", "total"]))
      }
    }
    let rest = (1201...1209).map { Sample.operation($0, .pending, "order-\($0)") }
    var data = Sample.data(failed + open + rest)
    data.records = ListPage(RecordListing(), Window(total: 98_110, offset: 0, rows: ReadmeTests.records))
    if problemsOnly {
      var listing = QueueListing()
      listing.states = [.failed, .conflict]
      data.queue = Sample.page(failed + open, listing)
    }
    data.conflicts = Window(total: conflicts.count, offset: 0, rows: conflicts)
    data.operation = ViewData.Read(1041, detail)
    data.fieldTypes = ViewData.Read("Order", ["total": "DOUBLE", "note": "STRING"])
    data.status?.progress = Progress(phase: .send, done: 412, total: 1204, perSecond: 210)
    return data
  }

  private static var detail: OperationDetail {
    var detail = Sample.detail
    detail.operation?.id = 1041
    detail.operation?.key.name = "order-1041"
    detail.operation?.cause = .failed(.rejected(code: "BAD_REQUEST", message: "'total' must be DOUBLE, not STRING"))
    detail.operation?.changes = FieldChanges(values: ["total": .string("twenty")])
    return detail
  }

  private static var inSync: ViewData {
    var data = Sample.data([])
    data.records = ListPage(RecordListing(), Window(total: 98_112, offset: 0, rows: ReadmeTests.records))
    data.conflicts = .empty
    data.status?.lastSuccessAt = Sample.now
    return data
  }
}
