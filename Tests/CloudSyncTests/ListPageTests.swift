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
    ("operations", false, { for row in try $0.operations(after: $1 ?? 0, limit: 500) { _ = $2(row.id) } }),
    (
      "filtered operations", false,
      { view, last, visit in
        let filter = try QueueFilter(parsing: "name like 'r%' or type = 'Note'")
        for row in try view.operations(matching: filter, after: last ?? 0, limit: 500) { _ = visit(row.id) }
      }
    ),
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
      return try (causes, view.operations(after: 0, limit: 2).map(\.cause))
    }
    #expect(causes.0 == causes.1)
    #expect(causes.1 == Array(repeating: .pausedByRule(.type("Note"), by: "ana"), count: 2))
  }
}
