import CloudKit
import Facts
import GRDB
import GRDBSQLite
import Synchronization
import Testing

@testable import CloudSync

/// Plans and screens cost the same in a queue of 20,000 operations as in one of 1,000, in instructions of SQLite.
struct LongQueueCostTests {
  private let world: World

  init() throws { world = try World() }

  private func link(_ name: String) -> FieldValue { .reference(WireReference(recordName: name, action: "VALIDATE")) }

  /// A store whose first tenth failed, whose next twentieth waits for a failed one, whose other changes have parents up to
  /// the half, and with as many records in the mirror.
  private func store(_ count: Int) throws -> SyncStore {
    let store = try world.open("store \(count)")
    _ = try store.enqueue(
      (0..<count).map { number in
        let parent: Int? =
          switch number {
          case ..<(count / 10): nil
          case ..<(count * 3 / 20): 0
          case ..<(count / 2): number - 1
          default: nil
          }
        return world.put("m\(number)", ["parent": parent.map { link("m\($0)") } ?? .int64(1)])
      }
    )
    try store.execute("UPDATE operations SET state = 'failed', errorCode = 'BAD_REQUEST' WHERE id <= \(count / 10)")
    try store.execute(
      """
      WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < \(count))
      INSERT INTO records(zone, owner, name, type, changeTag, fields) SELECT 'cktop', '', 'r' || n, 'Note', '1', '{}' FROM numbers
      """
    )
    return store
  }

  /// The number of instructions, in hundreds, that SQLite executes for what `body` reads.
  private func instructions(_ store: SyncStore, _ body: () throws -> Void) throws -> Int {
    let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    count.initialize(to: 0)
    defer { count.deallocate() }
    func watch(_ isOn: Bool) throws {
      try store.write { ledger in
        sqlite3_progress_handler(
          ledger.database.sqliteConnection,
          isOn ? 100 : 0,
          { count in
            count?.assumingMemoryBound(to: Int.self).pointee += 1
            return 0
          },
          count
        )
      }
    }
    try watch(true)
    try body()
    try watch(false)
    return count.pointee
  }

  @Test func `plans, refreshes and first pages cost the same in a long queue as in a short one`() throws {
    let stores = [try store(1000), try store(20_000)]
    let filters = ["name = 'm150'", "type = 'Note'", "state = 'failed'", "operation = 'save'", "operation = 'delete'"]
    var steps: [(name: String, body: (SyncStore) throws -> Void)] =
      [
        ("plan", { store in _ = try store.plan() }),
        ("status", { _ = try $0.status() }),
        ("queue", { _ = try $0.operations(limit: 50) }),
        ("records", { store in try store.view { _ = try $0.records(limit: 50) } }),
        (
          "pause",
          { store in
            _ = try store.pause(.everything, actor: "ana")
            _ = try store.resume(.everything, actor: "ana")
          }
        ),
      ]
    for order in QueueListing.Order.allCases {
      var listing = QueueListing()
      listing.order = order
      steps.append(("\(order), start", { [listing] in try $0.view { _ = try $0.operations(listing, limit: 50) } }))
      steps.append(
        (
          "\(order), end",
          { [listing] in
            try $0.view { view in
              let total = try view.operations(listing, limit: 0).window.total
              _ = try view.operations(listing, offset: total - 50, limit: 50)
            }
          }
        )
      )
      listing.filter = .expression(try QueueFilter(parsing: "type = 'Note'"), text: "type = 'Note'")
      steps.append(
        (
          "\(order), first step",
          { [listing] store in
            try store.view { view in
              var search = QueueSearch(listing)
              try search.step(in: view)
              #expect(search.count == 500)
            }
          }
        )
      )
    }
    // On either side of the border between records with unsent changes and others.
    for (part, place) in [("start", 0), ("last unsent", 1), ("first on the server", 1.01), ("end", 1.99)] {
      steps.append(
        (
          "latest records, \(part)",
          { store in
            try store.view { view in
              let half = Double(try view.records(RecordListing(), limit: 0).total / 2)
              _ = try view.records(RecordListing(), offset: Int(half * place) - (place == 1 ? 50 : 0), limit: 50)
            }
          }
        )
      )
    }
    for text in filters {
      let filter = try QueueFilter(parsing: text)
      steps.append((text, { _ = try $0.operations(matching: filter, limit: 50) }))
    }
    for (name, body) in steps {
      // Both have as many rows as a page or a request takes.
      let costs = try stores.map { store in try instructions(store) { try body(store) } }
      #expect(costs[1] <= 2 * costs[0] + 50, "\(name): \(costs)")
    }
  }

  /// Conditions that twenty operations meet, and conditions that nearly all meet.
  private static let rare = [
    "name = 'rare zone 7'", "zone = 'Few'", "operation = 'delete'", "type = 'Rare'", "state = 'paused'",
    "error = 'QUOTA_EXCEEDED'",
  ]
  private static let usual = [
    "zone = 'cktop'", "operation = 'save'", "type = 'Note'", "state = 'failed'", "error = 'THROTTLED'",
  ]

