import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The strip of the last 24 hours, and how it was at one of its minutes.
struct DayStripTests {
  private typealias Session = AppTests.Session
  private static let minute: Int64 = 60_000

  @Test(
    arguments: [
      (1440, 96, 15, 96), (1440, 144, 10, 144), (1440, 102, 15, 96), (1440, 2000, 1, 1440), (60, 119, 1, 60),
      // Each minute has as many numbers as there is room for.
      (60, 200, 1, 180),
      (60, 56, 2, 30), (1440, 1, 1440, 1), (1440, 0, 1, 0), (nil, 80, 1, 80),
    ] as [(Int?, Int, Int64, Int)]
  )
  func `a number stands for whole minutes, and all numbers for the whole time`(
    _ minutes: Int?,
    _ room: Int,
    _ each: Int64,
    _ count: Int
  ) {
    let scale = TimeScale(end: 10_000, minutes: minutes, room: room)
    #expect(scale.each == each && scale.count == count)
    #expect(scale.places(of: 10_000)?.upperBound == (count == 0 ? nil : count) && scale.places(of: 10_001) == nil)
    #expect(scale.places(of: scale.start)?.lowerBound == (count == 0 ? nil : 0))
    #expect(scale.places(of: scale.start - 1) == nil)
  }

  /// A span in minutes after a time.
  private static func span(_ urgency: Verdict.Urgency?, _ from: Int64, _ until: Int64, after start: Int64 = 100)
    -> VerdictSpan
  {
    VerdictSpan(urgency.map { _ in .inSync }, urgency, from: (start + from) * minute, until: (start + until) * minute)
  }

  @Test(
    arguments: [
      ([], "     "),
      ([span(.fine, 0, 10)], "●●●●●"),
      // Nothing is known of the time before.
      ([span(.fine, 3, 10)], " ●●●●"),
      ([span(.fine, 0, 4), span(nil, 4, 8), span(.fine, 8, 10)], "●●··●"),
      // The worst of what held is shown, and a gap rather than that all was well.
      ([span(.fine, 0, 5), span(.act, 5, 6), span(.fine, 6, 10)], "●●■●●"),
      ([span(.look, 0, 2), span(.waits, 1, 3), span(nil, 3, 5), span(.fine, 5, 10)], "▲◆·●●"),
      ([span(nil, 0, 1), span(.waits, 1, 2)], "◆    "),
      // An end is not a part of it, and what ends or begins elsewhere is cut.
      ([span(.act, 0, 2), span(.fine, 2, 10)], "■●●●●"),
      ([span(.act, -9, 1), span(.fine, 1, 99)], "■●●●●"),
      ([span(.act, -9, 0), span(.act, 10, 20), span(.act, 4, 4)], "     "),
    ] as [([VerdictSpan], String)]
  )
  func `a part of the time has the worst that held in it`(_ spans: [VerdictSpan], _ marks: String) {
    let scale = TimeScale(end: 109, minutes: 10, room: 5)
    let conditions = DayStrip.conditions(spans, scale)
    #expect(conditions.map { $0 == .unknown ? " " : $0.mark.plain }.joined() == marks)
  }

  @Test(
    arguments: [
      ([], []), ([.held(.fine), .held(.act)], [.held(.act)]),
      ([.held(.look), .held(.waits), .held(.fine), .notSyncing], [.held(.look), .notSyncing]),
      // The newest number is at the right of its cell.
      ([.held(.act), .held(.fine), .held(.fine)], [.held(.act), .held(.fine)]),
    ] as [([DayStrip.Condition], [DayStrip.Condition])]
  )
  func `a cell has the worse of its two parts`(_ parts: [DayStrip.Condition], _ cells: [DayStrip.Condition]) {
    #expect(DayStrip.cells(parts) == cells)
  }

  // MARK: - On the screen

  /// The Sync view at 02:47, 17 minutes ago.
  private static func past(_ size: Size) -> Session {
    var session = Session(Busy.world(size))
    session.type("11")
    for _ in 0..<17 { session.type(.left) }
    if case .some(let part) = session.app.scope(session.world).events {
      let at = (Sample.now / minute - 17) * minute
      let rows = [
        EventRow(
          id: 2,
          at: at + 31_000,
          event: .error(code: "NETWORK_ERROR", message: "connection refused", scope: "network")
        ),
        EventRow(id: 1, at: at + 12_000, event: .command(.flush(throttles: false), count: 2)),
      ]
      session.world.data.events = Sample.events(rows, part.listing)
      session.send(.changed)
    }
    return session
  }

