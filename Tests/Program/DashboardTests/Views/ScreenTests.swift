import CloudKit
import CloudService
import DisplaySupport
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Screens as a user sees them, in files that a reviewer can read.
///
/// Of the overview there are six whole frames: of a store in use at four sizes, which show other panes and columns; of one
/// that is not read yet, which has no lists; and of one that became unreadable, whose panes are dimmed.
@Suite(.serialized) struct ScreenTests {
  private static let sizes = [Size(width: 80, height: 24), Size(width: 120, height: 36)]
  private static let allSizes = [Size(width: 40, height: 12), Size(width: 200, height: 60)] + sizes

  private func draw(_ world: World, keys: String = "") -> Grid {
    var app = App()
    _ = app.update(.changed, world)
    for key in keys { _ = app.update(.keys([key == "\n" ? .enter : .character(key)]), world) }
    return app.draw(world).grid
  }

  /// A status for which each verdict holds.
  private static let verdicts: [(name: String, change: @Sendable (inout World) -> Void)] = [
    ("unreadable", { $0.readFailure = "The store is damaged; move it away and sync again" }),
    ("storeFull", { $0.data.status?.storageTrouble = .full }),
    ("wrongAccount", { $0.data.status?.isRefused = true }),
    (
      "signedOut",
      {
        $0.data.status?.accountProblem = Sample.wait(.account, "AUTHENTICATION_REQUIRED")
        $0.data.status?.signInURL = "https://idmsa.example.org/sign-in"
      }
    ),
    (
      "decisionNeeded",
      {
        $0.data.status?.heldDeletions = [
          HeldDeletions(zone: Sample.zone, version: "v", records: 150, isWholeZone: false, since: .distantPast)
        ]
      }
    ),
    ("blocked", { $0.data.status?.quotaProblem = Sample.wait(.quota, "QUOTA_EXCEEDED") }),
    ("failed", { _ in }),
    (
      "conflicts",
      {
        $0.data = Sample.data([Sample.operation(13, .conflict, "order-3") { $0.cause = .conflict(.fields(["note"])) }])
      }
    ),
    (
      "paused",
      {
        $0.data = Sample.data(Array(Sample.operations.suffix(2)))
        $0.data.status?.pauses = [Pause(rule: .everything, at: Sample.now - 600_000, actor: "root")]
      }
    ),
    (
      "notSyncing",
      {
        $0.data = Sample.data(Array(Sample.operations.suffix(2)))
        $0.data.status?.syncingProcess?.isLive = false
        $0.data.status?.canSendLater = true
      }
    ),
    (
      "offline",
      {
        $0.data = Sample.data(Array(Sample.operations.suffix(2)))
        let since = Sample.now - 300_000
        $0.data.status?.networkProblem = Sample.wait(.network, "NETWORK_ERROR", "connection refused", since: since)
      }
    ),
    (
      "sending",
      {
        $0.data = Sample.data(Array(Sample.operations.suffix(2)))
        $0.data.status?.sendableSince = 1
        $0.data.status?.progress = Progress(phase: .send, done: 412, total: 1204, perSecond: 210)
      }
    ),
    (
      "throttled",
      {
        $0.data = Sample.data(Array(Sample.operations.suffix(2)))
        $0.data.status?.throttles = [
          Sample.wait(.database, "THROTTLED", until: Sample.now + 65_000, isOwn: false)
        ]
      }
    ),
    (
      "retrying",
      {
        $0.data = Sample.data([Sample.operations[1]])
        $0.data.status?.nextRetryAt = Sample.now + 12_000
      }
    ),
    (
      "waitingForApp",
      {
        $0.data = Sample.data([Sample.operation(1, .pending, "order-1") { $0.cause = .waitsForApp }])
        $0.data.status?.savesForApp = 1
      }
    ),
    (
      "partlyPaused",
      { $0.data = Sample.data([Sample.operation(1, .paused, "order-1") { $0.cause = .paused(by: "root") }]) }
    ),
    ("inSync", { $0.data = Sample.data([]) }),
    (
      "fetching",
      {
        $0.data = Sample.data([])
        $0.data.status?.reachedEnd = false
        $0.data.status?.activity = .fetching
      }
    ),
    (
      "neverSynced",
      {
        $0.data = Sample.data([])
        $0.data.status?.lastSuccessAt = nil
      }
    ),
    (
      "outOfDate",
      {
        $0.data = Sample.data([])
        $0.data.status?.reachedEnd = false
      }
    ),
  ]

  @Test func `the overview is right for every verdict`() throws {
    #expect(Self.verdicts.map(\.name).sorted() == Verdict.names.sorted())
    var table = FrameTable()
    for size in Self.sizes {
      for (name, change) in Self.verdicts {
        let world = Sample.world(size, change)
        #expect(world.verdict?.name == name)
        table.add("\(name) \(size.width)x\(size.height)", draw(world))
      }
    }
    try expectTable(table, "overview-verdicts")
  }

  @Test func `the panes of a store that became unreadable are dimmed`() throws {
    let world = Sample.world { $0.readFailure = "The store is damaged; move it away and sync again" }
    try expectScreen(draw(world), "overview-unreadable-80x24")
  }

  @Test func `the overview before the store is read claims nothing`() throws {
    var table = FrameTable()
    for size in Self.allSizes {
      let grid = draw(Sample.world(size) { $0.data = ViewData() })
      #expect(!grid.text.contains("Nothing") && !grid.text.contains("No "))
      table.add("\(size.width)x\(size.height)", grid)
    }
    try expectTable(table, "overview-loading")
    try expectScreen(draw(Sample.world { $0.data = ViewData() }), "overview-loading-80x24")
  }

