import CloudKit
import Facts
import GRDB
import Testing

@testable import CloudSync

/// The queue in each order and with each filter, window by window.
struct QueueListingTests {
  private let world: World
  private let store: SyncStore

  /// Operations of every kind in every state, whose states do not follow their numbers.
  init() throws {
    world = try World()
    store = try world.open("store")
    try store.fill(2)
    try store.execute(
      """
      WITH RECURSIVE numbers(n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < 360)
      INSERT INTO operations(operation, zone, owner, name, type, changes, base, state, reason, enqueuedAt, editedAt, bytes,
          nextAttemptAt, sentGeneration, sentOperation, conflictAt, errorCode, errorMessage)
        SELECT operation, zone, owner, name, type, changes, base, state, '', 1, 1, 20, iif(state = 'waiting', 5, NULL),
            iif(state = 'inFlight', 1, NULL), iif(state = 'inFlight', operation, NULL), iif(state = 'conflict', 1, NULL),
            iif(n % 4 = 0, 'BAD_REQUEST', NULL), iif(n % 4 = 0, 'the ' || n || ' Server said no', NULL)
          FROM (SELECT n,
            CASE n * 7 % 11 WHEN 0 THEN 'failed' WHEN 1 THEN 'conflict' WHEN 2 THEN 'inFlight' WHEN 3 THEN 'waiting'
              WHEN 4 THEN 'paused' ELSE 'pending' END AS state,
            CASE n % 60 WHEN 0 THEN 'zoneSave' WHEN 1 THEN 'zoneDelete' ELSE iif(n % 5 = 0, 'delete', 'save') END AS operation,
            iif(n % 3 = 0, 'notes', 'other') AS zone, iif(n % 6 = 0, 'ana', '') AS owner,
            iif(n % 60 < 2, NULL, 'r' || n) AS name, iif(n % 60 < 2, NULL, iif(n % 2 = 0, 'Task', 'Note')) AS type,
            '{"cleared":[],"values":{}}' AS changes, '{}' AS base FROM numbers)
      """
    )
  }

  private static let worst: [OperationState] = [.failed, .conflict, .inFlight, .waiting, .pending, .paused]

  /// What the rows show, without the cause.
  private static func text(_ row: QueueRow) -> String {
    let verb =
      switch row.kind {
      case .save: "save"
      case .delete: "delete"
      case .zoneSave: "create"
      case .zoneDelete: "delete"
      }
    return [
      row.key.name, row.type ?? "", row.key.zone, row.key.owner, row.state.rawValue, Words.state(row.state.rawValue),
      verb,
      row.kind.rawValue, row.errorMessage ?? "",
    ].joined(separator: " ").lowercased()
  }

  private static let filters: [(text: String, isMatch: @Sendable (QueueRow) -> Bool)] = [
    ("", { _ in true }),
    ("state in ('failed', 'sending')", { [.failed, .inFlight].contains($0.state) }),
    ("type = 'Task' and zone = 'notes'", { $0.type == "Task" && $0.key.zone == "notes" }),
    ("error = 'BAD_REQUEST'", { $0.errorCode == "BAD_REQUEST" }),
    ("message like '%server%'", { $0.errorMessage != nil }),
    ("not operation = 'save'", { $0.kind != .save }),
    ("name like 'r1%' or type is null", { $0.key.name.hasPrefix("r1") || $0.type == nil }),
    ("retrying", { $0.state == .waiting }),
    ("SERVER task 12", { row in ["server", "task", "12"].allSatisfy { text(row).contains($0) } }),
    ("create", { $0.kind == .zoneSave }),
    ("ana delete", { $0.key.owner == "ana" && text($0).contains("delete") }),
    ("nothing", { _ in false }),
  ]

  @Test func `a row says since when it has been in conflict, or when it last failed`() throws {
    let rows = try store.view { try $0.operations(QueueListing(), offset: 0, limit: 400).window.rows }
    let failed = try #require(rows.first { $0.state == .failed }).id
    try store.execute(
      "INSERT INTO attempts(operation, number, at, seconds) VALUES (\(failed), 1, 7, 0.1), (\(failed), 2, 9, 0.1)"
    )

    let later = try store.view { try $0.operations(QueueListing(), offset: 0, limit: 400).window.rows }
    #expect(later.first { $0.id == failed }?.since == 9)
    #expect(later.filter { $0.state == .conflict }.allSatisfy { $0.since == 1 })
    #expect(later.filter { $0.state == .pending }.allSatisfy { $0.since == nil })
  }

  private static let stateSets: [Set<OperationState>] = [
    [], [.waiting], [.failed, .conflict], Set(OperationState.allCases),
  ]

  private func listing(_ text: String, _ states: Set<OperationState> = [], _ order: QueueListing.Order = .worst) throws
    -> QueueListing
  {
    var listing = QueueListing()
    (listing.filter, listing.states, listing.order) = (try ListFilter.parse(text, of: .queue).get(), states, order)
    return listing
  }

  /// The whole list, sorted and filtered in memory.
  private func model(_ listing: QueueListing, _ isMatch: (QueueRow) -> Bool) throws -> [QueueRow] {
    let rows = try store.operations().rows.filter {
      (listing.states.isEmpty || listing.states.contains($0.state)) && isMatch($0)
    }
    switch listing.order {
    case .oldest: return rows
    case .newest: return rows.reversed()
    case .worst: return Self.worst.flatMap { state in rows.filter { $0.state == state } }
    }
  }