  @Test func `of two equalities the one that few rows meet finds them, in a long queue as in a short one`() throws {
    let stores = try [1000, 20_000].map { count in
      let store = try world.open("rare \(count)")
      try store.fill(count - 100, "failed")
      _ = try store.enqueue(
        (0..<20).flatMap { number in
          [
            world.put("rare zone \(number)", zone: "Few", [:]), world.put("rare type \(number)", type: "Rare", [:]),
            world.put("rare state \(number)", [:]), world.put("rare error \(number)", [:]),
            world.delete("rare operation \(number)"),
          ]
        }
      )
      try store.execute(
        "UPDATE operations SET errorCode = 'THROTTLED', type = coalesce(type, 'Note'), state = 'failed'"
      )
      try store.execute("UPDATE operations SET state = 'paused' WHERE name LIKE 'rare state%'")
      try store.execute("UPDATE operations SET errorCode = 'QUOTA_EXCEEDED' WHERE name LIKE 'rare error%'")
      return store
    }
    for rare in Self.rare {
      let pairs = Self.usual.filter { $0.prefix(4) != rare.prefix(4) }
        .flatMap { ["\(rare) and \($0)", "\($0) and \(rare)"] }
      for text in [rare, "\(rare) and attempts = 0"] + pairs {
        let filter = try QueueFilter(parsing: text)
        var listing = QueueListing()
        listing.filter = .expression(filter, text: text)
        let expected = rare.hasPrefix("name") ? (text.contains("zone = 'cktop'") ? 0 : 1) : 20
        for body: (SyncStore) throws -> Int in [
          { try $0.operations(matching: filter, limit: 200).total },
          { store in try store.view { try $0.operations(listing, limit: 200).window.rows.count } },
          { [listing] store in
            try store.view { view in
              var search = QueueSearch(listing)
              try search.step(in: view)
              #expect(search.isOver, "\(text)")
              return search.count
            }
          },
        ] {
          var found: [Int] = []
          let costs = try stores.map { store in try instructions(store) { found.append(try body(store)) } }
          #expect(found == [expected, expected], "\(text)")
          #expect(costs[1] <= 2 * costs[0] + 50, "\(text): \(costs)")
        }
      }
    }
  }

  @Test func `a record is found by its name in many as in some`() throws {
    let stores = [try store(1000), try store(20_000)]
    for (name, mirrorOnly, count) in [("r500", false, 1), ("r500", true, 1), ("m900", false, 1), ("m900", true, 0)] {
      let costs = try stores.map { store in
        try instructions(store) {
          let found = try store.records(named: name, mirrorOnly: mirrorOnly)
          #expect(found.count == count)
        }
      }
      #expect(costs[1] <= 2 * costs[0] + 50, "\(name): \(costs)")
    }
  }

  @Test func `looking for the types of fields costs the same with many records as with some`() throws {
    let fields = #"{"x": {"type": "INT64", "value": 1}}"#
    let stores = try [1000, 20_000].map { count in
      let store = try world.open("store \(count)")
      try store.fill(count)
      try store.execute(
        """
        INSERT INTO records(zone, owner, name, type, changeTag, fields)
          SELECT 'cktop', '', 'm' || id, 'Note', '1', ? FROM operations
        """,
        [fields]
      )
      return store
    }
    // A field that is missing is looked for in twice as many records as the smaller store has.
    for wanted in [["x"], ["x", "missing"], nil] as [Set<String>?] {
      let costs = try stores.map { store in
        try instructions(store) { _ = try store.knownFieldTypes(of: "Note", wanted: wanted) }
      }
      #expect(costs[1] <= 2 * costs[0] + 50, "\(wanted ?? []): \(costs)")
    }
  }

  @Test func `finding the files of changes that ended costs the same beside many queued files as beside some`() throws {
    let stores = try [1000, 20_000].map { count in
      let store = try world.open("store \(count)")
      try store.fill(count)
      try store.execute(
        "UPDATE operations SET assets = json_array(json_object('digest', printf('%064x', id)))"
      )
      try store.execute("DELETE FROM operations WHERE id <= 10")
      return store
    }
    let costs = try stores.map { store in
      try instructions(store) {
        let files = try store.read { try $0.unneeded($0.unusedFiles()) }
        try store.write { try $0.removeUnused(files) }
        #expect(files.count == 10)
      }
    }
    #expect(costs[1] <= 2 * costs[0] + 50, "\(costs)")
  }

  @Test func `unfiltered lists are read in the order of an index`() throws {
    let store = try store(100)
    let statements = Mutex<[String]>([])
    try store.write { $0.database.trace { event in statements.withLock { $0.append(event.expandedDescription) } } }
    for order in QueueListing.Order.allCases {
      for states in [[], [.failed, .pending]] as [Set<OperationState>] {
        var listing = QueueListing()
        (listing.order, listing.states) = (order, states)
        for offset in [0, 80] { try store.view { _ = try $0.operations(listing, offset: offset, limit: 10) } }
      }
    }
    for offset in [0, 190] { try store.view { _ = try $0.records(RecordListing(), offset: offset, limit: 10) } }
    try store.write { $0.database.trace() }

    let lists = statements.withLock { $0 }.filter { $0.contains("OFFSET") }
    #expect(!lists.isEmpty)
    for sql in lists {
      let plan = try store.write {
        try Row.fetchAll($0.database, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
      }
      #expect(
        !plan.contains { $0.contains("TEMP B-TREE") || ($0.contains("SCAN") && !$0.contains("INDEX")) },
        "\(sql): \(plan)"
      )
    }
  }
}
