import CloudKit
import Dispatch
import Facts
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// Transactions, drivers and watchers, in a file and in memory.
@Suite(.serialized) struct StorageContractTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ kind: StorageKind) throws -> SQLiteStorage { try TestStorages(kind).open("store", in: folder) }

  /// All rows of all tables.
  private static func dump(_ storage: SQLiteStorage) throws -> [String: [Row]] {
    try storage.writer.read { database in
      let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
      return try tables.reduce(into: [:]) { $0[$1] = try Row.fetchAll(database, sql: "SELECT * FROM \($1)") }
    }
  }

  @Test(arguments: StorageKind.allCases)
  func `a transaction that throws leaves nothing behind, numbers included`(kind: StorageKind) throws {
    let storage = try open(kind)
    try storage.write { ledger in
      _ = try ledger.insert(.save("a"))
      try ledger.put(.note("a"), epoch: 1)
    }
    let before = try Self.dump(storage)

    let refusal = StoreError(.invalid, "no")
    #expect(throws: refusal) {
      try storage.write { ledger in
        let id = try ledger.insert(.save("b", referringTo: "a"))
        #expect(id == 2)
        try ledger.markInFlight([1])
        try ledger.put(.note("a", tag: "2"), epoch: 2)
        try ledger.put(.note("c", type: "Task"), epoch: 2)
        try ledger.removeRecord(RecordKey(.one, "a"))
        try ledger.setState(.one, .ready)
        try ledger.put(PolledQuery(zone: .one, type: "Note"))
        try ledger.put(ScopeWait(scope: .quota, until: 500, seconds: 1, code: "C", message: "m", isOwn: true, since: 0))
        try ledger.setValue(.identity, "v")
        try ledger.put(LeaseHolder(fencingToken: 1, pid: 2, host: "h", expiresAt: 3))
        try ledger.changeActivity { $0.lastEnqueueAt = 7 }
        #expect(try ledger.insertRequest(requestedAt: 1, types: []) == 1)
        try ledger.add(Attempt(number: 1, at: 1, seconds: 1, code: nil, message: nil, response: nil), of: 1)
        try ledger.end(.save("a", id: 1), .merged, .serverKept(), now: 1)
        try EventLog.add(.signedOut, now: 1, ledger)
        _ = try ledger.put(AuditedCommand(at: 1, actor: "ana", command: .seeDropped, count: 0))
        throw refusal
      }
    }

    #expect(try Self.dump(storage) == before)
    let numbers = try storage.write { ledger in
      [
        try ledger.insert(.save("b")), try ledger.insertRequest(requestedAt: 1, types: []),
        try ledger.add(.signedOut, at: 1, operation: nil, zone: nil, actor: nil),
      ]
    }
    #expect(numbers == [2, 1, 1])
  }

  @Test(arguments: StorageKind.allCases)
  func `reading cannot write`(kind: StorageKind) throws {
    let storage = try open(kind)

    #expect(throws: StoreError.self) { try storage.read { try $0.setValue(.identity, "v") } }

    #expect(try storage.read { try $0.value(.identity) } == nil)
    try storage.write { try $0.setValue(.identity, "w") }
    #expect(try storage.read { try $0.value(.identity) } == "w")
  }

  @Test(arguments: StorageKind.allCases)
  func `writers come one after the other`(kind: StorageKind) async throws {
    let storage = try open(kind)

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try storage.write { ledger in
            try ledger.setValue(.turn, (ledger.value(.turn) ?? 0) + 1)
          }
        }
      }
      try await group.waitForAll()
    }

    #expect(try storage.read { try $0.value(.turn) } == 40)
  }

  @Test(arguments: StorageKind.allCases)
  func `one driver at a time, and whoever lets go of its lock drives no more`(kind: StorageKind) throws {
    let storages = TestStorages(kind)
    let (mine, other) = (try storages.open("store", in: folder), try storages.open("store", in: folder))

    do {
      let (first, second) = (mine.engineLock(), other.engineLock())
      #expect(first.take())
      #expect(first.take())
      #expect(!second.take())
      first.release()
      #expect(second.take())
      first.release()
      #expect(!first.take())
    }

    #expect(mine.engineLock().take())
  }

  @Test(arguments: StorageKind.allCases)
  func `a fencing token is seen until its holder releases the lock or ends`(kind: StorageKind) throws {
    let storages = TestStorages(kind)
    let (mine, other) = (try storages.open("store", in: folder), try storages.open("store", in: folder))
    #expect(other.holder(among: 1...9) == nil)

    do {
      let (first, second) = (mine.engineLock(), other.engineLock())
      first.take()
      first.show(3)
      #expect(other.holder(among: 3...3) == 3 && other.holder(among: 1...9) == 3)
      #expect(other.holder(among: 1...2) == nil && other.holder(among: 4...9) == nil)
      // Another one took the lease over, without the lock.
      second.show(4)
      #expect(mine.holder(among: 4...4) == 4 && mine.holder(among: 1...3) == 3)
      second.release()
      #expect(mine.holder(among: 4...4) == nil && mine.holder(among: 1...9) == 3)
      // One lock shows one token.
      first.show(5)
      #expect(other.holder(among: 3...3) == nil && other.holder(among: 5...5) == 5)
    }

    #expect(mine.holder(among: 1...9) == nil)
  }

  @Test(.timeLimit(.minutes(40)), arguments: StorageKind.allCases)
  func `whoever watches is told of what another writes`(kind: StorageKind) async throws {
    let storages = TestStorages(kind)
    let (mine, other) = (try storages.open("store", in: folder), try storages.open("store", in: folder))
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let watch = mine.watch(on: .global(), locks: false) { continuation.yield() }

    try other.write { try $0.setValue(.identity, "v") }

    for await _ in stream where try mine.read({ try $0.value(.identity) }) == "v" { break }
    withExtendedLifetime(watch) {}
  }
}
