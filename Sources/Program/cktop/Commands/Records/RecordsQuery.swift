import ArgumentParser
import CloudKit
import CloudSync
import Facts
import Foundation

/// `cktop records query`.
struct RecordsQuery: Verb {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "List the records that a query matches.",
    discussion: """
      A query is a record type, then 'where' with an NSPredicate format, then 'sort by' with fields. Write 'desc' \
      after a field for descending order. 'where' and 'sort by' are optional.

        cktop records query "City where people > 100000 and name beginswith 'L' sort by people desc, name"

      Values are compared as the field's type in the local copy: a TIMESTAMP with '2026-01-02', '2026-01-02T15:04:05Z' \
      or milliseconds since 1970, numbers with numbers; a value that does not fit is an error. A time without an offset \
      is local, as times are shown. creationDate and modificationDate are compared as TIMESTAMP. The local copy supports the whole grammar; --remote only what the \
      server supports: conditions joined with AND.

        cktop records query "Task where due < '2026-02-01' and modificationDate > '2026-01-31T12:00:00Z'"
      """
  )

  @Argument(
    help: ArgumentHelp("The query: 'TYPE where CONDITIONS sort by FIELD'.", valueName: "query"),
    completion: .recordTypes
  )
  var query: String
  @Option(help: "Show only records of this zone.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @OptionGroup var limit: LimitOption
  @Flag(help: .json("Print one JSON object per line.", RecordRow.shape)) var json = false
  @OptionGroup var source: RecordSource
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let parsed = try CKQuery(parsing: query)
    let store = try source.store(session)
    let types = try store.knownFieldTypes(of: parsed.recordType, wanted: parsed.fields)
    let query = try parsed.typed(by: types) { text in
      RFC3339.milliseconds(text).map { $0..<$0 + 1 } ?? Format().times(text)
    }
    let rows =
      source.remote
      ? try await remoteRecords(query, session, store) : try localRecords(query, types, session, store)
    if json { return OutputFile.standard.lines(rows.map(\.json.line)) }
    var table = RecordRow.table
    let zones = try store.zoneTitles()
    for row in rows { table.append(row.cells(zones)) }
    OutputFile.standard.lines(table.lines(width: OutputFile.standard.width))
  }

  private func localRecords(
    _ query: CKQuery,
    _ types: [String: String],
    _ session: Session,
    _ store: SyncStore
  ) throws -> [RecordRow] {
    let zone = try store.zoneKey(zone, of: whose)
    let found: [RecordRow]
    do {
      var stored = try StoredQuery(query, in: zone, limit: limit.count)
      stored.isMirrorOnly = source.mirror
      found = try store.records(matching: stored) { $0 }
    } catch let error as CKError {
      throw CommandFailure.usage("\(error.localizedDescription.withoutFullStop); correct the query")
    }
    if found.isEmpty, try !store.exists(StoredQuery(type: query.recordType, in: zone), source) {
      try RecordSelection.reportEmpty(zone, query.recordType, session, store)
      return []
    }
    for name in query.fields.subtracting(types.keys).sorted() {
      let isThere = NSPredicate(format: "%K != nil", argumentArray: [name])
      let having = try StoredQuery(CKQuery(recordType: query.recordType, predicate: isThere), in: zone)
      guard try !store.exists(having, source) else { continue }
      UnknownNote.report("no \(query.recordType) record has a field '\(name.excerpt)'", "fields", known: types.keys)
    }
    return found
  }

  private func remoteRecords(_ query: CKQuery, _ session: Session, _ store: SyncStore) async throws -> [RecordRow] {
    let engine = try session.engine(store)
    let zones = try await engine.zonesToRead(store.zoneKey(zone, of: whose))
    var found: [MirrorRecord] = []
    do {
      for zone in zones { found += try await engine.recordsOfServer(in: zone, matching: query) }
    } catch let error as CKError {
      throw CommandFailure.usage("\(error.localizedDescription.withoutFullStop); omit --remote to query the local copy")
    } catch let error as WebServicesError where error.code == .badRequest {
      let cause = Words.joined(error.reason.withoutFullStop, error.code.name)
      throw CommandFailure.usage("the server rejected the query: \(cause); correct it, or omit --remote")
    }
    let sorted = try StoredQuery(query).sorted(found) { CKRecord($0) }
    return sorted.prefix(limit.count).map(RecordRow.init(onServer:))
  }
}

extension SyncStore {
  /// Whether a record matches.
  fileprivate func exists(_ query: StoredQuery, _ source: RecordSource) throws -> Bool {
    var query = query
    (query.limit, query.isMirrorOnly) = (1, source.mirror)
    return try !records(matching: query, { _ in true }).isEmpty
  }
}
