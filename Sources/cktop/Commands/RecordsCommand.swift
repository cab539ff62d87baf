import ArgumentParser
import CloudKit
import CloudSync

/// `cktop records`.
struct RecordsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "records",
    abstract: "Records: the mirror with pending edits laid over it, and changes to it.",
    subcommands: [
      RecordsList.self, RecordsGet.self, RecordsQuery.self, RecordsPut.self, RecordsDelete.self, RecordsImport.self,
      RecordsExport.self,
    ],
    defaultSubcommand: RecordsList.self
  )
}

/// Which version of the records is meant.
struct RecordSource: ParsableArguments {
  @Flag(help: "As the server is known to hold them, without pending edits.") var mirror = false
  @Flag(help: "Ask the server.") var remote = false

  func validate() throws {
    if mirror, remote { throw ValidationError("--mirror and --remote exclude each other") }
  }

  /// The store to read. The server can be asked without one.
  func store(_ session: Session) throws -> SyncStore {
    guard remote else { return try session.storeToRead() }
    return try session.storeIfMade() ?? SyncStore(SQLiteStorage(inMemory: "none"), scope: session.scope())
  }
}

/// Finding zones and records by the names that people give.
extension SyncStore {
  /// The zone of that name. In the shared database zones have owners: the one that is known under the name.
  func zoneKey(named name: String) throws -> ZoneKey {
    guard scope.database == .shared else { return ZoneKey(zone: name) }
    let known = try zones().map(\.key).filter { $0.zone == name }
    guard let key = known.first else {
      throw CommandFailure.usage("there is no shared zone '\(name)'; cktop zones list names them")
    }
    guard known.count == 1 else {
      let owners = known.map(\.owner).joined(separator: ", ")
      throw CommandFailure.usage("zone '\(name)' is shared by \(owners); this version cannot tell them apart")
    }
    return key
  }

  /// The one record of that name, nil where there is none.
  ///
  /// - Throws: A usage failure that names the zones, where there are several.
  func record(named name: String, zone: ZoneKey?, mirrorOnly: Bool = false) throws -> RecordRow? {
    let found = try records(named: name, zone: zone, mirrorOnly: mirrorOnly)
    guard found.count > 1 else { return found.first }
    let zones = found.map(\.record.key.zone).joined(separator: ", ")
    throw CommandFailure.usage("'\(name)' is a record in the zones \(zones); say which with --zone")
  }
}

extension CommandFailure {
  /// A record that is not there.
  static func noRecord(_ name: String, zone: String?) -> CommandFailure {
    let place = zone.map { " in zone \($0)" } ?? ""
    return CommandFailure("there is no record '\(name)'\(place); cktop records list names them", .itemsFailed)
  }
}
