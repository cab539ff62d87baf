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
