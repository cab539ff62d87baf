import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Values of a record beside what a person compares them with.
struct RecordConditionTests {
  private static let record = MirrorRecord(
    key: RecordKey(zone: "notes", owner: "", name: "n1"),
    type: "Note",
    changeTag: "t",
    fields: [
      "count": .int64(5), "wide": .int64(.max), "ratio": .double(0.5), "title": .string("Buy Milk"),
      "name": .string("other"), "code": .string("10"),
      "list": .reference(WireReference(recordName: "L1", action: "NONE")), "data": .bytes(Data([1, 2])),
      "tags": .list(.string, [.string("a"), .string("Bee")]), "secret": .encrypted(.string("x")),
      // 2026-01-01T10:30:00Z
      "due": .timestamp(1_767_263_400_000), "photo": .asset(WireAsset(size: 12)),
    ],
    modifiedAt: 1_767_263_400_000
  )

  private func isTrue(_ text: String) throws -> Bool {
    try isTrue(text, in: .gmt)
  }

  private func isTrue(_ text: String, in zone: TimeZone) throws -> Bool {
    RecordCondition(try ListFilter.parse(text, of: .records).get(), Format(timeZone: zone)).isTrue(of: Self.record)
  }

  @Test(arguments: [
    ("due = 2026-01-01T16:00", true), ("due = 2026-01-01T10:30", false), ("due = 2026-01-01T10:30:00Z", true),
    ("due > '2026-01-01 15:59'", true), ("due in (2026-01-01T16:00, 2020)", true),
    ("not (due < 2026-01-01T16:00 or due > 2026-01-01T16:00)", true), ("changed = 2026-01-01", true),
  ])
  func `a date without an offset is one of the place where it is read`(text: String, holds: Bool) throws {
    #expect(try isTrue(text, in: #require(TimeZone(identifier: "Asia/Kolkata"))) == holds)
  }

  @Test(arguments: [
    "count = 5", "count = 5.0", "count in (4, 5)", "count != 6", "COUNT >= 5", "ratio < 1", "ratio = 0.5",
    "title = 'buy milk'", "title like 'buy%'", "title like '%m_lk'", "title like %", "title != milk",
    "name = n1", "name = other", "type = note", "list = l1", "list like L%", "tags = bee", "tags like B%",
    "secret = X", "due = 2026", "due = 2026-01", "due = 2026-01-01T10:30", "due = 2026-01-01T10:30:00Z",
    "due = '2026-01-01T11:30:00+01:00'", "due != 2026-01-01T10:31", "due >= 2026-01-01", "due <= 2026-01-01",
    "due > 2025", "due < 2026-01-01T10:31", "changed = 2026-01-01", "changed < 2026-01-02", "photo like '%12 bytes'",
    "none is null", "none != 1", "count is not null", "not none = 1", "count = 1 or count = 5",
    "(count = 1 or count = 5) and title like buy%", "due = 1767263400000", "due > 1767263399999", "count < 5.5",
    "wide < 9223372036854775806.0", "wide < 9223372036854775808",
    "wide != 9223372036854775808", "code > 9", "code <= 10.0", "code = 10", "title > apple",
  ])
  func `a comparison holds by the type of the value`(text: String) throws { #expect(try isTrue(text)) }

  /// The search in a store looks into the stored form first. It must not leave out what the condition finds.
  @Test(arguments: [
    "photo like '%bytes%'", "photo like %unknown% or photo like %ASSET%", "bytes", "size", "secret = x",
    "secret like X%",
    "tags = bee", "TAGS like B%", "list = l1", "title = 'buy milk'", "Title like %uy_mi%", "say", "say \"hi\"",
    "quote like '%\"hi\"%'", "größe", "GRÖ", "strasse like 'GRÖ%'", "data like '%bytes'", "milk",
    "name = n1 and type = note",
  ])
  func `a search in the store finds what the condition finds`(text: String) throws {
    let world = try World()
    let store = try world.open("store")
    var second = Self.record
    second.key = RecordKey(zone: "notes", owner: "", name: "n2")
    second.fields["quote"] = .string("say \"hi\"")
    second.fields["strasse"] = .string("größe")
    second.fields["photo"] = .asset(WireAsset())
    let records = [Self.record, second]
    try store.write { ledger in for record in records { try ledger.put(record, epoch: 0) } }
    _ = try store.enqueue([world.put("n3", zone: "notes", ["title": .string("Milk"), "tags": .string("bee")])])
    var listing = RecordListing()
    listing.filter = try ListFilter.parse(text, of: .records).get()
    let all = try store.view { try $0.records(RecordListing(), offset: 0, limit: 10) }.rows
    let found = try store.view { try $0.records(listing, offset: 0, limit: 10) }.rows

    let condition = RecordCondition(listing.filter)
    #expect(found == all.filter { condition.isTrue(of: $0.record) })
    #expect(all.count == 3 && !found.isEmpty)
  }

  @Test(arguments: [
    "count = 6", "count = five", "count > five", "title = milk", "title like milk", "title like 'buy_'", "none = 1",
    "none > 1", "name = n2", "list = L", "tags = c", "due = 2027", "due = 2", "due = soon",
    "due > 2026-01-01", "due < 2026", "due != 2026-01-01T10:30:00Z", "due > 2026-01-01T10:30", "data > 1",
    "created is not null", "count is null",
    "count = 5 and title = x", "not count = 5", "wide = 9223372036854775808", "wide >= 9223372036854775808.0",
    "due = 1767263400001", "ratio > 1e-400", "title > 5", "title < 5", "code < 9", "code = 10.0",
  ])
  func `a comparison does not hold otherwise`(text: String) throws { #expect(try !isTrue(text)) }
}
