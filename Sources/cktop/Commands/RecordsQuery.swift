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
  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var source: RecordSource
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let parsed = try CKQuery(parsing: query)
    let store = try source.store(session)
    let types = try store.knownFieldTypes(of: parsed.recordType, wanted: parsed.fields)
    let query = try typed(parsed, types)
    let found =
      source.remote ? try await remoteRecords(query, session, store) : try await records(query, types, session)
    let rows = query.sorted(found).prefix(limit.count)
    if json { return OutputStream.standard.lines(rows.map(\.json.line)) }
    var table = RecordRow.table
    let zones = try store.zoneTitles()
    for row in rows { table.append(row.cells(zones)) }
    OutputStream.standard.lines(table.lines(width: OutputStream.standard.width))
  }

  /// The query with its values in the types that the fields have in the local copy or the queue.
  private func typed(_ query: CKQuery, _ types: [String: String]) throws -> CKQuery {
    do throws(CKError) {
      return try query.typed(by: types) { text in
        RFC3339.milliseconds(text).map { $0..<$0 + 1 } ?? Format().times(text)
      }
    } catch {
      throw CommandFailure.usage("\(error.localizedDescription.withoutFullStop); correct the query")
    }
  }

  private func records(_ query: CKQuery, _ types: [String: String], _ session: Session) async throws -> [RecordRow] {
    var (found, isEmpty) = ([RecordRow](), true)
    var unseen = query.fields.subtracting(types.keys)
    let all = RecordSelection(type: query.recordType, zone: zone, whose, limit: .max, source: source)
    try await all.each(session) { row in
      isEmpty = false
      if !unseen.isEmpty { unseen.subtract(row.record.fields.keys) }
      if query.predicate.evaluate(with: CKRecord(row.record)) { found.append(row) }
    }
    guard !isEmpty else { return [] }
    for name in unseen.sorted() {
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
    return found.sorted { $0.key < $1.key }.map(RecordRow.init(onServer:))
  }
}

extension CKQuery {
  /// Reads `TYPE where PREDICATE sort by FIELD desc, FIELD`.
  convenience init(parsing text: String) throws(CommandFailure) {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let type = String(text.prefix { !$0.isWhitespace })
    guard NameRule.isFieldName(type) else {
      throw .usage("a query begins with a record type; write for example City where name = 'Lisbon'")
    }
    let (head, order) = text.dropFirst(type.count).splitAtSorting
    let condition: String
    if let match = head.prefixMatch(of: /\s*where\b/.ignoresCase()) {
      condition = String(head[match.range.upperBound...])
    } else if head.allSatisfy(\.isWhitespace) {
      condition = "TRUEPREDICATE"
    } else {
      let text = head.trimmingCharacters(in: .whitespaces)
      throw .usage(
        "after a record type comes 'where' or 'sort by', not '\(text.excerpt)'; see cktop help records query"
      )
    }
    self.init(recordType: type, predicate: NSPredicate(format: condition))
    if let problem { throw .usage("the predicate cannot be read: \(problem); correct it") }
    sortDescriptors = try order.map(Self.descriptors)
  }

  private static func descriptors(_ text: Substring) throws(CommandFailure) -> [NSSortDescriptor] {
    var descriptors: [NSSortDescriptor] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(whereSeparator: \.isWhitespace)
      let way = words.dropFirst().first?.lowercased() ?? "asc"
      guard let field = words.first, words.count <= 2, NameRule.isFieldName(String(field)),
        ["asc", "ascending", "desc", "descending"].contains(way)
      else { throw .usage("'sort by' takes fields, each with asc or desc after it; write sort by people desc, name") }
      descriptors.append(NSSortDescriptor(key: String(field), ascending: way.hasPrefix("asc")))
    }
    return descriptors
  }

  /// The records in the order of the query; equal ones keep their order.
  fileprivate func sorted(_ rows: [RecordRow]) -> [RecordRow] {
    guard let descriptors = sortDescriptors else { return rows }
    return rows.enumerated().map { (place: $0.offset, row: $0.element, record: CKRecord($0.element.record)) }
      .sorted { one, other in
        for descriptor in descriptors {
          switch descriptor.compare(one.record, to: other.record) {
          case .orderedAscending: return true
          case .orderedDescending: return false
          case .orderedSame: continue
          }
        }
        return one.place < other.place
      }
      .map(\.row)
  }
}

extension Substring {
  /// The parts before and after the last `sort by` outside quotes; the second is nil if there is none.
  fileprivate var splitAtSorting: (Substring, Substring?) {
    var quote: Character?
    var isEscaped = false
    var last: Range<Index>?
    for index in indices {
      let character = self[index]
      if isEscaped {
        isEscaped = false
      } else if let open = quote {
        if character == "\\" { isEscaped = true } else if character == open { quote = nil }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if index == startIndex || self[self.index(before: index)].isWhitespace,
        let match = self[index...].prefixMatch(of: /sort\s+by\b/.ignoresCase())
      {
        last = match.range
      }
    }
    return last.map { (self[..<$0.lowerBound], self[$0.upperBound...]) } ?? (self, nil)
  }
}
