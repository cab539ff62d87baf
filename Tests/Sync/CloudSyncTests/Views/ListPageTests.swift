import CloudKit
import Facts
import Testing

@testable import CloudSync

/// Long lists are read in pages of 500 rows.
struct ListPageTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
    try store.fill(1200)
  }

  private typealias Page = @Sendable (StoreView, _ last: Int64?, _ visit: (Int64) -> Bool) throws -> Void

  private static let lists: [(name: String, isNewestFirst: Bool, page: Page)] = [
    ("conflicts", false, { view, last, visit in try view.conflicts(after: last ?? 0, limit: 500) { visit($0.id) } }),
    (
      "dropped", true,
      { view, last, visit in try view.dropped(before: last ?? .max, limit: 500, unseenToo: true) { id, _ in visit(id) }
      }
    ),
  ]

  /// Makes every operation a conflict, with a dropped change of the same number.
  private func fillAllLists() throws {
    try store.execute("UPDATE operations SET state = 'conflict', conflictAt = 1")
    try store.execute(
      """
      INSERT INTO dropped(id, operationId, operation, zone, owner, name, type, changes, reason, at)
        SELECT id, id, 'save', zone, owner, name, type, changes, '', 1 FROM operations
        WHERE id NOT IN (SELECT id FROM dropped)
      """
    )
  }

  /// Reads pages until one has fewer than 500 rows.
  private func pages(_ page: Page, after first: () throws -> Void = {}) throws -> [[Int64]] {
    var pages: [[Int64]] = []
    repeat {
      let last = pages.last?.last
      var ids: [Int64] = []
      try store.view { view in
        try page(view, last) { id in
          ids.append(id)
          return true
        }
      }
      pages.append(ids)
      if pages.count == 1 { try first() }
    } while pages.last?.count == 500
    return pages
  }

  @Test(arguments: lists.indices)
  func `every row is listed once and in order`(_ index: Int) throws {
    try fillAllLists()
    let list = Self.lists[index]
    let ids = Array(Int64(1)...1200)

    let pages = try pages(list.page)

    #expect(pages.map(\.count) == [500, 500, 200])
    #expect(pages.flatMap(\.self) == (list.isNewestFirst ? ids.reversed() : ids), "\(list.name)")
  }

  @Test(arguments: lists.indices)
  func `rows added and removed between two pages do not shift the others`(_ index: Int) throws {
    try fillAllLists()
    let list = Self.lists[index]

    let pages = try pages(list.page) {
      for table in ["operations", "dropped"] { try store.execute("DELETE FROM \(table) WHERE id IN (3, 700, 1198)") }
      try store.execute("UPDATE operations SET name = 'new' || id WHERE id <= 500")
      try store.fill(10)
      try fillAllLists()
    }

    // What was removed before its page is missing; what was added is at the end, which newest first is over.
    let expected: [Int64] =
      list.isNewestFirst
      ? (701...1200).reversed() + (1...699).reversed().filter { $0 != 3 }
      : (1...1210).filter { $0 != 700 && $0 != 1198 }
    #expect(pages.flatMap(\.self) == expected, "\(list.name)")
  }

  @Test(arguments: ["", "name like 'r%'", "type = 'Note'", "type = 'Note' and zone = 'cktop'", "note"])
  func `rows added and removed between two steps of a search do not shift the others`(_ text: String) throws {
    var listing = QueueListing()
    (listing.filter, listing.order) = (try ListFilter.parse(text, of: .queue).get(), .oldest)
    var search = QueueSearch(listing)
    try store.view { try search.step(in: $0) }
    #expect(search.count == 500)

    try store.execute("DELETE FROM operations WHERE id IN (3, 700, 1198)")
    try store.execute("UPDATE operations SET name = 'new' || id WHERE id <= 500")
    try store.fill(10)
    while !search.isOver { try store.view { try search.step(in: $0) } }

    let ids = try store.view { try search.rows(offset: 0, limit: .max, in: $0).map(\.id) }
    #expect(ids == (1...1210).filter { ![3, 700, 1198].contains($0) })
  }

  @Test func `a visitor ends a page`() throws {
    try fillAllLists()
    var ids: [Int64] = []
    try store.view { view in
      try view.dropped(before: 11, limit: 500, unseenToo: true) { id, _ in
        ids.append(id)
        return ids.count < 3
      }
    }
    #expect(ids == [10, 9, 8])
  }

  @Test func `rows of a page and their details have the same reasons`() throws {
    _ = try store.pause(.type("Note"), actor: "ana")
    let causes = try store.view { view in
      var causes: [Cause?] = []
      try view.details(of: [1, 2]) { causes.append($1.operation?.cause) }
      return try (causes, view.operations(limit: 2).rows.map(\.cause))
    }
    #expect(causes.0 == causes.1)
    #expect(causes.1 == Array(repeating: .pausedByRule(.type("Note"), by: "ana"), count: 2))
  }
}
