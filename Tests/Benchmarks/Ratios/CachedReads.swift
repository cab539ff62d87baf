import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Pages
import Synchronization

/// Fetching records by ID, with and without the cache, from an emulator in this process. Over a network, a request takes
/// much longer, and the cache saves more.
struct CachedReads {
  let count: Int
  private static let place = EmulatorDatabase.private(of: "ana", "iCloud.benchmark")

  func compare() async throws {
    let emulator = try Emulator()
    try emulator.createZone("notes", in: Self.place, at: Date())
    let server = CountingTransport(EmulatorTransport(emulator))
    let ids = try await save(CKRecord.samples(count), server)
    let part = Array(ids.prefix(200))
    let databases = [
      ("no cache", database(server, .off)),
      // A record that is always too old costs all that a miss costs.
      ("every record missed", database(server, CKRecordCacheSettings(maximumAge: .zero))),
      ("every record cached", database(server, .fast)),
    ]
    var works: [(name: String, requests: Int, body: () async throws -> Void)] = []
    for (name, database) in databases {
      let single = { for id in part { _ = try await database.record(for: id) } }
      let together = { for result in try await database.records(for: part).values { _ = try result.get() } }
      for (how, body) in [("one by one", single), ("in one call", together)] {
        try await body()
        let before = server.count
        try await body()
        works.append(("\(how), \(name)", server.count - before, body))
      }
    }
    let times = try await undisturbedTimes(rounds: 51, works.map(\.body))
    print("200 records with 10 fields, fetched by ID; 51 rounds in turn")
    for (number, work) in works.enumerated() {
      print(String(repeating: " ", count: 4 - "\(work.requests)".count) + "\(work.requests) requests: ", terminator: "")
      let limit: Double? = number < 2 ? nil : number < 4 ? 1.2 : 0.5
      printRow(work.name, times[number], of: times[number % 2], limit: limit)
    }
    try await measureMemory(ids, server)
  }

  private func measureMemory(_ ids: [CKRecord.ID], _ server: CountingTransport) async throws {
    let settings = CKRecordCacheSettings(maximumAge: .seconds(3600), maximumCount: ids.count, maximumBytes: .max)
    let database = database(server, settings)
    let before = privateMemory()
    for start in stride(from: 0, to: ids.count, by: 200) {
      _ = try await database.records(for: Array(ids[start..<min(start + 200, ids.count)]))
    }
    let bytes = (privateMemory() - before) * 1024 / ids.count
    let json = PlainPage.sampleBytes.count / PlainPage.sample.records.count
    print("\(ids.count) records in the cache: \(bytes) bytes each, \(json) as JSON")
  }

  private func database(_ server: CountingTransport, _ cache: CKRecordCacheSettings) -> CKDatabase {
    var configuration = CKContainerConfiguration(
      identifier: Self.place.container,
      credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
      transport: server
    )
    configuration.cache = cache
    return CKContainer(configuration: configuration).privateCloudDatabase
  }

  private func save(_ records: [CKRecord], _ server: CountingTransport) async throws -> [CKRecord.ID] {
    let database = database(server, .off)
    let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults
    for result in results.values { _ = try result.get() }
    return records.map(\.recordID)
  }
}

/// Counts the requests that it passes on.
private final class CountingTransport: CKTransport {
  private let base: any CKTransport
  private let requests = Mutex(0)

  init(_ base: any CKTransport) { self.base = base }

  var count: Int { requests.withLock { $0 } }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    requests.withLock { $0 += 1 }
    return try await base.send(request)
  }
}
