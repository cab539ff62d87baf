import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The zones, of which there may be many.
struct ZoneViewTests {
  private typealias Session = AppTests.Session

  private static func onZones(_ rows: [ZoneRow], _ change: (inout World) -> Void = { _ in }) -> Session {
    var session = Session(
      Sample.world { world in
        world.data.zones = Sample.zones(rows)
        change(&world)
      }
    )
    session.type("7")
    return session
  }

  private static func rule(_ name: String) -> PauseRule { .zone(ZoneKey(zone: name)) }

  @Test func `of 1,000 zones p pauses the one that the filter finds, once it is read`() {
    let all = (0..<1000).map { Sample.zoneRow("zone-\($0)") }
    var session = Self.onZones(all)
    session.type("/zone-777")
    session.type(.enter)
    session.type("p")
    #expect(session.commands.isEmpty)

    var listing = ZoneListing()
    listing.filter = .words(["zone-777"])
    #expect(session.app.scope(session.world).zones?.listing == listing)
    var data = session.world.data
    data.zones = Sample.zones([all[777]], listing)
    session.show(data)

    #expect(session.commands == [.pause([Self.rule("zone-777")])])
    #expect(session.text.contains("/zone-777"))
  }

  @Test func `a zone whose delete is queued says so`() {
    let session = Self.onZones([Sample.zoneRow("a") { $0.isDeletePending = true }, Sample.zoneRow("b")])

    #expect(session.text.contains("◆ delete pending") && session.text.contains("● ok"))
  }

  @Test func `the filter counts its zones while it is typed`() {
    var session = Self.onZones([Sample.zoneRow("a"), Sample.zoneRow("b")])
    session.type("/")
    #expect(session.text.contains("words, such as a name, paused"))
    session.type("x")
    var listing = ZoneListing()
    listing.filter = .words(["x"])
    var data = session.world.data
    data.zones = Sample.zones([Sample.zoneRow("x")], listing)
    session.show(data)

    #expect(session.text.contains("1 match"))
  }

  @Test(arguments: [
    ([true, true], ServiceCommand.resume([rule("a"), rule("b")])),
    ([false, false], .pause([rule("a"), rule("b")])),
    ([true, false], .pause([rule("a"), rule("b")])),
  ])
  func `p pauses the marked zones, or resumes them if all are paused`(_ arePaused: [Bool], _ command: ServiceCommand) {
    let rows = zip(["a", "b"], arePaused).map { name, isPaused in Sample.zoneRow(name) { $0.isPaused = isPaused } }
    var session = Self.onZones(rows + [Sample.zoneRow("c")])
    session.type("  p")
    #expect(session.commands == [command])
    #expect(!session.text.contains("marked"))

    session = Self.onZones(rows)
    session.type("ap")
    #expect(session.commands == [command])
  }

  @Test func `the footer says what p does to the marked zones`() {
    var session = Self.onZones([Sample.zoneRow("a") { $0.isPaused = true }, Sample.zoneRow("b")]) {
      $0.size = Size(width: 160, height: 24)
    }
    #expect(session.text.contains("p resume zone"))
    session.type("a")
    #expect(session.text.contains("p pause 2 zones"))
  }

  @Test(arguments: [
    ("X", ServiceCommand.acceptDeletions(Sample.zone, version: "1")),
    ("U", .restoreDeletions(Sample.zone, version: "1")),
  ])
  func `deletions on hold are decided by keys that mean nothing else, and after a question`(
    _ key: String,
    _ command: ServiceCommand
  ) {
    let held = HeldDeletions(zone: Sample.zone, version: "1", records: 150, isWholeZone: false, since: .now)
    var session = Self.onZones([Sample.zoneRow("Shop") { $0.held = held }])
    session.type(key)
    #expect(session.commands.isEmpty && session.top is Question)
    session.type("y")

    #expect(session.commands == [command])
    #expect(Command.registry.filter { $0.keys == [.character(Character(key))] }.count == 1)
  }

  @Test func `R fetches the marked zones again after a question, and syncs`() {
    var session = Self.onZones([Sample.zoneRow("a"), Sample.zoneRow("b"), Sample.zoneRow("c")])
    session.type("  R")
    #expect(session.commands.isEmpty && session.top is Question)
    session.type("y")

    #expect(session.commands == [.fetchAgain([ZoneKey(zone: "a"), ZoneKey(zone: "b")]), .sync])
  }

  @Test func `a zone in trouble says all of it, the worst first`() {
    let row = Sample.zoneRow("Shop") { row in
      row.queued = [.failed: 3, .conflict: 1, .pending: 1200]
      row.isPaused = true
      row.isDenied = true
    }
    let session = Self.onZones([row]) { $0.size = Size(width: 160, height: 24) }

    #expect(session.text.contains("▲ access denied, 3 failed, 1 in conflict, paused"))
    #expect(session.text.contains("1,204"))
  }

  @Test func `a time of another day is not cut`() {
    let yesterday = Sample.now - 86_400_000
    let row = Sample.zoneRow("Shop") { ($0.lastFetchAt, $0.tokenAt) = (yesterday, yesterday) }
    let session = Self.onZones([row]) { $0.size = Size(width: 120, height: 24) }

    #expect(session.text.contains(/Jan 01 03:04 +Jan 01 03:04/))
  }

  @Test func `Sync names the first zones, and how many there are besides`() {
    var session = Session(
      Sample.world(Size(width: 120, height: 60)) { world in
        let rows = (0..<3).map { Sample.zoneRow("zone-\($0)") }
        world.data.zones = ListPage(ZoneListing(), Window(total: 1003, offset: 0, rows: rows))
      }
    )
    session.type("11")

    #expect(session.text.contains("zone-2") && session.text.contains("1,000 more zones; 7 shows all"))
  }
}
