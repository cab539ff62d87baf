import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The views that a number opens: events, what can be undone, Sync and Account in full.
struct ViewTests {
  private typealias Session = AppTests.Session

  // MARK: - Events

  private static let events = [
    EventRow(id: 9, at: Sample.now, event: .failed(record: "order-1", .zoneChanged(zone: "Shop")), operation: 11),
    EventRow(id: 8, at: Sample.now - 1000, event: .merged(record: "order-2"), operation: 12, zone: "Shop"),
    EventRow(id: 7, at: Sample.now - 2000, event: .command(.flush(throttles: false), count: 1), actor: "ana"),
  ]

  private static func onEvents(_ rows: [EventRow] = events) -> Session {
    var session = Session(Sample.world { $0.data.events = Sample.events(rows) })
    session.type("6")
    return session
  }

  @Test func `Enter on an event opens the operation that it is about`() {
    var session = Self.onEvents()
    session.type("j")
    session.type(.enter)
    #expect((session.top as? OperationScreen)?.id == 12)

    session.type(.escape)
    session.type("j")
    session.type(.enter)
    #expect(session.top is EventsScreen)
    #expect(session.app.notice?.text == "This event is not about one operation")
  }

  @Test(arguments: [
    (Event.error(code: "INTERNAL_ERROR", message: "oops"), StyleRole.error),
    (.failed(record: "order-1", .zoneChanged(zone: "Shop")), .error), (.deliveryFailed("the app threw"), .error),
    (.conflict(record: "order-1", .fields(["total"])), .conflict),
  ])
  func `an event that needs a look is coloured, shown by !, and found by n`(_ event: Event, _ role: StyleRole) {
    var session = Self.onEvents([
      EventRow(id: 3, at: Sample.now, event: .merged(record: "order-2")),
      EventRow(id: 2, at: Sample.now - 1000, event: .merged(record: "order-3")),
      EventRow(id: 1, at: Sample.now - 2000, event: event),
    ])
    session.type("n")
    #expect((session.top as? EventsScreen)?.list.selected(session.world)?.id == 1)
    #expect(EventLine.role(EventRow(id: 1, at: 0, event: event)) == role)
    session.type("!")
    #expect((session.top as? EventsScreen)?.list.filter.text.contains("'\(event.kind)'") == true)
  }

  @Test func `at the top the log follows new events, and further down the cursor stays with its event`() {
    let new = EventRow(id: 10, at: Sample.now, event: .merged(record: "new"), operation: 20)
    var session = Self.onEvents()
    session.show(Sample.data())
    var data = session.world.data
    data.events = Sample.events([new] + Self.events)
    session.show(data)
    session.type(.enter)
    #expect((session.top as? OperationScreen)?.id == 20)

    session = Self.onEvents()
    session.type("j")
    session.show(data)
    session.type(.enter)
    #expect((session.top as? OperationScreen)?.id == 12)
  }

  @Test func `the log is filtered by words, and by an expression whose mistake names its column`() throws {
    var session = Self.onEvents()
    session.type("/order")
    var words = EventListing()
    words.filter = .words(["order"])
    #expect(session.app.scope(session.world).events?.listing == words)
    #expect(session.text.contains("searching…"))

    session.type(.escape)
    session.type("/kind = 'x'")
    #expect(session.text.contains("Column 8"))
    session.type(.escape)
    session.type("!")
    guard case .expression? = session.app.scope(session.world).events?.listing.filter else {
      Issue.record("! filters by an expression")
      return
    }
    let listing = try #require(session.app.scope(session.world).events?.listing)
    var data = session.world.data
    data.events = Sample.events([Self.events[0]], listing)
    session.show(data)
    session.type("!")
    #expect(session.app.scope(session.world).events?.listing == EventListing())
  }

