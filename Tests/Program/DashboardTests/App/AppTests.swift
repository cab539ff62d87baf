import CloudKit
import CloudService
import DisplaySupport
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// What keys do, as effects and frames of the app: no terminal, no store.
struct AppTests {
  /// An app with the world that it sees. Keys of one `type` were typed at once.
  struct Session {
    var app = App()
    var world: World
    var effects: [Effect] = []

    init(_ world: World = Sample.world()) {
      self.world = world
      send(.changed)
    }

    mutating func send(_ message: Message) { effects += app.update(message, world) }

    mutating func type(_ keys: Key...) { send(.keys(keys)) }

    mutating func type(_ text: String) { send(.keys(text.map(Key.character))) }

    /// The store shows other data from now on.
    mutating func show(_ data: ViewData) {
      world.data = data
      send(.changed)
    }

    var commands: [ServiceCommand] { effects.compactMap { if case .give(let command) = $0 { command } else { nil } } }
    var text: String { app.draw(world).grid.text }
    var top: any Screen { app.top }
  }

  private static func failed(_ count: Int) -> [QueueRow] {
    (1...count).map { id in
      Sample.operation(Int64(id), .failed, "order-\(id)") {
        $0.cause = .failed(.rejected(code: "BAD_REQUEST", message: "'total' must be INT64"))
        $0.version = "version-\(id)"
      }
    }
  }

  // MARK: - The registry

  @Test func `every command is in the registry once, with a key and a help`() {
    #expect(Set(Command.registry.map(\.id)).count == Command.registry.count)
    #expect(Command.registry.allSatisfy { !$0.keys.isEmpty && !$0.help.isEmpty && !$0.scopes.isEmpty })
  }

  @Test func `no key has two meanings on one screen`() {
    for scopes in KeyScope.ofScreens {
      let keys = Command.registry.filter { !$0.scopes.isDisjoint(with: scopes) }.flatMap(\.keys)
      let twice = Dictionary(grouping: keys) { $0 }.filter { $0.value.count > 1 }.keys
      #expect(twice.isEmpty, "\(scopes.rawValue): \(twice.map(\.name))")
    }
  }

