import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import Testing

@testable import CloudSync

/// The verdicts of the last days, as syncing processes noted them.
struct VerdictHistoryTests {
  private static func row(_ at: Int64, _ until: Int64, _ name: VerdictState = .inSync, fencingToken: Int64 = 1)
    -> StoredVerdict
  {
    StoredVerdict(name: name.rawValue, urgency: .fine, at: at, until: until, fencingToken: fencingToken)
  }

  private static func span(_ state: VerdictState?, _ from: Int64, _ until: Int64) -> VerdictSpan {
    VerdictSpan(state, state.map { _ in .fine }, from: from, until: until)
  }

  private static let offline = row(20, 25, .offline)

  @Test(
    arguments: [
      ([], true, []),
      // One process that still syncs, and one that does not.
      ([row(10, 15)], true, [span(.inSync, 10, 100)]),
      ([row(10, 15)], false, [span(.inSync, 10, 15), span(nil, 15, 100)]),
      // A verdict that was proven until the next one, and one that was not.
      ([row(10, 20), offline], true, [span(.inSync, 10, 20), span(.offline, 20, 100)]),
      ([row(10, 15), offline], true, [span(.inSync, 10, 15), span(nil, 15, 20), span(.offline, 20, 100)]),
      // The same verdict before and after a time without a proof.
      (
        [row(10, 15), row(20, 25)], false,
        [span(.inSync, 10, 15), span(nil, 15, 20), span(.inSync, 20, 25), span(nil, 25, 100)]
      ),
      // Two processes.
      (
        [row(10, 15), row(20, 25, fencingToken: 2)], true,
        [span(.inSync, 10, 15), span(nil, 15, 20), span(.inSync, 20, 100)]
      ),
      // The clock was moved back.
      (
        [row(10, 50), row(20, 60, .offline, fencingToken: 2)], false,
        [span(.inSync, 10, 50), span(.offline, 50, 60), span(nil, 60, 100)]
      ),
      // What began before is cut, and what ended before is left out.
      ([row(-20, -10), row(-10, 15)], false, [span(.inSync, 0, 15), span(nil, 15, 100)]),
      ([row(-20, -15)], false, [span(nil, 0, 100)]), ([row(110, 115)], true, []),
    ] as [([StoredVerdict], Bool, [VerdictSpan])]
  )
  func `a verdict ends where its proof ends`(_ rows: [StoredVerdict], _ isProven: Bool, _ spans: [VerdictSpan]) {
    #expect(VerdictHistory.spans(rows, from: 0, to: 100, isProven: isProven) == spans)
  }

  private static let holder = LeaseHolder(fencingToken: 1, pid: 1, host: "h", expiresAt: nil, program: nil, since: 10)

  private static let notes: [(name: String, verdict: Verdict, last: StoredVerdict?, aliveSince: Int64, note: Note)] = [
    ("the first", .inSync(at: 1), nil, 10, Note(extendsLast: false, row: row(10, 40))),
    ("the same again", .inSync(at: 2), row(10, 30), 10, Note(extendsLast: true)),
    ("another", .fetching, row(10, 30), 10, Note(extendsLast: true, row: row(40, 40, .fetching))),
    ("the same after a break", .inSync(at: 1), row(10, 30), 35, Note(extendsLast: false, row: row(35, 40))),
    ("another after a break", .fetching, row(10, 30), 35, Note(extendsLast: false, row: row(35, 40, .fetching))),
    (
      "the same of another process", .inSync(at: 1), row(10, 38, fencingToken: 2), 39,
      Note(extendsLast: false, row: row(39, 40))
    ),
    (
      "the same of another process at once", .inSync(at: 1), row(10, 39, fencingToken: 2), 39,
      Note(extendsLast: false, row: row(39, 40))
    ),
  ]

  private typealias Note = VerdictHistory.Note