  @Test func `views say that they are loading, and claim nothing`() throws {
    var table = FrameTable()
    for (name, keys) in [
      ("queue", "33"), ("records", "44"), ("conflicts", "c"), ("zones", "7"), ("causes", "C"), ("operation", "\n"),
      ("events", "6"), ("undo", "8"),
    ] {
      var app = App()
      var world = Sample.world()
      _ = app.update(.changed, world)
      for key in keys { _ = app.update(.keys([key == "\n" ? .enter : .character(key)]), world) }
      var unread = ViewData()
      unread.status = world.status
      world.data = unread
      _ = app.update(.changed, world)
      let grid = app.draw(world).grid
      #expect(grid.text.contains("loading…"), "\(name)")
      table.add(name, grid)
    }
    try expectTable(table, "views-loading")
  }

  @Test func `every view of a store in use, at four sizes`() throws {
    let lists: [(String, String)] = [
      ("overview", ""), ("queue", "3"), ("causes", "C"), ("records", "44"), ("sync", "11"), ("conflicts", "c"),
      ("zones", "7"), ("events", "6"), ("undo", "8"),
    ]
    for size in Self.allSizes {
      for (name, keys) in lists {
        try expectScreen(draw(Busy.world(size), keys: keys), "\(name)-busy-\(size.width)x\(size.height)")
      }
      for (name, keys) in [("account", "22"), ("pauses", "9"), ("help", "?")] {
        let world = Sample.world(size) { $0.data.status?.pauses = Sample.pauses }
        try expectScreen(draw(world, keys: keys), "\(name)-full-\(size.width)x\(size.height)")
      }
    }
    let conditions = draw(Sample.world { $0.data.zones = Sample.zones(Sample.zoneRows) }, keys: "7")
    try expectScreen(conditions, "zones-conditions-80x24")
  }

  @Test func `every view of an empty store`() throws {
    let views = [
      ("queue", "33"), ("records", "44"), ("sync", "11"), ("account", "22"), ("conflicts", "c"), ("zones", "7"),
      ("events", "6"), ("undo", "8"), ("pauses", "9"), ("help", "?"),
    ]
    var table = FrameTable()
    for (name, keys) in views {
      let world = Sample.world { world in
        world.data = Sample.data([])
        world.data.records = ListPage(RecordListing(), .empty)
        world.data.conflicts = .empty
        world.data.zones = Sample.zones([])
        world.data.events = Sample.events([])
        world.data.dropped = Sample.droppedPage([])
      }
      table.add(name, draw(world, keys: keys))
    }
    try expectTable(table, "views-empty")
  }

  @Test func `the details of an operation and a record`() throws {
    let world = Sample.world { world in
      world.data.operation = ViewData.Read(11, Sample.detail)
      world.data.record = ViewData.Read(RecordKey(Sample.zone, "order-1"), Sample.recordDetail)
    }
    try expectScreen(draw(world, keys: "\n"), "operation-80x24")
    try expectScreen(draw(world, keys: "\n\n"), "record-80x24")
  }

  @Test func `every screen draws at any size`() {
    for (width, height) in [(0, 0), (1, 1), (1, 50), (300, 1), (40, 12), (59, 17), (60, 18), (300, 100)] {
      for keys in ["", "1", "2", "4", "33", "44", "11", "c", "7", "9", "?", ":", "d", "R", "C", "\n", "/a", "!"] {
        let size = Size(width: width, height: height)
        var world = Sample.world { $0.data.operation = ViewData.Read(11, Sample.detail) }
        var app = App()
        _ = app.update(.changed, world)
        for key in keys { _ = app.update(.keys([key == "\n" ? .enter : .character(key)]), world) }
        // Opened where there is room, and then made smaller.
        world.size = size
        _ = app.update(.resized, world)
        #expect(app.draw(world).grid.size == size)
      }
    }
  }

  @Test func `no control character of a record's name reaches the screen`() {
    for keys in ["", "33", "44", "c", "7"] {
      let grid = draw(Sample.world(Size(width: 120, height: 40)), keys: keys)
      for y in 0..<grid.size.height {
        for cell in grid.row(y) {
          for scalar in cell.character.unicodeScalars {
            #expect(scalar.value >= 0x20 && scalar.value != 0x202E && !(0x7F...0x9F).contains(scalar.value))
          }
        }
      }
    }
  }

  @Test func `production is marked`() {
    let grid = draw(Sample.world { $0.scope.environment = "production" })
    #expect(grid.text.contains("PRODUCTION"))
  }
}

struct FormatTests {
  @Test func `a time has its date when that is not today's`() {
    #expect(Sample.format.time(Sample.now, now: Sample.now) == "03:04:05")
    #expect(Sample.format.time(Sample.now - 86_400_000, now: Sample.now) == "2026-01-01 03:04:05")
    #expect(Sample.format.time(-1, now: Sample.now) == "1970-01-01 00:00:00")
    #expect(Sample.format.time(nil, now: Sample.now) == "never")
    #expect(Sample.format.clock(Sample.now, now: Sample.now) == "03:04")
    #expect(Sample.format.clock(Sample.now - 86_400_000, now: Sample.now) == "Jan 01 03:04")
  }

  @Test(arguments: [(0.2, "1 s"), (59, "59 s"), (61, "1 min"), (7200, "2 h"), (200_000, "2 d")])
  func `a duration has one unit`(seconds: Double, text: String) { #expect(Format.duration(seconds) == text) }

  @Test(arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB")])
  func `a size has one unit`(bytes: Int, text: String) { #expect(Format.bytes(bytes) == text) }
}
