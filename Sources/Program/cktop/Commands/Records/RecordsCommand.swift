import ArgumentParser
import CloudKit
import CloudSync
import Facts

/// `cktop records`.
struct RecordsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "records",
    abstract: "List, query and change records: the local copy with pending edits applied.",
    subcommands: [
      RecordsList.self, RecordsGet.self, RecordsQuery.self, RecordsPut.self, RecordsDelete.self, RecordsImport.self,
      RecordsExport.self,
    ],
    defaultSubcommand: RecordsList.self
  )
}

/// The source to read records from.
struct RecordSource: ParsableArguments {
  @Flag(help: "Show the local copy without pending edits.") var mirror = false
  @Flag(help: "Read from the server.") var remote = false

  func validate() throws {
    if mirror, remote { throw ValidationError("--mirror and --remote cannot be combined") }
  }

  /// The store to read. The server can be read without one.
  func store(_ session: Session) throws -> SyncStore {
    guard remote else { return try session.storeToRead() }
    return try session.storeIfMade() ?? SyncStore(SQLiteStorage(inMemory: "none"), scope: session.scope())
  }
}

/// Finds records by name.
extension SyncStore {
  /// The only record with this name; nil if there is none.
  ///
  /// - Throws: A usage failure that names the zones if there are several.
  func record(named name: String, zone: ZoneKey?, mirrorOnly: Bool = false) throws -> RecordRow? {
    let found = try records(named: name, zone: zone, mirrorOnly: mirrorOnly)
    guard found.count > 1 else { return found.first }
    throw CommandFailure.severalZones(of: name, found.map(\.record.key.zoneKey))
  }
}

extension CommandFailure {
  /// The failure for a name that records of several zones have.
  static func severalZones(of name: String, _ zones: [ZoneKey]) -> CommandFailure {
    let titles = ZoneTitles(zones)
    let options = Set(zones.map(\.zone)).count < zones.count ? "--zone and --owner" : "--zone"
    let list = zones.sorted().map { titles[$0] }.joined(separator: ", ")
    return .usage("'\(name)' is a record in several zones (\(list)); choose one with \(options)")
  }

  /// The failure for a record that does not exist.
  static func noRecord(_ name: String, zone: String?) -> CommandFailure {
    let place = zone.map { " in zone \($0)" } ?? ""
    return CommandFailure(
      "there is no record '\(name.excerpt)'\(place); run cktop records list to see them",
      .itemsFailed
    )
  }
}
