import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts

/// `cktop records list`.
struct RecordsList: Verb {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List records by zone and name.")

  @Option(help: "Show only records of this type.") var type: String?
  @Option(help: "Show only records of this zone.") var zone: String?
  @Option(parsing: .unconditional, help: "Maximum number of records.") var limit: Int?
  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var source: RecordSource
  @OptionGroup var options: StoreOptions

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
  }

  func run(_ session: Session) async throws {
    let records = RecordListing(type: type, zone: zone, limit: limit, source: source)
    try await records.print(session, json ? nil : RecordRow.table)
  }
}

extension RecordRow {
  /// The table of records, without rows.
  static var table: TextTable {
    TextTable([.shrinking("NAME"), .shrinking("TYPE"), .shrinking("ZONE"), "STATE", .shrinking("FIELDS")])
  }

  /// The record as a row of the table.
  var cells: [String] {
    [
      record.key.name, record.type, record.key.zone, Words.state(operationState?.rawValue ?? ""),
      record.fields.text(Format()),
    ]
  }
}

/// `cktop records export`.
struct RecordsExport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export records as NDJSON, one JSON object per line."
  )

  @Option(help: "Show only records of this type.") var type: String?
  @Option(help: "Show only records of this zone.") var zone: String?
  @Flag(help: "No effect; the output is always JSON.") var json = false
  @OptionGroup var source: RecordSource
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try await RecordListing(type: type, zone: zone, limit: nil, source: source).print(session, nil)
  }
}

/// Reads records page by page, so that a large local copy is never in memory as a whole.
struct RecordListing {
  let type: String?
  let zone: String?
  let limit: Int?
  let source: RecordSource

  /// Prints the records, as JSON without a table.
  func print(_ session: Session, _ table: TextTable?) async throws {
    var (listing, page) = (Listing(table), ListPage<RecordKey>())
    try await each(session) { row in
      guard !page.add(table == nil ? [row.json.line] : row.cells, at: row.record.key) else { return }
      listing.print(page)
      page = ListPage()
    }
    listing.print(page)
  }

  /// Calls `body` with each record; a store that does not exist has none.
  func each(_ session: Session, _ body: (RecordRow) throws -> Void) async throws {
    let store = try source.store(session)
    let zone = try zone.map(store.zoneKey(named:))
    if source.remote { return try await eachRemote(session, store, zone, body) }
    var (last, left): (RecordKey?, Int) = (nil, limit ?? .max)
    while left > 0 {
      let count = min(Listing.pageSize, left)
      let rows = try store.records(after: last, zone: zone, type: type, mirrorOnly: source.mirror, limit: count)
      for row in rows { try body(row) }
      guard rows.count == count else { return }
      (last, left) = (rows.last?.record.key, left - count)
    }
  }

  private func eachRemote(
    _ session: Session,
    _ store: SyncStore,
    _ zone: ZoneKey?,
    _ body: (RecordRow) throws -> Void
  ) async throws {
    let engine = try session.engine(store)
    if type == nil, store.knowsNoTypes {
      OutputStream.error.line("cktop: no record types are known, so nothing can be read; name one with --type")
    }
    let zones = if let zone { [zone] } else { try await engine.zonesOfServer() }
    var left = limit ?? .max
    for zone in zones {
      let records = try await engine.recordsOfServer(in: zone, types: type.map { [$0] } ?? [])
      for record in records.values.sorted(by: { $0.key < $1.key }) where type == nil || record.type == type {
        guard left > 0 else { return }
        left -= 1
        try body(RecordRow(onServer: record))
      }
    }
  }
}
