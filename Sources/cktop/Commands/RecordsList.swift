import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts
import JSONText

/// Which records to print, in which order: what the dashboard's records can show.
struct RecordPage: ParsableArguments {
  @Option(help: "Show only records of this type.", completion: .recordTypes) var type: String?
  @Option(help: "Show only records of this zone.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "Select records, for example \"title like 'Buy%' and count >= 5\".",
      discussion: """
        SQL-like over the fields and name, type, zone, with = != < <= > >= like in is null and or not ( ), as the \
        dashboard's filter takes it. A date without an offset is local, as dates are shown. A field called name is fields.name. For NSPredicate formats see 'cktop records query'.
        """,
      valueName: "expr"
    )
  )
  var expression: String?
  @Option(
    help: ArgumentHelp(
      "The order: name (by zone and name), newest (unsent changes first), FIELD, or 'FIELD desc'.",
      discussion: "A field called name or newest is fields.name or fields.newest.",
      valueName: "order"
    )
  )
  var sort: String?
  @OptionGroup var limit: LimitOption
  @OptionGroup var source: RecordSource

  func validate() throws {
    if expression != nil || sort != nil, source.mirror || source.remote {
      throw ValidationError("--where and --sort cannot be combined with --mirror or --remote; use cktop records query")
    }
  }

  func selection() throws -> RecordSelection {
    var selection = RecordSelection(type: type, zone: zone, whose, limit: limit.count, source: source)
    if let expression {
      selection.listing.filter = .expression(try QueueFilter(parsing: expression, of: .records), text: expression)
    }
    if let sort { selection.listing.order = try Self.order(sort) }
    return selection
  }

  private static func order(_ text: String) throws(CommandFailure) -> RecordListing.Order {
    let words = text.split(separator: " ").map(String.init)
    switch (words.first, words.dropFirst().map { $0.lowercased() }) {
    case ("name", []): return .name
    case ("newest", []): return .newest
    case (let field?, []): return .field(FilterTable.field(field), isDescending: false)
    case (let field?, ["desc"]): return .field(FilterTable.field(field), isDescending: true)
    default: throw .usage("'\(text.excerpt)' is no order; give name, newest, FIELD or 'FIELD desc'")
    }
  }
}

/// `cktop records list`.
struct RecordsList: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List records by zone and name unless --sort says otherwise."
  )

  @OptionGroup var page: RecordPage
  @Flag(help: .json("Print one JSON object per line.", RecordRow.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try await page.selection().print(session, json ? nil : RecordRow.table)
  }
}

extension RecordRow {
  /// The table of records, without rows.
  static var table: TextTable {
    TextTable([.shrinking("NAME"), .shrinking("TYPE"), .shrinking("ZONE"), "STATE", .shrinking("FIELDS")])
  }

  /// The record as a row of the table.
  func cells(_ zones: ZoneTitles) -> [String] {
    [
      record.key.name, record.type, zones[record.key.zoneKey], Words.state(operationState?.rawValue ?? ""),
      record.fields.text(Format()),
    ]
  }
}

/// `cktop records export`.
struct RecordsExport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export records as NDJSON, one JSON object per line.",
    discussion: """
      With --files, the files of assets are written into a folder, those that only the server has are fetched, and the \
      lines name them. Exporting again into that folder fetches only files that it lacks. 'cktop records import --files' \
      takes them.

        cktop records export --type Task --files ./files > tasks.ndjson
      """
  )

  @OptionGroup var page: RecordPage
  @Option(
    help: ArgumentHelp("Write the files of assets into this folder.", valueName: "folder"),
    completion: .directory,
    transform: String.path
  )
  var files: String?
  @Flag(help: .json("No effect; the output is always JSON.", RecordRow.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let selection = try page.selection()
    guard let path = files else { return try await selection.print(session, nil) }
    var files = try ExportedFiles(path, page.source.store(session))
    try await selection.print(session, nil) { row in
      try files.add(row)
      return RecordRow.fieldsWithFiles.object(row)
    }
    try await files.fetch(session).end()
  }
}

/// Reads records some at a time, so that a large local copy is never in memory as a whole.
struct RecordSelection {
  var type: String?
  var zone: String?
  var whose: ZoneOwner
  var limit: Int
  var source: RecordSource
  var listing: RecordListing

  init(type: String?, zone: String?, _ whose: ZoneOwner, limit: Int, source: RecordSource) {
    (self.type, self.zone, self.whose, self.limit, self.source) = (type, zone, whose, limit, source)
    listing = RecordListing()
    listing.order = .name
  }

  /// Prints the records, as JSON without a table.
  func print(_ session: Session, _ table: TextTable?, _ json: (RecordRow) throws -> JSONObject = { $0.json })
    async throws
  {
    var (listing, page) = (Listing(table), PrintedPage<RecordKey>())
    let zones = try table == nil ? ZoneTitles([]) : source.store(session).zoneTitles()
    try await each(session) { row in
      guard !page.add(table == nil ? [try json(row).line] : row.cells(zones), at: row.record.key) else { return }
      listing.print(page)
      page = PrintedPage()
    }
    listing.print(page)
  }