  @Test func `how it was at 02:47, at four sizes`() throws {
    for (width, height) in [(80, 24), (120, 36), (200, 60), (40, 12)] {
      let session = Self.past(Size(width: width, height: height))
      try expectScreen(session.app.draw(session.world).grid, "sync-past-\(width)x\(height)")
    }
    var session = Self.past(Size(width: 80, height: 24))
    session.world.glyphs = .ascii
    try expectScreen(session.app.draw(session.world).grid, "sync-past-ascii-80x24")
  }

  @Test func `keys move by minutes and hours, not beyond the day, and Esc returns to now`() {
    var session = Session(Busy.world(Size(width: 80, height: 24)))
    session.type("11")
    session.type(.right)
    #expect(session.app.notice?.text == "This is the present minute")
    session.type(.left)
    #expect(session.text.contains("AT 03:03"))
    session.type(.pageUp)
    #expect(session.text.contains("AT 02:03") && session.text.contains("signed out"))
    for _ in 0..<30 { session.type(.pageUp) }
    #expect(session.text.contains("AT Jan 01 03:05"))
    session.type(.pageDown)
    #expect(session.text.contains("AT Jan 01 04:05"))
    for _ in 0..<30 { session.type(.pageDown) }
    #expect(session.text.contains("Last full sync") && !session.text.contains("AT "))
    session.type(.left)
    session.type(.escape)
    #expect(session.top is SyncScreen && session.text.contains("Last full sync"))
    session.type(.escape)
    #expect(session.top is Overview)
  }

  @Test func `a gap says that nothing was syncing, and a time before the first verdict that it is not known`() {
    var session = Session(Busy.world(Size(width: 80, height: 24)))
    session.type("11")
    for _ in 0..<12 { session.type(.pageUp) }
    #expect(session.text.contains("nothing was syncing, 2026-01-01 14:24:05 until"))
    session.world.data.verdicts = Array((session.world.data.verdicts ?? []).suffix(3))
    session.send(.changed)
    #expect(session.text.contains("not known: no syncing process had noted one"))
  }

  @Test func `the events of the minute are read, and only those`() throws {
    var session = Session(Busy.world(Size(width: 80, height: 24)))
    session.type("11")
    session.type(.left)
    let from = (Sample.now / Self.minute - 1) * Self.minute
    #expect(session.app.scope(session.world).events?.listing.time == from..<from + Self.minute)
    // Until they are read, no others stand in their place.
    #expect(session.text.contains("loading…"))
    #expect(session.effects.isEmpty)
  }

  @Test func `a minute with more events than are read says so`() throws {
    var session = Session(Busy.world(Size(width: 80, height: 40)))
    session.type("11")
    session.type(.left)
    let part = try #require(session.app.scope(session.world).events)
    let rows = [EventRow(id: 9, at: Sample.now, event: .command(.flush(throttles: false), count: 2))]
    session.world.data.events = ListPage(part.listing, Window(total: 345, offset: 0, rows: rows))
    session.send(.changed)
    #expect(session.text.contains("The last 1 of 345; 6 shows all"))
  }

  @Test func `the cursor keeps its minute while time passes, and leaves the strip with the oldest one`() {
    var session = Session(Busy.world(Size(width: 80, height: 24)))
    session.type("11")
    session.type(.left)
    session.world.now += 3 * Self.minute
    session.send(.tick)
    #expect(session.text.contains("AT 03:03"))
    session.world.now += 1440 * Self.minute
    session.send(.tick)
    #expect(session.text.contains("AT Jan 02 03:08"))
  }

  @Test func `the strip ends now, however long nothing has happened`() throws {
    var world = Busy.world(Size(width: 80, height: 24))
    world.data.verdicts = [Self.span(.fine, -1000, 0, after: world.now / Self.minute)]
    world.now += 360 * Self.minute
    var session = Session(world)
    session.type("11")
    let lines = session.text.split(separator: "\n").map(String.init)
    let verdicts = try #require(lines.first { $0.contains("verdict") })
    let sent = try #require(lines.first { $0.contains("│ sent") })
    // Six hours are 12 of the 48 cells: what held goes on, and nothing was sent.
    #expect(verdicts.contains(String(repeating: "●", count: 12)) && sent.contains(String(repeating: "⣀", count: 11)))
  }

  @Test func `what is known of less than an hour is shown as an hour`() {
    let now = Sample.now / Self.minute
    let world = Sample.world(Size(width: 80, height: 24)) { world in
      world.data.throughput = [Throughput(at: (now - 5) * Self.minute, sent: 3)]
      world.data.verdicts = [Self.span(.fine, -6, 0, after: now)]
    }
    #expect(DayStrip.minutes(world) == 60 && DayStrip.minutes(Busy.world(.zero)) == 1440)
    var session = Session(world)
    session.type("11")
    #expect(session.text.contains("LAST HOUR") && !session.text.contains("LAST 24 HOURS"))
    #expect(session.text.contains("●●●●"))
  }
}
