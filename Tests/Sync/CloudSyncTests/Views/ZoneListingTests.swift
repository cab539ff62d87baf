import CloudKit
import Facts
import Testing

@testable import CloudSync

/// The list of zones: which come first, and which are found.
struct ZoneListingTests {
  private let store: SyncStore

  init() throws {
    store = try World().device("store").store
    try store.write { ledger in
      for name in ["a-fine", "b-unsent", "c-paused", "d-denied", "e-failed", "f-held", "g-gone"] {
        try ledger.insertZone(ZoneKey(zone: name), state: .ready)
      }
      try ledger.put(Unreadable(zone: ZoneKey(zone: "d-denied"), type: nil, message: "no", since: 1))
      // Only a type in it cannot be read.
      try ledger.put(Unreadable(zone: ZoneKey(zone: "a-fine"), type: "Task", message: "no", since: 1))
      let record = MirrorRecord(key: RecordKey(ZoneKey(zone: "f-held"), "r"), type: "Row", changeTag: "1", fields: [:])
      try ledger.put(record, epoch: MirrorRecord.gone)
      var held = try #require(try ledger.zone(ZoneKey(zone: "f-held")))
      held.heldSince = 1
      try ledger.put(held)
      try ledger.setState(ZoneKey(zone: "g-gone"), .deleted)
    }
    _ = try store.enqueue(
      ["b-unsent", "b-unsent", "c-paused", "e-failed"].enumerated().map { index, zone in
        Change(RecordKey(ZoneKey(zone: zone), "r\(index)"), .save(type: "Row", FieldChanges()))
      }
    )
    try store.execute("UPDATE operations SET state = 'failed' WHERE zone = 'e-failed'")
    try store.pause(.zone(ZoneKey(zone: "c-paused")), actor: "ana")
  }

  private func names(_ text: String = "", limit: Int = .max) throws -> [String] {
    var listing = ZoneListing()
    listing.filter = try ListFilter.parse(text, of: nil).get()
    return try store.view { try $0.zones(listing, limit: limit).rows.map(\.key.zone) }
  }

  @Test func `what needs a look comes first, then unsent changes, paused or not, each by name`() throws {
    #expect(try names() == ["f-held", "d-denied", "e-failed", "b-unsent", "c-paused", "a-fine", "g-gone"])
    #expect(try names(limit: 2) == ["f-held", "d-denied"])
    #expect(try store.view { try $0.zones(ZoneListing(), limit: 2).total } == 7)
  }

  @Test(arguments: [
    ("FINE", ["a-fine"]), ("paused", ["c-paused"]), ("unsent", ["e-failed", "b-unsent", "c-paused"]),
    ("1 failed", ["e-failed"]), ("denied d-", ["d-denied"]), ("hold", ["f-held"]), ("deleted server", ["g-gone"]),
    ("nothing", []),
  ])
  func `words find the name and everything that is said of a zone, in any letter case`(
    _ text: String,
    _ found: [String]
  )
    throws
  {
    #expect(try names(text) == found)
  }

  @Test func `a zone counts its records and unsent changes`() throws {
    let zones = try store.zones()
    #expect(zones.map(\.unsent) == [0, 2, 1, 0, 1, 0, 0])
    #expect(zones.map(\.records) == [0, 0, 0, 0, 0, 1, 0])
    #expect(zones.first { $0.key.zone == "e-failed" }?.troubles == ["1 failed"])
  }

  @Test func `many rules are one command in the log, which names the first`() throws {
    let rules = (0..<12).map { PauseRule.zone(ZoneKey(zone: "z\($0)")) }
    #expect(try store.pause(rules, actor: "ben") == rules)
    #expect(try store.pause(rules + [.type("Row")], actor: "ben") == [.type("Row")])
    #expect(try store.resume(Array(rules.prefix(2)), actor: "ben") == Array(rules.prefix(2)))

    let commands = try store.read { try $0.commands(limit: 3) }
    #expect(commands.map(\.count) == [2, 1, 12])
    #expect(commands.last?.event.text.hasSuffix("zone z9 and 2 more") == true)
  }
}