  /// Calls `body` with each record; a store that does not exist has none.
  func each(_ session: Session, _ body: (RecordRow) throws -> Void) async throws {
    let store = try source.store(session)
    let zone = try store.zoneKey(zone, of: whose)
    if source.remote { return try await eachRemote(session, store, zone, body) }
    var isEmpty = true
    try eachLocal(session, store, zone) { row in
      isEmpty = false
      try body(row)
    }
    if isEmpty { try Self.reportEmpty(zone, type, session, store) }
  }

  /// Notes what may be misspelled if there is no record.
  static func reportEmpty(_ zone: ZoneKey?, _ type: String?, _ session: Session, _ store: SyncStore) throws {
    if let zone, try !store.hasSeen(zone) { ZoneNote.report(zone.zone, "cktop zones list shows those that are") }
    guard let type else { return }
    let types = try session.reader().view { try $0.status().recordsByType.keys.sorted() }
    guard !types.contains(type) else { return }
    UnknownNote.report("no record of type '\(type.excerpt)' is known locally", "types", known: types)
  }

  private func eachLocal(
    _ session: Session,
    _ store: SyncStore,
    _ zone: ZoneKey?,
    _ body: (RecordRow) throws -> Void
  ) throws {
    guard listing.filter == .none, listing.order == .name else { return try eachListed(session, zone, body) }
    var (last, left): (RecordKey?, Int) = (nil, limit)
    while left > 0 {
      let count = min(Listing.pageSize, left)
      let rows = try store.records(after: last, zone: zone, type: type, mirrorOnly: source.mirror, limit: count)
      for row in rows { try body(row) }
      guard rows.count == count else { return }
      (last, left) = (rows.last?.record.key, left - count)
    }
  }

  /// In one transaction, so that records added or removed meanwhile do not shift the others.
  private func eachListed(_ session: Session, _ zone: ZoneKey?, _ body: (RecordRow) throws -> Void) throws {
    var (left, unseen) = (limit, listing.fields)
    let reader = try session.reader()
    try reader.view { view in
      try view.eachRecords(of: listing) { rows, _ in
        for row in rows
        where left > 0 && (type == nil || row.record.type == type) && (zone == nil || row.record.key.zoneKey == zone) {
          left -= 1
          if !unseen.isEmpty { unseen.subtract(row.record.fields.keys.map { $0.lowercased() }) }
          try body(row)
        }
        return left > 0
      }
    }
    if !unseen.isEmpty { try reportUnknown(unseen, reader) }
  }

  /// Notes fields that no record has: their names may be misspelled.
  private func reportUnknown(_ fields: Set<String>, _ reader: StoreReader) throws {
    let types = try reader.view { try $0.status().recordsByType.keys.sorted() }
    let known = Set(try types.flatMap { try reader.store.knownFieldTypes(of: $0).keys })
    for name in fields.subtracting(known.map { $0.lowercased() }).sorted() {
      UnknownNote.report("none of the newest records has a field '\(name.excerpt)'", "fields", known: known)
    }
  }

  private func eachRemote(
    _ session: Session,
    _ store: SyncStore,
    _ zone: ZoneKey?,
    _ body: (RecordRow) throws -> Void
  ) async throws {
    let engine = try session.engine(store)
    let zones = try await engine.zonesToRead(zone)
    if type == nil, store.knowsNoTypes {
      OutputStream.error.line("cktop: no record types are known, so nothing can be read; name one with --type")
    }
    var left = limit
    for zone in zones {
      let records = try await engine.recordsOfServer(in: zone, types: type.map { [$0] } ?? [])
      var last = ""
      while let rows = try records.next(of: zone, after: &last) {
        for record in rows.compactMap(\.record) where type == nil || record.type == type {
          guard left > 0 else { return }
          left -= 1
          try body(RecordRow(onServer: record))
        }
      }
    }
  }
}

extension SyncEngine {
  /// The zones of the server, or only the one that is named, which it must have.
  func zonesToRead(_ zone: ZoneKey?) async throws -> [ZoneKey] {
    let zones = try await zonesOfServer()
    guard let zone else { return zones }
    guard zone.isDefaultZone || zones.contains(zone) else {
      // The list of known zones may have one that is not sent yet.
      throw CommandFailure("the server has no zone \(zone.title.excerpt); check --zone", .itemsFailed)
    }
    return [zone]
  }
}

/// A note on standard error about a type or field that no local record has, in case its name is misspelled.
enum UnknownNote {
  static func report(_ sentence: String, _ kind: String, known: some Sequence<String>) {
    let names = known.sorted().joined(separator: ", ")
    OutputStream.error.line("cktop: \(sentence)\(names.isEmpty ? "" : "; the \(kind) are \(names)")".visible)
  }
}