  @Test(arguments: notes.indices)
  func `a verdict goes on only where its process is proven to have lived`(index: Int) {
    let (name, verdict, last, aliveSince, note) = Self.notes[index]
    #expect(
      VerdictHistory.note(verdict, after: last, of: Self.holder, aliveSince: aliveSince, now: 40) == note,
      "\(name)"
    )
  }

  @Test func `a change of the urgency is a new verdict`() {
    let note = VerdictHistory.note(
      .inSync(at: 1, dropped: 2),
      after: Self.row(10, 15),
      of: Self.holder,
      aliveSince: 10,
      now: 40
    )
    #expect(note.row?.urgency == .look && note.extendsLast)
  }

  // MARK: - In a store

  private func history(_ store: SyncStore) throws -> [VerdictSpan] {
    try store.view { try $0.verdictHistory(from: 0, to: .max) }
  }

  @Test func `a killed process is shown until its last sign of life, and nothing until the next one`() throws {
    let world = try World()
    let store = try world.open("store")
    let began = world.clock.now
    let killed = try #require(try Lease.acquire(store))
    try store.noteSyncing(.started, killed)
    world.clock.advance(2)
    try killed.renew(store, notesVerdict: true)
    // As the kernel does when the process ends.
    killed.letGo()
    world.clock.advance(3600)
    // The last sign of life that noted a verdict.
    let never = VerdictSpan(.neverSynced, .waits, from: began, until: began + 2_000)
    #expect(try history(store) == [never, Self.span(nil, never.until, world.clock.now)])

    let next = try #require(try Lease.acquire(store))
    try store.noteSyncing(.started, next)
    let started = world.clock.now
    world.clock.advance(1)
    let again = VerdictSpan(.neverSynced, .waits, from: started, until: world.clock.now)
    #expect(try history(store) == [never, Self.span(nil, never.until, started), again])
  }

  @Test func `a sync that takes long notes what held before its end`() throws {
    let world = try World()
    let store = try world.open("store")
    try store.accept(world.put("a", [:]))
    let began = world.clock.now
    let lease = try #require(try Lease.acquire(store))
    world.clock.advance(4)
    try lease.renew(store)
    #expect(try history(store) == [])
    for _ in 1...10 {
      world.clock.advance(4)
      try lease.renew(store, notesVerdict: true)
    }
    world.clock.advance(4)

    #expect(try history(store) == [VerdictSpan(.sending, .fine, from: began, until: world.clock.now)])
  }

  @Test func `each sync notes its verdict, and looking notes nothing`() async throws {
    let world = try World()
    let device = try world.device("store")
    try await device.sync()
    world.clock.advance(60)
    world.emulator.isOffline = true
    try device.store.accept(world.put("a", [:]))
    try await device.sync()
    world.clock.advance(60)
    world.emulator.isOffline = false
    try await device.sync()

    let names = ["inSync", "offline", "inSync"]
    #expect(try device.store.read { try $0.verdicts(after: 0).map(\.name) } == names)
    // The clock stands still while they sync.
    #expect(try history(device.store).map(\.state) == [nil, nil])
    _ = try device.store.status()
    #expect(try device.store.read { try $0.verdicts(after: 0).map(\.name) } == names)
  }

  @Test func `verdicts are kept by age and number, and the one that began before the oldest time stays`() throws {
    let store = try World().open("store")
    let now = 2 * VerdictHistory.age
    try store.write { ledger in
      for at in [now - VerdictHistory.age - 2, now - VerdictHistory.age - 1, now - VerdictHistory.age, now] {
        try StoredVerdict(name: "inSync", urgency: .fine, at: at, until: at, fencingToken: 1).insert(ledger.database)
      }
      #expect(try !Retention.apply(now: now, ledger))
      #expect(try ledger.verdicts(after: 0).map(\.at) == [now - VerdictHistory.age - 1, now - VerdictHistory.age, now])
      #expect(try ledger.removeVerdicts(before: now + 1, keeping: 9, limit: 9) == 2)
      #expect(try ledger.verdicts(after: 0).map(\.at) == [now])
      #expect(try ledger.removeVerdicts(before: .min, keeping: 1, limit: 9) == 0)
    }
  }

  @Test func `a verdict that cannot be read is left out`() throws {
    let store = try World().open("store")
    try store.write { ledger in
      try StoredVerdict(name: "inSync", urgency: .fine, at: 1, until: 2, fencingToken: 1).insert(ledger.database)
      try ledger.run("INSERT INTO verdicts(at, until, name, urgency, fencingToken) VALUES (2, 3, 'failed', '?', 1)")

      #expect(try ledger.verdicts(after: 0).map(\.name) == ["inSync"])
      #expect(try ledger.lastVerdict() == nil)
    }
  }
}
