import CloudKit
import Facts
import Foundation

@testable import CloudSync
@testable import Doctor

/// What is seen of a server, a store and a machine in order, for a test to change.
extension FindingTests {
  static let now: Int64 = 1_700_000_000_000
  static let scope = SyncStore.Scope(
    container: "iCloud.org.example.shop",
    environment: "production",
    database: .private
  )

  static func server(_ change: (inout ServerObservation) -> Void) -> [Finding] {
    var server = ServerObservation(url: URL(string: "https://cloud.example.org")!, route: .direct)
    server.scope = scope
    server.credential = "webAuth"
    server.reach = .connected(address: "192.0.2.7")
    server.greeting = .reply(clockAhead: 0.4)
    server.user = .success("_ana")
    server.zones = .success(["notes", "tasks"])
    change(&server)
    return server.findings
  }

  static func unasked(_ reach: ServerReach) -> [Finding] {
    server {
      ($0.reach, $0.greeting, $0.user, $0.zones) = (reach, nil, nil, nil)
      $0.write = .notTried("the server was not asked")
    }
  }

  static func store(_ change: (inout StoreObservation) -> Void) -> [Finding] {
    var status = StoreStatus(generatedAt: now)
    (status.lastSuccessAt, status.reachedEnd) = (now - 5_000, true)
    status.syncingProcess = holder()
    var store = StoreObservation(path: "/var/lib/cktop/shop.sqlite", user: "cktop")
    store.files = SyncStore.Files(
      bytes: 1_204_224,
      logBytes: 4_152,
      owner: "cktop",
      mode: 0o600,
      freeBytes: 20_000_000_000
    )
    store.content = StoreObservation.Content(status: status, zones: [])
    store.process = ProcessFacts(unit: "cktop.service")
    store.format = Format(timeZone: .gmt)
    change(&store)
    return store.findings
  }

  static func holder(live: Bool = true, stalledSince: Int64? = nil, leaseEndsAt: Int64? = nil)
    -> StoreStatus.SyncingProcess
  {
    StoreStatus.SyncingProcess(
      pid: 4711,
      host: "mail",
      isLive: live,
      stalledSince: stalledSince,
      program: "cktop",
      since: now - 3_600_000,
      leaseEndsAt: leaseEndsAt
    )
  }

  static func machine(_ change: (inout MachineObservation) -> Void) -> [Finding] {
    var machine = MachineObservation(
      own: .init(open: 12, limit: 1024),
      watches: .available(perUser: 65_536),
      screen: .init(term: "xterm-256color", columns: 80, rows: 24),
      versions: ["cktop 1", "SQLite 3"]
    )
    change(&machine)
    return machine.findings
  }
}