  @Test func `what is pasted never runs a command`() {
    for scopes in KeyScope.ofScreens { #expect(KeyMap.standard.command(named: .paste("dRq\n"), in: scopes) == nil) }
    var session = Session()
    session.type(.paste("dyq"))
    #expect(session.effects.isEmpty)
  }

  // MARK: - Syncing

  @Test(arguments: [(nil, "Syncing here"), (4711, "PID 4711 is syncing")] as [(Int64?, String)])
  func `S says whether this dashboard syncs or waits for the process that does`(_ pid: Int64?, _ text: String) {
    var session = Session(
      Sample.world { world in
        world.data.status?.syncingProcess = pid.map { StoreStatus.SyncingProcess(pid: $0, host: "mail", isLive: true) }
      }
    )

    session.type("S")

    #expect(session.commands == [.keepSyncing])
    #expect(session.text.contains(text))
  }

  @Test func `a narrow list, too, shows when a change goes next, and no time that has passed`() {
    func rows(_ next: Int64?) -> [QueueRow] {
      [
        Sample.operation(1, .pending, "order-1") { row in
          (row.cause, row.nextAttemptAt) = (.waits(.database, code: "THROTTLED", until: next), next)
        }
      ]
    }
    func text(_ next: Int64?) -> String { Session(Sample.world { $0.data = Sample.data(rows(next)) }).text }
    let (later, before) = (Sample.now + 60_000, Sample.now - 61_000)
    let world = Sample.world()

    #expect(text(later).contains("NEXT") && text(later).contains(world.shortest(later)))
    #expect(!text(nil).contains("NEXT"))
    let due = Session(
      Sample.world {
        $0.data = Sample.data(rows(before) + Self.failed(1)); $0.size = Size(width: 120, height: 36)
      }
    )
    #expect(due.text.contains("now") && !due.text.contains("  \(world.time(before))  "))
  }

  @Test func `the verdict's key that follows at once waits for the rows of the key before it`() {
    var session = Session()
    session.type("!")
    session.type("e")
    #expect(!(session.top is EditScreen))
    var listing = QueueListing()
    listing.states = [.failed, .conflict]
    var data = Sample.data()
    data.queue = Sample.page(Sample.operations.filter { listing.states.contains($0.state) }, listing)
    session.show(data)
    #expect(session.top is EditScreen)
  }

  // MARK: - Retrying

  @Test func `r held down retries exactly the rows that are shown, each once`() {
    let rows = Self.failed(12)
    var session = Session(Sample.world { $0.data = Sample.data(rows) })
    for _ in 1...30 { session.type("r") }

    #expect(session.commands == rows.map { .perform(.retry, .ids([$0.id])) })
  }

  @Test func `r held down while rows leave the list retries each row once`() {
    var rows = Self.failed(12)
    let all = rows.map(\.id)
    var session = Session(Sample.world { $0.data = Sample.data(rows) })
    for round in 1...20 {
      session.type("r")
      // The store follows later, as it does.
      if round % 4 == 0 {
        rows.removeFirst(min(3, rows.count))
        session.show(Sample.data(rows))
      }
    }

    #expect(session.commands == all.map { .perform(.retry, .ids([$0])) })
  }

  @Test func `a row that is typed on before the filter's rows are read is one of those`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(12)) })
    session.type("/")
    session.type("total")
    session.type(.enter)
    session.type("rr")
    #expect(session.commands.isEmpty)

    var listing = QueueListing()
    listing.filter = .words(["total"])
    var data = session.world.data
    data.queue = Sample.page(Array(Self.failed(12).suffix(2)), listing)
    session.show(data)

    #expect(session.commands == [.perform(.retry, .ids([11])), .perform(.retry, .ids([12]))])
  }

  @Test func `a question about rows that were not shown yet is not answered by keys typed before`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(3)) })
    session.type("/total")
    session.type(.enter)
    session.type("dy")
    var listing = QueueListing()
    listing.filter = .words(["total"])
    var data = session.world.data
    data.queue = Sample.page(Self.failed(3), listing)
    session.show(data)

    #expect(session.commands.isEmpty && session.top is Question)
    session.type("y")
    #expect(session.commands.count == 1)
  }

  @Test func `R asks with the number, and Enter is the safe answer`() {
    var session = Session()
    session.type("R")
    #expect(session.text.contains("Retry 2 failed or retrying changes?"))
    session.type(.enter)
    #expect(session.commands.isEmpty && session.app.stack.count == 1)
    session.type("R")
    session.type("y")

    #expect(session.commands == [.perform(.retry, .listing(QueueListing(), except: []))])
  }

  @Test func `commands are given in the order of their keys, and before the end`() {
    var session = Session()
    session.type("Ryfpyq")

    #expect(
      session.commands == [.perform(.retry, .listing(QueueListing(), except: [])), .flush(), .pause([.everything])]
    )
    #expect(session.effects.last == .quit(.quit))
  }

  // MARK: - Marks

  @Test func `verbs act on the marked rows, with the versions that were shown`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(5)) })
    session.type("  jjd")
    #expect(session.text.contains("Discard the 2 marked changes?"))
    session.type("y")

    #expect(session.commands == [.perform(.discard, .ids([1, 2]), versions: [1: "version-1", 2: "version-2"])])
  }

  @Test func `a range is marked between two places`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(5)) })
    session.type("jvjjvr")

    #expect(session.commands == [.perform(.retry, .ids([2, 3, 4]))])
  }

  @Test func `all that match but one are marked by their filter, not by number`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(5)) })
    session.type("a ")
    #expect(session.text.contains("4 marked"))
    session.type("r")
    #expect(session.commands == [.perform(.retry, .listing(QueueListing(), except: [1]))])
    session.type("k *r")

    #expect(session.commands.last == .perform(.retry, .listing(QueueListing(), except: [1])))
  }

  @Test func `a question about more changes than it says is asked again`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(3)) })
    session.type("ad")
    #expect(session.text.contains("Discard the 3 marked changes?"))
    session.show(Sample.data(Self.failed(5)))
    session.type("y")
    #expect(session.commands.isEmpty && session.text.contains("Discard the 5 marked changes?"))
    session.type("y")
    #expect(session.commands == [.perform(.discard, .listing(QueueListing(), except: []))])
  }

  @Test func `marks are used up by a discard that was carried out`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(5)) })
    session.type("ady")
    var receipt = Receipt(session.commands[0])
    (receipt.result.changed, receipt.changed) = ([1, 2, 3, 4, 5], 5)
    session.send(.receipt(receipt))
    session.show(Sample.data([Sample.operation(9, .failed, "later")]))
    session.type("r")

    #expect(session.commands.last == .perform(.retry, .ids([9])))
  }

  @Test func `a retry that failed can be given again`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(1)) })
    session.type("rr")
    #expect(session.commands.count == 1)
    session.send(.receipt(Receipt(session.commands[0], failure: StoreError(.diskFull, "no room"))))
    session.type("r")

    #expect(session.commands.count == 2)
  }

  @Test func `a range ends at the row at which it began, though rows come above it`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(5)) })
    session.type("jv")
    let more = [Sample.operation(77, .failed, "before")] + Self.failed(5)
    session.show(Sample.data(more))
    session.type("jv")
    session.type("r")

    #expect(session.commands == [.perform(.retry, .ids([2, 3]))])
  }

  @Test func `Escape forgets keys that wait for a list`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(3)) })
    session.type("/x")
    session.type(.enter)
    session.type("jd")
    #expect(session.app.held.count == 2)
    session.type(.escape)

    #expect(session.app.held.isEmpty && !(session.top is Question))
  }

  @Test func `a filter with a mistake goes on being typed, so that no key acts on the list`() {
    var session = Session()
    session.type("/state = 'failed' and x")
    session.type(.enter)
    session.type("Ry")

    #expect(session.commands.isEmpty)
    #expect(session.app.overview.prompt(session.world) != nil)
  }

  @Test func `what was done to the queue in full holds for its pane`() {
    var session = Session(Sample.world { $0.data = Sample.data(Self.failed(3)) })
    session.type("3!")
    session.type(.escape, .escape)
    #expect(session.app.stack.count == 1)
    session.type("3")
    session.type(.right)
    session.type("q")

    #expect(session.app.overview.queue.listing.states == [.failed])
  }

  // MARK: - Conflicts

  private static func conflicts(_ count: Int) -> ViewData {
    let conflicts = (1...count).map { Sample.conflict(Int64($0)) }
    var data = Sample.data(conflicts.map { Sample.operation($0.id, .conflict, $0.key.name) })
    data.conflicts = Window(total: count, offset: 0, rows: conflicts)
    return data
  }

  @Test func `S and Enter typed quickly resolve 20 conflicts, and no key reaches another view`() {
    var session = Session(Sample.world { $0.data = Self.conflicts(20) })
    session.type("c")
    for _ in 1...25 { session.type(.character("S"), .enter) }

    let ids = session.commands.compactMap { if case .resolve(let id, _, _, _, _) = $0 { id } else { nil } }
    #expect(ids == Array(1...20))
    #expect(session.commands.count == 20 && session.effects.count == 20)
    #expect(session.top is ConflictsScreen)
    session.show(Sample.data([]))
    #expect(session.text.contains("Every conflict is resolved"))
  }

  @Test func `a side counts for as long as what it was taken of is shown`() {
    var session = Session(Sample.world { $0.data = Self.conflicts(1) })
    session.type("cS")
    var data = Self.conflicts(1)
    data.conflicts = Window(total: 1, offset: 0, rows: [Sample.conflict(1, theirs: "written meanwhile")])
    session.show(data)
    session.type(.enter)
    #expect(session.commands.isEmpty)
    session.type("S")
    session.type(.enter)

    #expect(session.commands.count == 1)
  }

  @Test func `what A would do to all alike is asked with their number`() {
    var data = Self.conflicts(20)
    var other = Sample.conflict(21)
    other.type = "Photo"
    data.conflicts?.rows.append(other)
    var session = Session(Sample.world { $0.data = data })
    session.type("cSA")
    #expect(session.text.contains("Resolve all 20 conflicts of type Order"))
    session.type("y")

    guard case .resolveAll(let versions, .server, let fields, _)? = session.commands.first else {
      return #expect(Bool(false), "nothing was resolved")
    }
    #expect(versions.keys.sorted() == Array(1...20))
    #expect(fields == ["note": .server, "total": .server])
  }

  @Test func `u undoes the last resolution made here`() {
    var session = Session(Sample.world { $0.data = Self.conflicts(2) })
    session.type("cu")
    #expect(session.commands.isEmpty)
    session.type("S")
    session.type(.enter)
    var receipt = Receipt(session.commands[0])
    receipt.result.changed = [1]
    session.send(.receipt(receipt))
    session.type("u")

    #expect(session.commands.last == .undo([1]))
  }

  @Test func `a conflict whose resolution failed is open again`() {
    var session = Session(Sample.world { $0.data = Self.conflicts(2) })
    session.type("cS")
    session.type(.enter)
    #expect(session.text.contains("1 of 1"))
    session.send(.receipt(Receipt(session.commands[0], failure: StoreError(.invalid, "it changed"))))

    #expect(session.text.contains("of 2"))
  }

  // MARK: - The verdict

  @Test func `the keys of the verdict win on the overview, whichever pane has the focus`() {
    for pane in ["1", "2", "3", "4"] {
      var session = Session()
      session.type(pane == "3" ? "" : pane)
      session.type("!")
      #expect(session.app.overview.focus == .queue)
      #expect(session.app.overview.queue.listing.states == [.failed, .conflict])
    }
    let held = HeldDeletions(zone: Sample.zone, version: "v", records: 150, isWholeZone: false, since: .now)
    var session = Session(
      Sample.world { world in
        world.data.status?.heldDeletions = [held]
        world.data.zones?.window.rows[0].held = held
      }
    )
    #expect(session.text.contains("7 decide"))
    session.type("7X")
    #expect(session.top is Question)
    session.type("y")
    #expect(session.commands == [.acceptDeletions(Sample.zone, version: "v")])
  }

  @Test func `y copies the page to sign in on while signed out`() {
    var session = Session(
      Sample.world { world in
        world.data.status?.accountProblem = Sample.wait(.account, "AUTHENTICATION_REQUIRED")
        world.data.status?.signInURL = "https://example.org/sign-in"
      }
    )
    #expect(session.text.contains("Signed out: sign in, set CLOUDKIT_WEB_AUTH_TOKEN"))
    session.type("y")

    #expect(session.effects == [.copy("https://example.org/sign-in")])
  }

  // MARK: - Screens

  @Test func `Enter goes from a record to its operation and back, and follows references`() {
    let world = Sample.world { world in
      world.data.operation = ViewData.Read(11, Sample.detail)
      world.data.record = ViewData.Read(RecordKey(Sample.zone, "order-1"), Sample.recordDetail)
    }
    var session = Session(world)
    session.type(.enter)
    #expect((session.top as? OperationScreen)?.id == 11)
    session.type(.enter)
    #expect((session.top as? RecordScreen)?.key.name == "order-1")
    session.type(.enter)
    #expect((session.top as? OperationScreen)?.id == 11)
    session.type(.escape, .end)
    while session.app.stack.count > 3 { session.type(.escape) }
    session.type(.escape, .escape, .escape)

    #expect(session.app.stack.count == 1)
  }

  @Test func `a number focuses a pane and once more opens it in full`() {
    var session = Session()
    session.type("4")
    #expect(session.app.overview.focus == .records && session.app.stack.count == 1)
    session.type("4")
    #expect(session.top is RecordsScreen)
    session.type("3")
    #expect(session.top is QueueScreen)
    session.type("q")
    #expect(session.app.stack.count == 1)
    session.type("z")

    #expect(session.top is RecordsScreen)
  }

  @Test func `the help runs what it lists, and names why something does nothing`() {
    var session = Session(Sample.world(Size(width: 120, height: 60)) { $0.data = Sample.data([]) })
    session.type("?")
    #expect(session.text.contains("Keys of the overview") && session.text.contains("nothing here can be undone"))
    let lines = session.text.split(separator: "\n")
    let place = lines.firstIndex { $0.contains(" f ") && $0.contains("Retry now everything") }
    session.world.data = Sample.data()
    for _ in 0..<(place ?? 2) - 2 { session.type("j") }
    session.type(.enter)
    #expect(session.commands == [.flush()])
    #expect(session.app.stack.count == 1)
    session.show(Sample.data([]))
    session.type("c")
    #expect(session.text.contains("There are no conflicts"))
    session.type(":")
    session.type("zones")
    #expect(session.text.contains("Open the zones"))
    session.type(.enter)

    #expect(session.top is ZonesScreen)
  }

  @Test(arguments: [(39, 24), (80, 11), (10, 3), (1, 1), (0, 0)])
  func `a terminal that is too small shows the verdict alone, and no key changes anything`(width: Int, height: Int) {
    var session = Session(Sample.world(Size(width: width, height: height)))
    session.type("Rypd")
    #expect(session.effects.isEmpty)
    if width > 9 { #expect(session.text.contains("1 failed")) }
    session.type("q")

    #expect(session.effects == [.quit(.quit)])
  }

  @Test func `in read-only mode nothing is changed`() {
    var session = Session(Sample.world { $0.isReadOnly = true })
    session.type("rRdpfsSP")
    session.type("y")

    #expect(session.commands.isEmpty)
    #expect(!session.app.hints(session.world).contains { $0.key == "r" })
  }

  @Test(
    arguments: [
      ("A sync is already running", { @Sendable world in world.syncing = .once }),
      (
        "A sync is already running",
        { @Sendable world in world.data.status?.progress = Progress(phase: .fetch, done: 1, total: 0) }
      ),
      (
        "Signed out; after a sign-in S syncs",
        { @Sendable world in
          world.data.status?.accountProblem = Sample.wait(.account, "AUTHENTICATION_REQUIRED")
        }
      ),
      (
        "There is no credential here",
        { @Sendable world in
          world.hasCredential = false
          world.data.status?.syncingProcess = nil
          world.data.status?.canSendLater = true
        }
      ),
      (
        "There is no credential here",
        { @Sendable world in
          world.credential = "apiToken"
          world.data.status?.isOwned = true
          world.data.status?.syncingProcess = nil
          world.data.status?.canSendLater = true
        }
      ),
    ] as [(String, @Sendable (inout World) -> Void)]
  )
  func `the sync key is off while a sync runs or while signed out, and says why`(
    reason: String,
    change: @Sendable (inout World) -> Void
  ) {
    var session = Session(Sample.world(Size(width: 80, height: 24), change))
    #expect(session.app.refusal(of: .of(.syncOnce), session.world) == reason)
    #expect(!session.app.hints(session.world).contains { $0.key == "s" })
    session.type("s")
    #expect(session.commands.isEmpty && session.text.contains(reason))
  }

  @Test func `the sync key syncs while nothing is sent or fetched`() {
    var session = Session()
    session.type("s")
    #expect(session.commands == [.sync])
    session = Session(Sample.world { $0.syncing = .always })
    session.type("s")
    #expect(session.commands == [.sync])
  }

  @Test func `suspending and redrawing work in every view`() {
    for keys in ["", "/", "R", "c", ":", "?"] {
      var session = Session()
      session.type(keys)
      session.type(.ctrl("z"), .ctrl("l"))
      #expect(session.effects == [.suspend(wholeGroup: true), .redraw], "\(keys)")
    }
  }

  @Test func `a store that cannot be read marks the screen as stale`() {
    var session = Session()
    session.world.readFailure = "The store is damaged"
    session.send(.changed)

    #expect(session.text.contains("unreadable") && session.text.contains("Stale: as read at 03:04:05"))
    let roles = (2..<23).flatMap { session.app.draw(session.world).grid.row($0).map(\.style.role) }
    #expect(Set(roles).isSubset(of: [.dim]))
  }

  // MARK: - Filters

  @Test func `a mistake in an expression is shown with its place while the list stays`() {
    var session = Session()
    session.type("/")
    session.type("stat = 'failed'")

    #expect(session.text.contains("Column 1: there is no column 'stat'; the columns are"))
    // What does not fit beside the text stands above it, whole.
    #expect(session.text.contains("attempts") && session.text.contains("message"))
    #expect(session.app.overview.queue.listing.filter == .words(["stat"]))
    #expect(session.text.contains("/stat "))
  }

  @Test func `an empty filter shows examples of what may be typed`() {
    for (key, example) in [("3", "state = 'failed'"), ("4", "count >= 5"), ("6", "kind = 'error'")] {
      var session = Session()
      session.type("\(key)\(key)/")
      #expect(session.text.contains(example))
    }
  }

  @Test func `records are ordered by each chosen column, up and down`() {
    var session = Session()
    session.type("44C")
    session.type(" ")
    session.type(.escape)
    guard let name = (session.top as? RecordsScreen)?.list.columns.first else {
      Issue.record("a column is chosen")
      return
    }
    var orders: [RecordListing.Order] = []
    for _ in 0..<4 {
      session.type("o")
      guard let listing = (session.top as? RecordsScreen)?.list.listing else { return #expect(Bool(false)) }
      orders.append(listing.order)
      session.world.data.records?.listing = listing
    }
    #expect(orders == [.name, .field(name, isDescending: false), .field(name, isDescending: true), .newest])
  }

  // MARK: - The operator's tasks

  @Test func `the operator's questions take as many keys as promised`() {
    // In sync, and why not: none.
    #expect(Session().text.contains("▲ 1 failed") && Session().text.contains("1 change failed"))
    // Why, and when: Enter.
    var session = Session(Sample.world { $0.data.operation = ViewData.Read(11, Sample.detail) })
    session.type(.enter)
    #expect(session.text.contains("ATTEMPTS") && session.text.contains("BAD_REQUEST"))
    // Evidence: y.
    session.type("y")
    #expect(session.effects == [.copyTicket(11)])
  }

  @Test func `12 failures of a kind are found with C, and retried with r y`() {
    let cause = QueueCause(
      state: .failed,
      code: "BAD_REQUEST",
      message: "invalid value of …",
      cause: .failed(.rejected(code: "BAD_REQUEST", message: "invalid value of t1")),
      count: 12,
      first: 1,
      oldestAt: Sample.now,
      nextAttemptAt: nil
    )
    var session = Session(Sample.world { $0.data.causes = [cause] })
    session.type("C")
    #expect(session.text.contains("12") && session.text.contains("invalid value of …"))
    session.type("r")
    #expect(session.top is Question)
    session.type("y")

    guard case .perform(.retry, .listing(let listing, except: []), _, _)? = session.commands.first else {
      return #expect(Bool(false), "nothing was retried")
    }
    guard case .expression(_, text: cause.filter) = listing.filter else {
      return #expect(Bool(false), "others are retried as well")
    }
  }

  @Test func `a zone is paused with 2 keys, and deletions on hold are decided with 3`() {
    let held = HeldDeletions(zone: Sample.zone, version: "1", records: 150, isWholeZone: false, since: .now)
    var session = Session(Sample.world { $0.data.zones?.window.rows[0].held = held })
    session.type("7p")
    #expect(session.commands == [.pause([.zone(Sample.zone)])])

    session = Session(Sample.world { $0.data.zones?.window.rows[0].held = held })
    session.type("7Xy")
    #expect(session.commands == [.acceptDeletions(Sample.zone, version: "1")])
  }

  // MARK: - Rest

  @Test func `nothing wakes an idle dashboard but midnight, the end of a notice, and a sync that grows old`() throws {
    var session = Session(Sample.world { $0.data = Sample.data([]) })
    let midnight = Sample.now + Sample.format.untilMidnight(Sample.now)
    #expect(session.app.nextWake(session.world) == midnight)
    let fresh = try #require(session.world.status?.freshUntil)
    #expect(App.nextReading(session.world) == fresh + 1)
    session.send(.said("Copied", isError: false))
    #expect(try #require(session.app.nextWake(session.world)) < midnight)
    session.world.now += 60_000
    session.send(.tick)

    #expect(session.app.nextWake(session.world) == midnight)
  }
}
