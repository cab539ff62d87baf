import CloudKit
import CloudSync
import Facts
import Foundation

/// The files of exported records, in a folder. Each is named by the checksum of its bytes, so that a file that is there
/// already is not fetched again.
struct ExportedFiles {
  /// A file that only the server has.
  private struct Wanted {
    let record: MirrorRecord
    let field: String
    let position: Int
    let name: String

    /// Nil if the file is there already, or could be copied.
    init?(_ row: TemporaryRecords.Row) {
      guard let record = row.record, let field = record.fields.first(where: { $0.value.assets != nil })?.key else {
        return nil
      }
      (self.record, self.field, position, name) = (record, field, row.number, row.key.name)
    }
  }

  /// The number of files that are fetched before they are moved to the folder.
  private static let slice = 16
  /// The zone in the keys of files.
  private static let zone = ZoneKey(zone: "")

  private let folder: URL
  private let store: SyncStore
  /// The files by name. One that only the server has is there with its record and its position in the record's field.
  private let files: TemporaryRecords
  /// Whether files are missing.
  private var status = CommandStatus.done

  /// Makes the folder if there is none.
  init(_ path: String, _ store: SyncStore) throws {
    folder = URL(fileURLWithPath: path)
    self.store = store
    files = try TemporaryRecords()
    do {
      // Files are data of users, as the records are.
      let attributes = [FileAttributeKey.posixPermissions: 0o700]
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: attributes)
    } catch {
      let reason = error.fileReason
      throw CommandFailure.usage("\(path.excerpt) cannot be made a folder (\(reason)); name another with --files")
    }
  }

  /// The name of an asset's file; nil if nothing tells its bytes from others.
  static func name(of asset: WireAsset) -> String? {
    guard let checksum = asset.fileChecksum, !checksum.isEmpty else { return nil }
    // A checksum is the server's text, and may have slashes.
    let name = checksum.addingPercentEncoding(withAllowedCharacters: plain)
    return name.flatMap { $0.utf8.count <= 200 ? $0 : nil }
  }

  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
  )

  /// Copies the files of a record that this machine has, and notes the others.
  mutating func add(_ row: RecordRow) throws {
    var queued: [QueuedAsset]?
    for (field, value) in row.record.fields.sorted(by: { $0.key < $1.key }) {
      for (position, asset) in (value.assets ?? []).enumerated() {
        guard let name = Self.name(of: asset) else {
          report(field, row.record.key, "the server gave it no checksum")
          continue
        }
        let place = RecordKey(Self.zone, name)
        guard try files.add(TemporaryRecords.Row(place)) == nil, !has(asset, name) else { continue }
        let own =
          try queued ?? row.operation.flatMap { id in try store.view { try $0.detail(of: id) }?.operation?.assets }
          ?? []
        queued = own
        let source = own.first {
          $0.field == field && $0.position == position && $0.value.fileChecksum == asset.fileChecksum
        }
        if let source, let copy = store.file(of: source) {
          guard let problem = try put(copy, as: name, of: source) else { continue }
          if source.checksum == nil {
            // The server cannot have the bytes, but another record may have a copy of them.
            try files.remove(place)
            let record = row.record.key.name
            report(CommandFailure("the file \(copy.path) of \(field) of \(record) \(problem.text)", .itemsFailed))
            continue
          }
        }
        try files.put(TemporaryRecords.Row(place, number: position, record: row.record.only([field])))
      }
    }
  }

  /// Fetches the files that only the server has. A file that cannot be fetched is reported, the others are fetched.
  ///
  /// - Returns: the exit code.
  mutating func fetch(_ session: Session) async throws -> CommandStatus {
    var (database, last): (CKDatabase?, String) = (nil, "")
    while let rows = try files.next(of: Self.zone, after: &last) {
      let wanted = rows.compactMap(Wanted.init)
      for start in stride(from: 0, to: wanted.count, by: Self.slice) {
        let source = try database ?? self.database(session)
        database = source
        try await fetch(Array(wanted[start..<min(start + Self.slice, wanted.count)]), source)
      }
    }
    return status
  }

  private func database(_ session: Session) throws -> CKDatabase {
    let container = CKContainer(sharing: try session.client(store.scope))
    return container.database(with: store.scope.database.scope).withoutDownloads
  }

  private mutating func fetch(_ slice: [Wanted], _ database: CKDatabase) async throws {
    let assets = slice.map { file in
      let record = CKRecord(file.record.key, type: file.record.type, fields: file.record.fields)
      database.adoptAssets(of: [record])
      return record.assets(in: file.field)[file.position]
    }
    let failures = await database.download(assets)
    for (index, file) in slice.enumerated() {
      if let source = assets[index].localFile {
        _ = try put(source, as: file.name)
      } else {
        let problem = failures[index]?.localizedDescription ?? "it is not there"
        report(file.field, file.record.key, problem.withoutFullStop)
      }
    }
    // Without a connection or a user, no other file is fetched either.
    let causes = slice.indices.compactMap { failures[$0]?.code }
    guard causes.count == slice.count, let cause = causes.first else { return }
    let stop: CommandStatus
    switch cause {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited: stop = .cloudUnreachable
    case .notAuthenticated, .permissionFailure: stop = .personNeeded
    default: return
    }
    throw CommandFailure("the other files were not fetched; export again, files that are there are kept", stop)
  }

  private mutating func report(_ field: String, _ key: RecordKey, _ problem: String) {
    report(CommandFailure("the file of \(field) of \(key.name) is missing: \(problem)", .itemsFailed))
  }

  private mutating func report(_ failure: CommandFailure) {
    failure.report()
    status = .itemsFailed
  }

  private func file(_ name: String) -> URL { folder.appending(path: name, directoryHint: .notDirectory) }

  /// Whether the folder has the file of an asset.
  private func has(_ asset: WireAsset, _ name: String) -> Bool {
    let file = file(name)
    return asset.size != nil && Self.size(of: file) == asset.size && !Self.isAltered(file, name)
  }

  /// Whether a file has other bytes than its name states. A checksum of the server cannot be checked.
  static func isAltered(_ file: URL, _ name: String) -> Bool {
    let stated = WireAsset(fileChecksum: name.removingPercentEncoding)
    return (try? stated.isChecksum(of: file)) == false
  }

  static func size(of file: URL) -> Int64? {
    (try? FileManager.default.attributesOfItem(atPath: file.path))?[.size].flatMap { ($0 as? NSNumber)?.int64Value }
  }

  /// Copies a file into the folder. Under its name it is whole.
  ///
  /// - Parameter asset: the queued asset whose bytes the file should have; nil if it was fetched.
  /// - Returns: the problem if it does not have them, and nothing was written; nil if it was copied.
  private func put(_ source: URL, as name: String, of asset: QueuedAsset? = nil) throws -> FailureCause.FileProblem? {
    let (incoming, target) = (file(".incoming-\(UUID().uuidString)"), file(name))
    do {
      if let asset {
        if let problem = try asset.copy(source, to: incoming) { return problem }
      } else {
        try FileManager.default.copyItem(at: source, to: incoming)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: incoming.path)
      }
      if Self.size(of: target) != nil { try FileManager.default.removeItem(at: target) }
      try FileManager.default.moveItem(at: incoming, to: target)
      return nil
    } catch {
      try? FileManager.default.removeItem(at: incoming)
      let reason = error.fileReason
      throw CommandFailure(
        "\(target.path) cannot be written (\(reason)); free some space and export again, files that are there are kept",
        .itemsFailed
      )
    }
  }
}

extension CKRecord {
  /// The assets of a field: its value, or the elements of its list.
  fileprivate func assets(in field: String) -> [CKAsset] {
    let list: [CKAsset]? = self[field] as? [CKAsset]
    let single: CKAsset? = self[field] as? CKAsset
    return list ?? single.map { [$0] } ?? []
  }
}
