import CloudKit
import CloudSync
import Testing

@testable import cktop

/// What `status` says of the queue's parts.
@Suite(.serialized) struct StatusOutputTests {
  private func object(_ parts: [QueuePart]) -> StatusObject {
    var status = StoreStatus(generatedAt: 0)
    status.queue.parts = parts
    let scope = SyncStore.Scope(container: "iCloud.a", environment: "development", database: .shared)
    return StatusObject(
      status: status,
      storePath: "/s",
      scope: scope,
      account: AccountState(status, credential: "apiToken")
    )
  }

  private static let mine = ZoneKey(zone: "Notes")
  private static let hers = ZoneKey(zone: "Notes", owner: "_ana")

  @Test func `the queue is told by state, zone and type, and what is unknown is null`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]

    #expect(
      object(parts).json.line.contains(
        #""parts": [{"state": "failed", "zone": "Notes", "owner": "_ana", "recordType": "Note", "count": 2, "#
          + #""bytes": 50}, {"state": "pending", "zone": "Notes", "owner": null, "recordType": null, "count": 1, "#
          + #""bytes": 0}]"#
      )
    )
    #expect(object([]).json.line.contains(#""parts": []"#))
  }

  @Test func `zones and types are summed up for people where there are several`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.hers, type: "Note", count: 3, bytes: 60),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]
    let lines = StatusText(object(parts)).lines
    #expect(lines.contains("  by zone       Notes 1 (0 B), Notes of _ana 5 (110 B)"))
    #expect(lines.contains("  by type       (no type) 1 (0 B), Note 5 (110 B)"))

    let one = StatusText(object(Array(parts.prefix(2)))).lines
    #expect(!one.contains { $0.hasPrefix("  by") })
  }
}
