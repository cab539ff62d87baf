import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct ConcurrencyTests {
  @Test func `200 tasks move amounts between records in atomic batches, and none is lost or torn`() async throws {
    let fixture = try Fixture.withZone()
    let accounts = ["a", "b", "c", "d"]
    _ = try fixture.modify(accounts.map { Fixture.save($0, #""n":{"value":1000}"#) }.joined(separator: ","))

    let conflicts = try await withThrowingTaskGroup { group in
      for task in 0..<200 {
        group.addTask {
          try Self.transfer(from: accounts[task % 4], to: accounts[(task + 1 + task / 7 % 3) % 4], fixture)
        }
      }
      return try await group.reduce(0, +)
    }

    let answer = try fixture.query(#""filterBy":[]"#)
    let amounts = answer.records.compactMap { $0.value("n") as? Int }
    #expect(amounts.reduce(0, +) == 4000)
    // Two versions each for 200 transfers, and the four first ones.
    #expect(fixture.emulator.statistics.recordsSaved == 404)
    #expect(fixture.emulator.statistics.atomicFailures == conflicts)
  }

  /// Reads two records and writes them back under their tags, until nobody came between; returns how often somebody did.
  static func transfer(from: String, to: String, _ fixture: Fixture) throws -> Int {
    for attempt in 0... {
      let found = try fixture.post(
        "records/lookup",
        #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"\#(from)"},{"recordName":"\#(to)"}]}"#
      )
      let writes = try zip(found.records, [-1, 1]).map { record, change in
        let name = try #require(record["recordName"] as? String)
        let tag = try #require(record["recordChangeTag"] as? String)
        let amount = try #require(record.value("n") as? Int)
        return Fixture.save(
          name,
          #""n":{"value":\#(amount + change)}"#,
          type: "update",
          more: #","recordChangeTag":"\#(tag)""#
        )
      }
      if try fixture.modify(writes.joined(separator: ","), atomic: true).outcomes == ["saved", "saved"] {
        return attempt
      }
    }
    return 0
  }
}
