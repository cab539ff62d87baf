import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts
import JSONText

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
    var (listing, page) = (ListPrinter(table), PrintedPage<RecordKey>())
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
      let count = min(ListPrinter.pageSize, left)
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
      OutputFile.error.line("cktop: no record types are known, so nothing can be read; name one with --type")
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
