import CloudKit
import GRDB
import Testing

@testable import CloudSync

/// Changes in the queue, found by the values that they set.
@Suite(.serialized, .onFile) struct QueueValueTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
    try store.accept(world.put("a", ["title": .string("Buy Milk"), "count": .int64(734)]))
    let tags = FieldValue.list(.string, [.string("milk"), .string("old")])
    try store.accept(world.put("b", ["title": .string("Straße"), "tags": tags]))
    // The middle of a day, so that the time zone does not matter.
    let time = FieldValue.timestamp(1_767_268_800_000)
    try store.accept(world.put("c", ["remark": .encrypted(.string("milk secret")), "due": time]))
    try store.accept(world.delete("d"))
  }

  private func names(_ text: String) throws -> [String] {
    var listing = QueueListing()
    listing.filter = try ListFilter.parse(text, of: .queue).get()
    return try store.view { try $0.operations(listing, limit: 10).window.rows.map(\.key.name) }
  }

  @Test(arguments: [
    ("milk", ["a", "b"]), ("MILK buy", ["a"]), ("straße", ["b"]), ("73", ["a"]), ("secret", []), ("remark", []),
    ("buy old", []), ("pending milk", ["a", "b"]),
  ])
  func `a word finds a change by a value, as it finds a record`(_ words: String, _ found: [String]) throws {
    #expect(try names(words) == found)
  }

  @Test(arguments: [
    ("fields.title = 'buy milk'", ["a"]), ("FIELDS.TITLE = 'Buy Milk'", ["a"]), ("fields.count > 700", ["a"]),
    ("fields.count >= 735", []), ("fields.tags = 'OLD'", ["b"]), ("fields.title like 'buy%'", ["a"]),
    ("fields.title in ('x', 'STRAßE')", ["b"]), ("fields.due > '2025-12-30'", ["c"]),
    ("fields.title is not null", ["a", "b"]), ("fields.title != 'straße'", ["a", "c", "d"]),
    ("fields.title = 'buy milk' or fields.due is not null", ["a", "c"]),
    ("type = 'Note' and fields.count = 734", ["a"]),
    ("state = 'failed' and fields.count = 734", []),
  ])
  func `an expression compares the values that a change sets`(_ expression: String, _ found: [String]) throws {
    #expect(try names(expression) == found)
  }

  @Test(arguments: [
    ("fields.remark = 'milk secret'", []), ("fields.remark like '%secret%'", []), ("payload like '%secret%'", []),
    ("fields.remark is null", ["a", "b", "d"]), ("payload like '%milk%'", ["a", "b"]),
    ("payload like '%\"due\"%'", ["c"]),
  ])
  func `an encrypted value is never found, only that it is set`(_ expression: String, _ found: [String]) throws {
    #expect(try names(expression) == found)
  }

  @Test func `a change that cannot be read has no values`() throws {
    try store.file.writer.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA ignore_check_constraints = 1")
      try database.execute(sql: "UPDATE operations SET changes = '{ \"title\": milk' WHERE name = 'a'")
      try database.execute(sql: "PRAGMA ignore_check_constraints = 0")
    }
    let filter = try QueueFilter(parsing: "fields.title like '%milk%' or not fields.title is null")

    #expect(try store.view { try $0.operationIDs(of: QueueListing(matching: filter)) }.count == 1)
  }

  @Test func `a command reaches the changes that a value selects`() throws {
    let filter = try QueueFilter(parsing: "fields.count = 734")

    _ = try store.perform(.pause, on: .matching(filter, text: ""), actor: "test")

    #expect(try store.queue().filter { $0.hasSuffix("paused") } == ["save a paused"])
  }
}
