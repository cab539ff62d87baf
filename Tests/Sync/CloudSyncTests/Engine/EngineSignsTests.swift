import Facts
import TestSupport
import Testing

@testable import CloudSync

/// Whether the process that holds the lock does its work, from what others can see.
struct EngineSignsTests {
  private static func rest(wakesAt: Int64?) -> EngineRest {
    EngineRest(number: 1, wakesAt: wakesAt, at: 1_000, pollInterval: 30_000)
  }

  /// Signs, a time, and since when the process has not moved at that time.
  private static let table: [(name: String, signs: EngineSigns, now: Int64, stalledSince: Int64?)] = [
    ("busy, renewed just now", EngineSigns(leaseEndsAt: 105_000), 100_000, nil),
    ("busy, renewed 8 s ago", EngineSigns(leaseEndsAt: 105_000), 108_000, nil),
    ("busy, silent for longer", EngineSigns(leaseEndsAt: 105_000), 108_001, 100_000),
    ("busy, the clock was moved back", EngineSigns(leaseEndsAt: 900_000), 100_000, nil),
    ("idle, nothing to do", EngineSigns(rest: rest(wakesAt: nil)), 900_000, nil),
    ("idle until later", EngineSigns(rest: rest(wakesAt: 100_000)), 99_000, nil),
    ("idle, its poll is a little late", EngineSigns(rest: rest(wakesAt: 100_000)), 108_000, nil),
    ("idle, its poll did not happen", EngineSigns(rest: rest(wakesAt: 100_000)), 108_001, 1_000),
    ("idle, a change was just accepted", EngineSigns(rest: rest(wakesAt: nil), workSince: 100_000), 100_100, nil),
    ("idle, a change is not sent", EngineSigns(rest: rest(wakesAt: nil), workSince: 100_000), 108_001, 1_000),
    (
      "idle, a requested sync does not start", EngineSigns(rest: rest(wakesAt: 900_000), requestedAt: 100_000), 108_001,
      1_000
    ),
    ("idle, stopped", EngineSigns(rest: rest(wakesAt: 100_000), isStopped: true), 99_000, 1_000),
    ("busy, stopped", EngineSigns(leaseEndsAt: 105_000, isStopped: true), 100_100, 100_000),
    ("stopped, the clock was moved back", EngineSigns(leaseEndsAt: 900_000, isStopped: true), 100_000, 100_000),
    ("idle, the clock was set ahead", signs(rest: rest(wakesAt: 100_000), shift: 7_200_000), 7_299_000, nil),
    (
      "idle, the clock was set ahead, its poll did not happen", signs(rest: rest(wakesAt: 100_000), shift: 7_200_000),
      7_308_001, 7_201_000
    ),
    ("busy, the clock was set ahead", signs(leaseEndsAt: 105_000, shift: 7_200_000), 7_308_000, nil),
    ("busy, the clock was set ahead, silent", signs(leaseEndsAt: 105_000, shift: 7_200_000), 7_308_001, 7_300_000),
    ("idle, the clock was set back", signs(rest: rest(wakesAt: 100_000), shift: -50_000), 58_001, -49_000),
  ]

  private static func signs(leaseEndsAt: Int64? = nil, rest: EngineRest? = nil, shift: Int64) -> EngineSigns {
    let holder = LeaseHolder(fencingToken: 1, pid: 1, host: "h", expiresAt: leaseEndsAt)
    return EngineSigns(of: holder, rest, clockShift: shift, workSince: nil, requestedAt: nil, isStopped: false)
  }

  @Test(arguments: table.indices)
  func `a process that leaves its work undone is stalled`(index: Int) {
    let row = Self.table[index]

    #expect(row.signs.judgement(at: row.now).stalledSince == row.stalledSince, "\(row.name)")
  }

  @Test(arguments: table.indices)
  func `a process that works is looked at again exactly when it would be late`(index: Int) throws {
    let row = Self.table[index]
    let judgement = row.signs.judgement(at: row.now)
    guard let again = judgement.looksAgainAt, !row.signs.isStopped, row.name != "busy, the clock was moved back" else {
      return
    }

    #expect(again > row.now)
    #expect(row.signs.judgement(at: again - 1).stalledSince == nil)
    #expect(row.signs.judgement(at: again).stalledSince != nil)
  }

