import ArgumentParser
import CloudKit
import CloudSync

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

/// Finds zones and records by name.
extension SyncStore {
  /// The zone with this name. In the shared database, where zones have owners, the known zone with this name.
  func zoneKey(named name: String) throws -> ZoneKey {
    guard scope.database == .shared else { return ZoneKey(zone: name) }
    let known = try zones().map(\.key).filter { $0.zone == name }
    guard let key = known.first else {
      throw CommandFailure.usage("there is no shared zone '\(name)'; run cktop zones list to see them")
    }
    guard known.count == 1 else {
      let owners = known.map(\.owner).joined(separator: ", ")
      throw CommandFailure.usage("several users share zone '\(name)' (\(owners)); this version cannot distinguish them")
    }
    return key
  }

  /// The only record with this name; nil if there is none.
  ///
  /// - Throws: A usage failure that names the zones if there are several.
  func record(named name: String, zone: ZoneKey?, mirrorOnly: Bool = false) throws -> RecordRow? {
    let found = try records(named: name, zone: zone, mirrorOnly: mirrorOnly)
    guard found.count > 1 else { return found.first }
    let zones = found.map(\.record.key.zone).joined(separator: ", ")
    throw CommandFailure.usage("'\(name)' is a record in several zones (\(zones)); choose one with --zone")
  }
}

extension CommandFailure {
  /// The failure for a record that does not exist.
  static func noRecord(_ name: String, zone: String?) -> CommandFailure {
    let place = zone.map { " in zone \($0)" } ?? ""
    return CommandFailure("there is no record '\(name)'\(place); run cktop records list to see them", .itemsFailed)
  }
}
