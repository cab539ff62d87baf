import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts

/// `cktop records get`.
struct RecordsGet: Verb {
  static let configuration = CommandConfiguration(commandName: "get", abstract: "Show single records by name.")

  @Argument(help: "The names of the records.") var names: [String]
  @Option(help: "The zone; default: all zones are searched.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Flag(help: .json("Print one JSON object per line.", RecordRow.shape)) var json = false
  @OptionGroup var source: RecordSource
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try source.store(session)
    let zone = try store.zoneKey(zone, of: whose)
    var found: [RecordRow] = []
    var missing: [String] = []
    let remote = source.remote ? try await remoteRecords(session, store, zone) : [:]
    for name in names {
      let row = source.remote ? remote[name] : try store.record(named: name, zone: zone, mirrorOnly: source.mirror)
      if let row { found.append(row) } else { missing.append(name) }
    }
    for (index, row) in found.enumerated() {
      if !json, index > 0 { OutputFile.standard.line("") }
      OutputFile.standard.lines(json ? [row.json.line] : Self.lines(row).map(\.visible))
    }
    for name in missing { CommandFailure.noRecord(name, zone: self.zone).report() }
    try (missing.isEmpty ? CommandStatus.done : .itemsFailed).end()
  }

  private func remoteRecords(_ session: Session, _ store: SyncStore, _ zone: ZoneKey?) async throws -> [String:
    RecordRow]
  {
    let engine = try session.engine(store)
    let zones = if let zone { [zone] } else { try await engine.zonesOfServer() }
    var found: [String: RecordRow] = [:]
    for zone in zones {
      for record in try await engine.refetch(names, in: zone).values {
        let name = record.key.name
        if let other = found.updateValue(RecordRow(onServer: record), forKey: name), other.record.key.zoneKey != zone {
          throw CommandFailure.severalZones(of: name, [other.record.key.zoneKey, zone])
        }
      }
    }
    return found
  }

  private static func lines(_ row: RecordRow) -> [String] {
    let (record, format) = (row.record, Format())
    var lines = [
      "\(record.type) \(record.key.name) in zone \(record.key.zoneKey.title)",
      "  changeTag  \(row.changeTag ?? "not on the server yet")",
      "  modified   \(format.time(record.modifiedAt, now: SyncStore.currentTime))",
    ]
    if let operation = row.operation {
      lines.append("  pending    operation \(operation), \(Words.state(row.operationState?.rawValue ?? ""))")
    }
    for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(name) (\(value.wireType)) = \(value.text(format))")
    }
    return lines
  }
}