  @Test(
    arguments: [
      ("busy", 105_000, true, false), ("busy until now", 100_000, true, false), ("busy, silent", 99_999, false, true),
      ("busy, the clock was moved back a little", 110_000, true, false),
      ("busy, the clock was moved back", 110_001, false, true), ("idle", nil, false, false),
      ("idle, it has not answered", nil, true, true),
    ] as [(String, Int64?, Bool, Bool)]
  )
  func `a lease may be taken from a busy process that is silent and from an idle one that has not answered`(
    name: String,
    leaseEndsAt: Int64?,
    hasNotAnswered: Bool,
    isSilent: Bool
  ) {
    let signs = EngineSigns(leaseEndsAt: leaseEndsAt)

    #expect(signs.isSilent(at: 100_000, hasNotAnswered: hasNotAnswered) == isSilent)
  }

  @Test func `a stopped process is looked at again, because it may go on without writing`() {
    #expect(EngineSigns(isStopped: true).judgement(at: 1_000).looksAgainAt == 6_000)
  }

  @Test(arguments: [
    EngineRest(number: 3, at: 7), EngineRest(number: 3, wakesAt: 5, at: 7),
    EngineRest(number: 3, wakesAt: nil, at: 7, pollInterval: 9),
    EngineRest(number: 3, wakesAt: 5, at: 7, pollInterval: 9),
  ])
  func `an idle state is read as it was stored`(rest: EngineRest) throws {
    let storage = try SQLiteStorage(inMemory: "store")
    let read = try storage.write { ledger in
      try ledger.put(LeaseHolder(fencingToken: 1, pid: 1, host: "h", expiresAt: nil))
      #expect(try ledger.rest() == nil)
      try ledger.put(rest)
      return try ledger.rest()
    }
    #expect(read == rest)
  }
}

/// What the engine reports through the lock file, which needs no space on the disk.
struct ReportedTroubleTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var path: String { folder.path("store.sqlite") }

  @Test func `other processes see the trouble that an engine reports until it is over`() throws {
    _ = try SQLiteStorage(path: path)
    let lock = StoreLock(beside: path)
    lock.take()

    for trouble in StorageTrouble.allCases {
      lock.report(trouble)
      #expect(StoreLock.trouble(beside: path) == trouble)
    }
    lock.report(nil)

    #expect(StoreLock.trouble(beside: path) == nil)
    #expect(!StoreLock(beside: path).take())
  }

  @Test func `a process that cannot open a store reports that it waits for it, and several may`() throws {
    let store = try SyncStore(SQLiteStorage(path: path), scope: World().scope)
    let error = StoreError(.cannotOpen, "read-only", trouble: .readOnly)

    var waits = [SyncStore.reportWait(forStoreAt: path, error), SyncStore.reportWait(forStoreAt: path, error)]

    #expect(SyncStore.reportWait(forStoreAt: path, StoreError(.damaged, "no")) == nil)
    waits.removeFirst()
    #expect(try store.status().verdict(hasCredential: true) == .storeFull(.readOnly, isAwaited: true))
    waits = []
    #expect(try store.status().storageTrouble == nil)
  }

  @Test(
    arguments: [
      (UInt64(1_000_000), false, nil), (4_096, false, .full), (1_000_000, true, .readOnly), (0, true, .readOnly),
    ] as [(UInt64, Bool, StorageTrouble?)]
  )
  func `a file system that is read-only or full is a trouble`(free: UInt64, isReadOnly: Bool, trouble: StorageTrouble?)
  {
    #expect(FileSystem(freeBytes: free, isReadOnly: isReadOnly).trouble == trouble)
  }

  @Test func `a trouble ends with the process that reported it`() throws {
    _ = try SQLiteStorage(path: path)
    var lock: StoreLock? = StoreLock(beside: path)
    lock?.report(.full)

    lock = nil

    #expect(StoreLock.trouble(beside: path) == nil)
  }
}