  @Test func `marked events are copied and exported, else all in the filter`() {
    var session = Self.onEvents()
    session.type("x")
    session.type(" x")
    session.type("ax")
    session.type(" x")
    let exports = session.effects.compactMap { effect -> Export? in
      if case .export(let export) = effect { export } else { nil }
    }
    #expect(
      exports == [
        .allEvents(EventListing(), except: []), .events([Self.events[0]]), .allEvents(EventListing(), except: []),
        .allEvents(EventListing(), except: [Self.events[1].id]),
      ]
    )
  }

  @Test func `a marked event stays marked when it leaves the newest events`() {
    var session = Self.onEvents()
    session.type("G")
    session.type(" ")
    var data = session.world.data
    let new = EventRow(id: 10, at: Sample.now, event: .merged(record: "new"), operation: 20)
    let window = Window(total: 2, offset: 0, rows: [new, Self.events[0]])
    data.events = ListPage(EventListing(), window, isCounted: false)
    session.show(data)
    session.type("x")
    #expect(session.app.notice?.isError == true && session.effects.isEmpty)
  }

  @Test func `a zone that is not up to date says what is to be fetched, and how far it is`() {
    for (isOfAll, fetched, text) in [
      (true, 12_400, "fetching all, 12,400 so far"), (false, 0, "fetching changes"),
    ] {
      var session = Session(
        Sample.world { world in
          world.size = Size(width: 120, height: 36)
          world.data.zones?.window.rows[0].fetch = ZoneRow.Fetch(isOfAll: isOfAll, fetched: fetched)
          world.syncing = .once
        }
      )
      session.type("7")
      #expect(session.text.contains(text))
      session.world.syncing = .off
      session.world.data.status?.syncingProcess = nil
      #expect(session.text.contains("to fetch"))
    }
  }

  // MARK: - Undo

  private static func dropped(_ id: Int64, of operation: Int64) -> DroppedRow {
    let queued = Sample.queued(operation)
    return DroppedRow(id: id, DroppedChange(queued.changes, of: queued, .discarded(by: "ana"), at: Sample.now - id))
  }

  private static func onUndo(_ rows: [DroppedRow]) -> Session {
    var session = Session(Sample.world { $0.data.dropped = Sample.droppedPage(rows) })
    session.type("8")
    return session
  }

  /// A session on the Undo view, with these changes dropped by the policy.
  private static func onUnseen(_ rows: [DroppedRow], _ change: (inout World) -> Void = { _ in }) -> Session {
    Session(
      Sample.world { world in
        world.data.dropped = Sample.droppedPage(rows)
        world.data.status?.dropped = StoreStatus.Dropped(unseen: rows.count, total: 0)
        change(&world)
      }
    )
  }

  @Test func `opening the Undo view marks what it shows as seen, and so does what comes while it is open`() {
    let rows = [Sample.unseen(9, of: 39), Sample.unseen(8, of: 38)]
    var session = Self.onUnseen(rows)
    #expect(session.commands == [])
    session.type("8")
    session.send(.tick)
    #expect(session.commands == [.markDroppedSeen(through: 9)])
    #expect(session.text.contains("▲ 03:03:45"))

    // They stay on the screen, though the store lists them no longer.
    session.world.data.status?.dropped = StoreStatus.Dropped(unseen: 0, total: 0, seenThrough: 9)
    session.send(.changed)
    #expect(session.app.scope(session.world).dropped?.listing == Sample.droppedListing)
    #expect(session.commands.count == 1)

    session.world.data.dropped = Sample.droppedPage([Sample.unseen(12, of: 40)] + rows)
    session.world.data.status?.dropped.unseen = 1
    session.send(.changed)
    #expect(session.commands.last == .markDroppedSeen(through: 12) && session.commands.count == 2)
  }

  @Test func `what is not shown does not count as seen`() throws {
    let rows = (1...100).map { Sample.unseen(Int64(101 - $0), of: Int64(300 - $0)) }
    var readOnly = Self.onUnseen(rows) { $0.isReadOnly = true }
    readOnly.type("8")
    #expect(readOnly.commands == [])

    var filtered = Self.onUnseen(rows) { $0.data.dropped = nil }
    filtered.type("8/order")
    var listing = Sample.droppedListing
    listing.filter = .words(["order"])
    filtered.world.data.dropped = ListPage(listing, Window(total: 100, offset: 0, rows: rows))
    filtered.send(.changed)
    #expect(filtered.text.contains("▲ 03:03:45") && filtered.commands == [])
    filtered.world.data.dropped = Sample.droppedPage(rows)
    filtered.type(.escape)
    // The older ones are not on the screen.
    #expect(filtered.commands == [])
    filtered.type("G")
    guard case .markDroppedSeen(let oldest)? = filtered.commands.last else {
      Issue.record("the oldest were shown")
      return
    }
    #expect(oldest < 100 && filtered.commands.count == 1)
    filtered.world.data.status?.dropped.seenThrough = oldest
    for _ in 1...20 { filtered.type(.pageUp) }
    #expect(filtered.commands.last == .markDroppedSeen(through: 100))

    var small = Self.onUnseen(rows) { $0.size = Size(width: 30, height: 8) }
    small.app.open(try #require(Preferences.StartView(rawValue: "undo")))
    small.send(.changed)
    #expect(small.commands == [])

    var covered = Self.onUnseen(rows) { $0.data.dropped = nil }
    covered.type("8?")
    covered.world.data.dropped = Sample.droppedPage(Array(rows.suffix(3)))
    covered.send(.changed)
    #expect(covered.commands == [])
    covered.type(.escape)
    #expect(covered.commands == [.markDroppedSeen(through: 3)])
  }

  @Test func `a change above the rows that are shown stays unseen`() {
    let rows = (1...100).map { Sample.unseen(Int64(101 - $0), of: Int64(300 - $0)) }
    var session = Self.onUnseen(rows) { $0.data.status?.dropped.unseen = 0 }
    session.type("8")
    session.type("G")
    session.world.data.status?.dropped.unseen = 1
    session.world.data.dropped = Sample.droppedPage([Sample.unseen(200, of: 400)] + rows)
    session.send(.changed)
    #expect(!session.commands.contains(.markDroppedSeen(through: 200)))

    // Nor does it count as seen before those below it have been on the screen.
    session.type("g")
    #expect(!session.commands.contains(.markDroppedSeen(through: 200)))
    for _ in 1...20 { session.type(.pageDown) }
    #expect(session.commands.last == .markDroppedSeen(through: 200))
  }

  @Test func `a change of a record that was edited since is shown but not restored`() {
    var session = Self.onUnseen([Sample.unseen(9, of: 39)]) { $0.size = Size(width: 120, height: 36) }
    session.type("8u")
    #expect(session.commands == [.markDroppedSeen(through: 9)])
    #expect(session.app.notice?.text == "The record was edited since; this can no longer be undone")
    #expect(session.text.contains("can no longer be undone"))
  }

  @Test func `u undoes the selected change, and then the marked ones, each operation once`() {
    var session = Self.onUndo([dropped(4, of: 24), dropped(3, of: 23), dropped(2, of: 23), dropped(1, of: 21)])
    session.type("ju")
    session.type(" ")
    session.type(" u")

    #expect(session.commands == [.undo([23]), .undo([23])])
  }

  @Test func `undoing all that match asks with their number, and leaves out what is not marked`() {
    var session = Self.onUndo([dropped(3, of: 23), dropped(2, of: 22), dropped(1, of: 21)])
    session.type("a u")
    #expect(session.text.contains("2 dropped changes?"))
    session.type("y")

    #expect(session.commands == [.undoAll(Sample.droppedListing, except: [3])])
  }

  @Test
  func `a resolution for this side says what it overwrote, and until when it can be undone where it kept nothing`() {
    var resolved = Sample.queued(22)
    resolved.apply(.conflicted(.fields(["total"]), now: Sample.now))
    var change = DroppedChange(nil, of: resolved, .resolved(by: .person), at: Sample.now)
    var effect: String { String(describing: DroppedInspector(change, Sample.world()).items) }

    #expect(change.shownFields(Sample.format) == "(resolved for this side)")
    #expect(effect.contains("until the resolution is sent"))

    change.overwritten = Overwritten(["total"], of: ["total": .double(15)], by: resolved.changes)
    #expect(change.shownFields(Sample.format) == "server's total=15.0")
    #expect(effect.contains("once it is sent"))
    change.overwritten = .deletion(by: [:])
    #expect(change.shownFields(Sample.format) == "server's deletion")
  }

  @Test(arguments: [[ConflictSide.local, .local], [.local, .server], [.server, .server]])
  func `the question about conflicts says until when it can be undone`(_ sides: [ConflictSide]) {
    let fields = Dictionary(uniqueKeysWithValues: zip(["a", "b"], sides))
    let text = CommandQuestion.resolve([1: "v"], take: .server, fields: fields, type: "Note").text

    #expect(text.hasSuffix("You can undo this until the record is edited again."))
    #expect(text.contains("values are overwritten") == sides.contains(.local))
  }

  @Test func `marks end with the undo, and stay if it failed`() {
    var session = Self.onUndo([dropped(2, of: 22), dropped(1, of: 21)])
    session.type(" ")
    session.send(.receipt(Receipt(.undo([22]), failure: CommandRefusal.readOnly)))
    #expect(session.text.contains("1 marked"))
    session.send(.receipt(Receipt(.undo([22]))))
    #expect(!session.text.contains("1 marked"))
  }

  private func dropped(_ id: Int64, of operation: Int64) -> DroppedRow { Self.dropped(id, of: operation) }

  // MARK: - Columns of records

  @Test func `chosen fields are shown in columns, in the order of the choice, and stay in the pane`() {
    var session = Session(Sample.world(Size(width: 160, height: 30)))
    session.type("44C")
    #expect(session.top is ColumnsScreen)
    // note, of, total
    session.type("G ")
    session.type("g ")
    session.type(.escape)
    let header = session.text.split(separator: "\n").first { $0.contains("NAME") && $0.contains("CHANGED") }
    #expect(header?.contains(/total +note/) == true && header?.contains("FIELDS") == false)
    session.type(.escape)
    #expect(session.app.overview.records.columns == ["total", "note"])

    session.type("Cu")
    #expect(session.app.overview.records.columns == [])
  }

  @Test func `a record with an unsent change shows its three sides, and its parent by that name`() {
    var detail = Sample.recordDetail
    detail.row?.record.fields[FieldChanges.parent] = .reference(WireReference(recordName: "shop-1"))
    var session = Session(
      Sample.world(Size(width: 120, height: 36)) {
        $0.data.record = ViewData.Read(Sample.records[0].record.key, detail)
      }
    )
    session.type("44")
    #expect(session.text.contains("UNSENT CHANGES") && session.text.contains("BASE"))
    #expect(session.text.contains(/parent +→ shop-1/) && !session.text.contains("___parent"))
  }

  // MARK: - Sync and Account

  @Test func `a day's graph sums the minutes that one number stands for`() {
    let world = Sample.world { world in
      world.data.throughput = [
        Throughput(at: Sample.now - 1439 * 60_000, sent: 5), Throughput(at: Sample.now - 1 * 60_000, sent: 2),
        Throughput(at: Sample.now, sent: 3),
      ]
    }
    let day = ThroughputChart(world, "sent", \.sent, minutes: 1440).numbers(upTo: 144)
    #expect(day.count == 144 && day.first == 5 && day.last == 5 && day.reduce(0, +) == 10)
    let hour = ThroughputChart(world, "sent", \.sent, minutes: 60).numbers(upTo: 200)
    #expect(hour.count == 180 && hour.suffix(6) == [2, 2, 2, 3, 3, 3] && hour.reduce(0, +) == 15)
    #expect(ThroughputChart(world, "sent", \.sent, minutes: 60).numbers(upTo: 0) == [])
  }

  @Test func `the account says for whom every unsent change waits`() {
    let world = Sample.world()
    let waits = AccountScreen.waits(Sample.status(), world)

    #expect(waits.map(\.who) == ["You", "You", "A retry", "The next sync"])
    #expect(waits.reduce(0) { $0 + $1.count } == world.status?.queue.total)
  }

  @Test(
    arguments: [
      (Sample.wait(.quota, "QUOTA_EXCEEDED"), nil, "the storage quota is full"),
      (nil, Sample.wait(.account, "ACCESS_DENIED"), "the server refuses this account"),
      (nil, nil, "no process is syncing"),
    ] as [(ScopeWait?, ScopeWait?, String)]
  )
  func `the account promises no sync to changes that a quota or a permission stops`(
    _ quota: ScopeWait?,
    _ account: ScopeWait?,
    _ reason: String
  ) throws {
    let world = Sample.world { world in
      world.data = Sample.data(Array(Sample.operations.suffix(1)))
      world.data.status?.syncingProcess?.isLive = false
      world.data.status?.quotaProblem = quota
      world.data.status?.accountProblem = account
    }
    let waits = AccountScreen.waits(try #require(world.status), world)

    #expect(waits.count == 1 && waits[0].how.hasPrefix(reason))
    #expect((waits[0].who == "The next sync") == (quota == nil && account == nil))
  }

  @Test(arguments: [80, 100, 120])
  func `a zone with deletions on hold names the keys that decide`(_ width: Int) {
    var session = Session(
      Sample.world(Size(width: width, height: 24)) { world in
        let held = HeldDeletions(zone: Sample.zone, version: "1", records: 1204, isWholeZone: false, since: .now)
        world.data.zones?.window.rows[0].held = held
      }
    )
    session.type("7")

    #expect(session.text.contains("X accepts, U restores"))
  }

  @Test func `retrying now says that it does not end a wait that the server asked for`() {
    var session = Session(
      Sample.world { world in
        world.data = Sample.data(Array(Sample.operations.suffix(1)))
        let until = Sample.now + 3_600_000
        world.data.status?.throttles = [
          Sample.wait(.database, "THROTTLED", until: until, isOwn: false)
        ]
      }
    )
    session.type("f")

    #expect(session.app.notice?.text == "The server asked to wait until 04:04:05; retry now does not end that")
    #expect(session.commands.isEmpty && session.text.contains("Throttled until 04:04:05"))
  }

  @Test func `while signed out the account's copy is the page to sign in at`() {
    var session = Session(
      Sample.world { world in
        world.data.status?.accountProblem = Sample.wait(.account, "AUTHENTICATION_REQUIRED")
        world.data.status?.signInURL = "https://example.org/sign-in"
      }
    )
    session.type("22y")

    #expect(session.effects.contains(.copy("https://example.org/sign-in")))
  }
}
