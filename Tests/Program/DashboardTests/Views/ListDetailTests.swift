import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// What lists, charts and the help show at their edges.
struct ListDetailTests {
  private typealias Session = AppTests.Session

  @Test func `a change that waits names the record that it waits for`() {
    let row = Sample.operation(15, .pending, "order-4") { row in
      row.cause = .waitsFor([14], isGroup: false, names: ["Order/order-14"])
    }
    let session = Session(Sample.world(Size(width: 200, height: 36)) { $0.data = Sample.data([row]) })
    #expect(session.text.contains("waits for Order/order-14 (operation 14)"))
  }

  private static func rejected(_ type: String, _ field: String) -> FailureCause {
    let message = "invalid attempt to set value type \(type) for field '\(field)', defined to be INT64"
    return .rejected(code: "BAD_REQUEST", message: message)
  }

  private static let file = "/var/lib/importer/shots/2025/12/31.jpg"

  @Test(
    arguments: [
      [
        (.failed(rejected("STRING", "done")), "'done'"), (.failed(rejected("STRING", "total")), "'total'"),
        (.failed(rejected("DOUBLE", "done")), "DOUBLE"),
        (.failed(.referenceMissing(field: "list", name: "l1", code: "VALIDATING_REFERENCE_ERROR")), "no l1"),
        (.failed(.file(.missing, path: file, field: "shot")), "file gone: shot"),
        (.failed(.file(.changed, path: file, field: "shot")), "file changed: shot"),
      ],
      [
        (.conflict(.fields(["note", "title"])), "note, title"), (.conflict(.deletedOnServer), "edited here, deleted"),
        (.recordDeleted, "on hold"), (.recordDeletedWhileFetching, "fetching"),
        (.backOff(code: "INTERNAL_ERROR", attempt: 2, of: 8), "the server failed (2 of 8)"),
        (.pausedByRule(.zone("photos-of-the-summer-2025"), by: "ana"), "by rule: zone photos"),
      ],
    ] as [[(Cause, String)]]
  )
  func `at 80x24 WHY has the words that tell one cause from another`(_ causes: [(Cause, String)]) {
    let rows = causes.enumerated().map { place, cause in
      Sample.operation(Int64(place + 11), .failed, "order-\(place)") { $0.cause = cause.0 }
    }
    for keys in ["", "3"] {
      var session = Session(Sample.world { $0.data = Sample.data(rows) })
      session.type(keys)
      for (_, words) in causes { #expect(session.text.contains(words), "\(words): \(session.text)") }
    }
  }

  @Test func `the help keeps its cursor visible when the window shrinks, so that Enter runs what is seen`() {
    var session = Session(Sample.world(Size(width: 120, height: 60)))
    session.type("?")
    for _ in 0..<40 { session.type("j") }
    session.world.size = Size(width: 80, height: 14)
    session.send(.resized)

    let grid = session.app.draw(session.world).grid
    #expect((0..<grid.size.height).contains { y in grid.row(y).contains { $0.style.role == .selection } })
  }

  @Test(arguments: ["3", "44", "C", "6", "7", "8", "9", "o0"])
  func `the selected row of a list stands out from its first to its last cell`(_ keys: String) throws {
    var session = Session(Busy.world(Size(width: 80, height: 24)) { $0.data.status?.pauses = Sample.pauses })
    session.type(keys)
    let grid = session.app.draw(session.world).grid
    let y = try #require((0..<24).first { grid.row($0).contains { $0.character == "▌" } })
    for cell in grid.row(y).dropFirst().prefix(77) {
      #expect(cell.style.role == .selection || cell.style.ground == .selection)
    }
  }

  @Test func `no time of another day is cut in a view of a store in use`() {
    for (width, height) in [(40, 12), (80, 24), (120, 36), (200, 60)] {
      for keys in ["", "3", "44", "c", "6", "7", "8", "C"] {
        var session = Session(Busy.world(Size(width: width, height: height)))
        session.type(keys)
        #expect(!session.text.contains(/20\d\d-[\d-]*…/), "\(keys) \(width)")
        #expect(!session.text.contains(/(Dec|Jan) \d*…/), "\(keys) \(width)")
      }
    }
  }

  @Test func `a time of another day has its date in every list`() {
    let before = Sample.now - 86_400_000
    let tomorrow = Sample.now + 86_400_000
    var session = Session(
      Sample.world(Size(width: 119, height: 26)) { world in
        let row = Sample.operation(1, .waiting, "order-1") { ($0.enqueuedAt, $0.nextAttemptAt) = (before, tomorrow) }
        world.data = Sample.data([row])
        world.data.events = Sample.events([EventRow(id: 1, at: before, event: .merged(record: "order-1"))])
        world.data.dropped?.window.rows[0].change.at = before
      }
    )
    #expect(session.text.contains(/Jan 01 03:04 +Jan 03 03:04/))
    for key in ["6", "8"] {
      session.type(key)
      #expect(session.text.contains("Jan 01 03:04"), "\(key)")
    }
  }

  @Test func `at 80x24 the selected row is shown in detail under its list, and Enter opens it`() {
    for (keys, text) in [("3", "Enqueued"), ("44", "UNSENT CHANGES"), ("6", "Event"), ("8", "DROPPED VALUES")] {
      var session = Session(Busy.world(Size(width: 80, height: 24)))
      session.type(keys)
      #expect(session.text.contains(text), "\(keys)")
    }
    var session = Session(Busy.world(Size(width: 80, height: 24)))
    session.type("3")
    session.type(.enter)
    #expect(session.top is OperationScreen)
  }

  @Test func `the tabs keep what needs a person at every size`() {
    for (width, height) in [(40, 12), (80, 24), (120, 36)] {
      var session = Session(Busy.world(Size(width: width, height: height)))
      session.type("3")
      let top = session.text.split(separator: "\n")[1]
      #expect(top.contains(/(failed |!)47/) && top.contains(/(conflict |\?)1,204/), "\(width)x\(height)")
    }
  }

  @Test func `the causes are the first tab of the queue in full`() {
    var session = Session(Busy.world(Size(width: 120, height: 36)))
    session.type("3")
    session.type(.left)
    #expect(session.top is CausesScreen && session.text.contains("r retry 31"))
    session.type(.right)
    #expect((session.top as? QueueScreen)?.list.listing.states == [])
    session.type(.left, .left)
    Self.answer(&session)
    #expect((session.top as? QueueScreen)?.list.listing.states == [.pending])
    session.type(.right)
    #expect(session.top is CausesScreen)

    var calm = Session(Sample.world { $0.data = Sample.data([]) })
    calm.type("3")
    calm.type(.left)
    #expect(calm.top is QueueScreen && !calm.text.contains("causes"))
  }

  /// Reads the rows that the queue's tab shows.
  private static func answer(_ session: inout Session) {
    guard let listing = (session.top as? QueueScreen)?.list.listing else { return }
    session.world.data.queue = Sample.page(Busy.queue.filter { listing.states.contains($0.state) }, listing)
    session.send(.changed)
  }

  @Test func `n and N go through the rows that need a person, and through the matches of a filter`() {
    var session = Session(Busy.world(Size(width: 120, height: 36)))
    session.type("3G")
    session.type("g")
    for _ in 1...19 { session.type("n") }
    #expect((session.top as? QueueScreen)?.list.selected(session.world)?.id == Busy.queue[19].id)
    session.type("n")
    // The rows further on have not been read.
    #expect((session.top as? QueueScreen)?.list.state.cursor == Busy.queue.count && session.app.notice != nil)
    session.type("N")
    #expect((session.top as? QueueScreen)?.list.state.cursor == 19)

    session.type(.right)
    Self.answer(&session)
    session.type("nn")
    #expect((session.top as? QueueScreen)?.list.state.cursor == 2)
    session.type("NNN")
    #expect(session.text.contains("No match above"))
  }

  @Test func `the last hour ends now, and the overview's chart with the last activity`() throws {
    let world = Sample.world { world in
      world.data.throughput = [Throughput(at: Sample.now - 50 * 60_000, sent: 7)]
    }
    let hour = ThroughputChart(world, "sent", \.sent, minutes: 60).numbers(upTo: 60)
    #expect(hour.firstIndex(of: 7) == 9 && hour.last == 0)
    #expect(ThroughputChart(world, "sent", \.sent).numbers(upTo: 60).last == 7)

    var later = world
    later.now += 11 * 60_000
    #expect(ThroughputChart(later, "sent", \.sent, minutes: 60).numbers(upTo: 60).allSatisfy { $0 == 0 })

    var session = Session(world)
    let midnight = Sample.now + Sample.format.untilMidnight(Sample.now)
    #expect(session.app.nextWake(session.world) == midnight)
    session.type("11")
    #expect(session.app.nextWake(session.world) == (Sample.now / 60_000 + 1) * 60_000)
    session.world.data.throughput = []
    #expect(session.app.nextWake(session.world) == midnight)
  }
}
