import CloudKit
import Foundation
import GRDB
import Testing

@testable import CloudSync

/// The records in each order and with each filter, window by window.
struct RecordListingTests {
  private let world: World
  private let store: SyncStore

  /// Records of the mirror with and without a time, queued edits, creations and deletions among them.
  init() throws {
    world = try World()
    store = try world.open("store")
    try store.write { ledger in
      for number in 0..<240 {
        let key = RecordKey(zone: number % 3 == 0 ? "b" : "a", owner: number % 4 == 0 ? "ana" : "", name: "r\(number)")
        try ledger.put(
          MirrorRecord(
            key: key,
            type: number % 2 == 0 ? "Task" : "Note",
            changeTag: "t",
            fields: [
              "title": .string("Buy \(number % 5 == 0 ? "Milk" : "bread") \(number)"), "note": .string(#"say "hi""#),
              "due": .timestamp(1_767_225_600_000), "done": .int64(Int64(number % 2)),
            ],
            modifiedAt: number % 10 == 0 ? nil : Int64(number * 37 % 50),
            modifiedBy: number % 3 == 0 ? "_12fadeb" : nil
          ),
          epoch: 0
        )
      }
    }
    let keys = try store.records().rows.map(\.record.key)
    _ = try store.enqueue(
      keys.enumerated().filter { $0.offset % 7 == 0 }.map {
        Change(
          $0.element,
          .save(type: "Task", FieldChanges(values: ["title": .string("Sell milk")], cleared: ["note"]))
        )
      } + keys.enumerated().filter { $0.offset % 11 == 1 }.map { Change($0.element, .delete) }
        + (0..<40).map { world.put("new\($0)", zone: "a", ["title": .string("créé \($0)")]) }
    )
  }

  private func listing(_ text: String, _ order: RecordListing.Order) throws -> RecordListing {
    var listing = RecordListing()
    (listing.filter, listing.order) = (try ListFilter.parse(text, of: .records).get(), order)
    return listing
  }

  /// The whole list, sorted and filtered in memory.
  private func model(_ order: RecordListing.Order, _ isMatch: (RecordRow) -> Bool) throws -> [RecordRow] {
    let rows = try store.records().rows.filter(isMatch)
    guard order != .name else { return rows }
    let inserted = try store.file.writer.write { database in
      try Row.fetchAll(database, sql: "SELECT rowid, zone, owner, name FROM records").reduce(into: [:]) { places, row in
        places[RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])] = row["rowid"] as Int64
      }
    }
    let unsent = rows.filter { $0.operation != nil }.sorted { $0.operation ?? 0 > $1.operation ?? 0 }
    let others = rows.filter { $0.operation == nil }.sorted { left, right in
      let (first, second) = (left.record.modifiedAt ?? .min, right.record.modifiedAt ?? .min)
      return first == second ? inserted[left.id] ?? 0 > inserted[right.id] ?? 0 : first > second
    }
    let newest = unsent + others
    guard case .field(let name, let isDescending) = order else { return newest }
    // Records without the field come last; those with the same value are in the usual order.
    let keyed = newest.filter { $0.record.fields[name] != nil }.map {
      row -> (row: RecordRow, text: String, number: Int64) in
      if case .int64(let number)? = row.record.fields[name] { return (row, "", number) }
      return (row, row.text(name).lowercased(), 0)
    }
    let sorted = keyed.enumerated().sorted { left, right in
      let (a, b) = ((left.element.text, left.element.number), (right.element.text, right.element.number))
      return a == b ? left.offset < right.offset : isDescending ? a > b : a < b
    }.map(\.element.row)
    return sorted + newest.filter { $0.record.fields[name] == nil }
  }

  private static let filters: [(text: String, isMatch: @Sendable (RecordRow) -> Bool)] = [
    ("", { _ in true }),
    ("MILK", { $0.text("title").contains("ilk") }),
    ("task", { $0.record.type == "Task" }),
    ("créé", { $0.text("title").hasPrefix("créé") }),
    ("nothing", { _ in false }),
    ("title = 'buy milk 10'", { $0.text("title") == "Buy Milk 10" }),
    ("title = milk", { _ in false }),
    ("TITLE like '%milk%'", { $0.text("title").lowercased().contains("milk") }),
    (
      "title like Buy% and name like r1_",
      { $0.text("title").hasPrefix("Buy") && $0.record.key.name.hasPrefix("r1") && $0.record.key.name.count == 3 }
    ),
    ("not title like Buy%", { !$0.text("title").hasPrefix("Buy") }),
    ("note like '%\"hi\"'", { !$0.text("note").isEmpty }),
    ("done=1", { $0.record.fields["done"] == .int64(1) }),
    (
      "done = 1 and (zone = b or title like '%milk%')",
      {
        $0.record.fields["done"] == .int64(1)
          && ($0.record.key.zone == "b" || $0.text("title").lowercased().contains("milk"))
      }
    ),
    ("done in (0, 7)", { $0.record.fields["done"] == .int64(0) }),
    ("done>0", { $0.record.fields["done"] == .int64(1) }),
    ("done >= 0.5", { $0.record.fields["done"] == .int64(1) }),
    ("title != 'Sell milk'", { $0.text("title") != "Sell milk" }),
    ("zone!=b", { $0.record.key.zone != "b" }),
    ("title>Buy and title<C", { $0.text("title") > "Buy" && $0.text("title") < "C" }),
    ("due = 2026-01-01", { $0.record.fields["due"] != nil }),
    ("due>2026-01-01", { _ in false }),
    ("due>=2026-01-01", { $0.record.fields["due"] != nil }),
    ("due<2026-01-01T00:00:01", { $0.record.fields["due"] != nil }),
    ("type=Note", { $0.record.type == "Note" }),
    ("changed>=1970-01-01T00:00:00.040Z", { $0.record.modifiedAt ?? 0 >= 40 }),
    ("by like %fade%", { $0.record.modifiedBy != nil }),
    ("note is null", { $0.record.fields["note"] == nil }),
    ("note is not null", { $0.record.fields["note"] != nil }),
  ]

  @Test(arguments: filters.indices)
  func `every window is that part of the whole list`(_ index: Int) throws {
    let filter = Self.filters[index]
    for order: RecordListing.Order in [
      .newest, .name, .field("title", isDescending: false), .field("done", isDescending: true),
      .field("none", isDescending: false),
    ] {
      let listing = try listing(filter.text, order)
      let all = try model(order, filter.isMatch)
      for offset in stride(from: 0, to: all.count + 20, by: 13) {
        let window = try store.view { try $0.records(listing, offset: offset, limit: 30) }
        #expect(window.total == all.count && window.offset == offset, "\(filter.text) \(order)")
        #expect(window.rows == Array(all.dropFirst(offset).prefix(30)), "\(filter.text) \(order) \(offset)")
      }
    }
  }

  @Test func `a record is shown with its server's version, its queued change, and both together`() throws {
    let rows = try store.records().rows
    let edited = try #require(rows.first { $0.operation != nil && $0.changeTag != nil })
    let created = try #require(rows.first { $0.changeTag == nil })
    let plain = try #require(rows.first { $0.operation == nil })
    let deleted = try #require(try store.operations().rows.first { $0.kind == .delete }).key
    func detail(_ key: RecordKey) throws -> RecordDetail? { try store.view { try $0.detail(of: key) } }

    let known = try #require(try detail(edited.id))
    #expect(known.row == edited && known.operation?.id == edited.operation)
    #expect(known.server?.fields["note"] == .string(#"say "hi""#) && known.row?.record.fields["note"] == nil)
    #expect(try detail(created.id)?.server == nil)
    #expect(try detail(created.id)?.row == created)
    #expect(try detail(plain.id) == RecordDetail(server: plain.record, row: plain, operation: nil))
    #expect(try detail(deleted)?.row == nil)
    #expect(try detail(deleted)?.operation?.kind == .delete)
    #expect(try detail(world.key("none")) == nil)
  }
}

extension RecordRow {
  /// The text of a field; empty if it has none.
  fileprivate func text(_ field: String) -> String {
    if case .string(let text)? = record.fields[field] { text } else { "" }
  }
}