  @Test(arguments: filters.indices)
  func `every window is that part of the whole list`(_ index: Int) throws {
    let filter = Self.filters[index]
    for states in Self.stateSets {
      for order in QueueListing.Order.allCases {
        let listing = try listing(filter.text, states, order)
        let all = try model(listing, filter.isMatch)
        let (offsets, limit) = (Array(stride(from: 0, to: all.count + 20, by: 17)), 40)
        for offset in offsets {
          let (window, retryable) = try store.view { try $0.operations(listing, offset: offset, limit: limit) }
          #expect(window.total == all.count && window.offset == offset, "\(filter.text) \(states) \(order)")
          #expect(
            window.rows == Array(all.dropFirst(offset).prefix(limit)),
            "\(filter.text) \(states) \(order) \(offset)"
          )
          #expect(retryable == all.count { $0.state == .failed || $0.state == .waiting })
        }
      }
    }
  }

  @Test func `words are found in the cause as lists word it`() throws {
    let id = try #require(try store.operations(matching: QueueFilter(parsing: "state = 'failed'")).rows.first?.id)
    let cause = Cause.failed(.referenceMissing(field: "parent", name: "p7", code: "VALIDATING_REFERENCE_ERROR"))
    try store.execute("UPDATE operations SET reason = ? WHERE id = ?", [cause.stored, id])
    let word = try #require(cause.text.split(separator: " ").max { $0.count < $1.count }).uppercased()

    let found = try store.view { try $0.operations(listing("p7 \(word)"), limit: 10) }

    #expect(found.window.rows.map(\.id) == [id])
  }

  @Test func `a percent sign, an underscore and a backslash are themselves`() throws {
    _ = try store.enqueue([#"50%"#, #"a_b"#, #"a\b"#, "axb"].map { world.put($0, [:]) })

    for (word, names) in [("50%", ["50%"]), ("a_b", ["a_b"]), (#"a\b"#, [#"a\b"#]), ("axb", ["axb"])] {
      let found = try store.view { try $0.operations(listing(word), limit: 10) }
      #expect(found.window.rows.map(\.key.name) == names, "\(word)")
    }
  }

  @Test func `causes are those of the operations that the listing shows`() throws {
    for (text, states) in [("task", []), ("zone = 'notes'", []), ("", [.failed]), ("retrying", [])]
      as [(String, Set<OperationState>)]
    {
      let listing = try listing(text, states)
      let index = Self.filters.firstIndex { $0.text == text }
      let isMatch =
        index.map { Self.filters[$0].isMatch } ?? { row in text == "task" ? row.type == "Task" : row.key.zone == "notes"
        }
      let rows = try model(listing, isMatch).filter { $0.state == .failed || $0.state == .waiting }

      let causes = try store.view { try $0.causes(of: listing) }

      #expect(causes.reduce(0) { $0 + $1.count } == rows.count, "\(text)")
      #expect(Set(causes.map(\.state)) == Set(rows.map(\.state)), "\(text)")
    }
  }

  // MARK: - Commands on a listing

  @Test func `a retry of a listing changes what failed or retries, and reports no others`() throws {
    try store.execute("UPDATE operations SET errorCode = NULL")
    for (text, states) in [("task", []), ("zone = 'notes'", [.waiting, .pending]), ("", [])]
      as [(String, Set<OperationState>)]
    {
      let listing = try listing(text, states, .newest)
      let shown = try store.view { try $0.operations(listing, limit: 1000) }.window.rows
      let retryable = shown.filter { $0.state == .failed || $0.state == .waiting }.map(\.id)
      let except = Set(retryable.prefix(2))

      let result = try store.perform(.retry, on: .listing(listing, except: except), actor: "ana")

      #expect(Set(result.changed) == Set(retryable).subtracting(except), "\(text)")
      #expect(result.skipped.isEmpty && result.unknown.isEmpty)
    }
  }

  @Test func `a discard of a listing leaves what is being sent, and says so`() throws {
    let listing = try listing("notes")
    let shown = try store.view { try $0.operations(listing, limit: 1000) }.window.rows
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }

    let result = try store.perform(.discard, on: .listing(listing, except: []), dryRun: true, actor: "ana")

    #expect(Set(result.changed) == Set(shown.filter { $0.state != .inFlight }.map(\.id)))
    #expect(Set(result.skipped.keys) == Set(shown.filter { $0.state == .inFlight }.map(\.id)))
  }

  @Test func `the log names what a listing selected`() throws {
    let listings = [
      try listing(""), try listing("buy Milk"), try listing("type = 'Task'", [.failed, .waiting]),
      try listing("", [.inFlight]),
    ]
    let texts = [
      "all", "all that match 'buy Milk'", "all that match state in ('failed', 'retrying') and (type = 'Task')",
      "all that match state in ('sending')",
    ]

    #expect(listings.map { Selection.listing($0, except: []).asSubject.text } == texts)
    #expect(Selection.listing(listings[1], except: [1, 2]).asSubject.text == "all that match 'buy Milk', except 2")
  }
}
