import CloudSync
import Dashboard
import Facts
import Foundation
import Glibc
import JSONText

/// A new file of JSON lines in the working directory, for what the dashboard exports.
struct ExportFile {
  private let reader: StoreReader
  private let descriptor: Int32
  private let path: String
  private let progress: Dashboard.Setting.ExportProgress
  private var lines = 0

  /// Writes what is exported, in slices of 500 rows, and returns what to say about it.
  static func write(_ export: Export, _ reader: StoreReader, _ progress: @escaping Dashboard.Setting.ExportProgress)
    throws -> String
  {
    var file = try ExportFile(export, reader, progress)
    defer { close(file.descriptor) }
    progress(0, nil)
    switch export {
    case .operations(let ids): try file.write(ids)
    case .allOperations(let listing, let except):
      try file.write(try reader.view { try $0.operationIDs(of: listing) }.filter { !except.contains($0) })
    case .records(let keys): try file.write(keys)
    case .allRecords(let listing, let except): try file.write(listing, except)
    case .events(let events): try file.add(events.map(\.json))
    case .allEvents(let listing, let except):
      // The log has a bound for each kind.
      try file.add(reader.view { try $0.events(listing, limit: nil) }.filter { !except.contains($0.id) }.map(\.json))
    }
    guard file.lines > 0 else {
      unlink(file.path)
      return "Nothing was exported: the list is empty"
    }
    return "Wrote \(Words.count(file.lines, "line")) to \(file.path)"
  }

  private init(_ export: Export, _ reader: StoreReader, _ progress: @escaping Dashboard.Setting.ExportProgress) throws {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "yyyyMMdd-HHmmss"
    let kind =
      switch export {
      case .operations, .allOperations: "queue"
      case .records, .allRecords: "records"
      case .events, .allEvents: "events"
      }
    let name = "cktop-\(kind)-\(formatter.string(from: Date())).ndjson"
    path = URL(fileURLWithPath: FileManager.default.currentDirectoryPath).appending(path: name).path
    // Records are data of users: nobody else may read the file, and none is overwritten.
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure("\(path.excerpt) cannot be written: \(String(cString: strerror(errno)))", .itemsFailed)
    }
    (self.reader, self.progress) = (reader, progress)
  }

  private static let slice = 500

  private mutating func write(_ ids: [Int64]) throws {
    for start in stride(from: 0, to: ids.count, by: Self.slice) {
      let slice = ids[start..<min(start + Self.slice, ids.count)]
      var objects: [JSONObject] = []
      try reader.view { view in try view.details(of: Array(slice)) { if let json = $1.json { objects.append(json) } } }
      try add(objects)
      progress(slice.endIndex, ids.count)
    }
  }

  private mutating func write(_ keys: [RecordKey]) throws {
    for start in stride(from: 0, to: keys.count, by: Self.slice) {
      let slice = keys[start..<min(start + Self.slice, keys.count)]
      try add(reader.view { view in try slice.compactMap { try view.detail(of: $0)?.row?.json } })
      progress(slice.endIndex, keys.count)
    }
  }

  /// In one transaction, so that records added or removed meanwhile do not shift the others.
  private mutating func write(_ listing: RecordListing, _ except: Set<RecordKey>) throws {
    // An error of the file is none of the store, which is read around it.
    var failure: (any Error)?
    try reader.view { view in
      var done = 0
      try view.eachRecords(of: listing, searching: { progress(0, nil) }) { rows, total in
        for start in stride(from: 0, to: rows.count, by: Self.slice) {
          let slice = rows[start..<min(start + Self.slice, rows.count)]
          do { try add(slice.filter { !except.contains($0.record.key) }.map(\.json)) } catch {
            failure = error
            return false
          }
          done += slice.count
          progress(done, total)
        }
        return true
      }
    }
    if let failure { throw failure }
  }

  private mutating func add(_ objects: [JSONObject]) throws {
    guard !objects.isEmpty else { return }
    do {
      try OutputFile(descriptor: descriptor).writeAll(objects.map { $0.line + "\n" }.joined())
    } catch {
      let reason = String(cString: strerror(error.code))
      throw CommandFailure(
        "the export is incomplete (\(reason)); free some space and export again, or write it elsewhere",
        .itemsFailed
      )
    }
    lines += objects.count
  }
}
