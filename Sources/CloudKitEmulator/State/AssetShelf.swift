import Foundation

/// Whose bytes are kept, and why: a record refers to them, or a receipt for them is still good.
struct AssetShelf {
  private struct Entry {
    var references = 0
    /// Bytes, as far as they are known: those of files that come in.
    var size = 0
    /// Until when the bytes stay although no record refers to them, in milliseconds since 1970.
    var keptUntil: Int64
  }

  private var entries: [String: Entry] = [:]
  private var unreferenced: Set<String> = []
  /// The file that each upload address has brought in and no record has come to use.
  private var uploads: [String: String] = [:]

  var count: Int { entries.count }

  /// All that is kept, with the time until when it is kept without a record.
  var kept: [(id: String, until: Int64)] { entries.map { ($0.key, $0.value.keptUntil) } }

  func holds(_ id: String) -> Bool { entries[id] != nil }

  /// What those weigh that no record refers to.
  var unusedBytes: Int { unreferenced.reduce(0) { $0 + Self.weight(entries[$1]?.size ?? 0) } }

  /// Each file takes some room besides its bytes.
  static func weight(_ size: Int) -> Int { max(size, 4096) }

  /// Takes bytes in, or keeps those that are there for longer.
  mutating func keep(_ id: String, size: Int = 0, until time: Int64, upload: String? = nil) {
    entries[id, default: Entry(keptUntil: time)].keptUntil = max(time, entries[id]?.keptUntil ?? time)
    if size > 0 { entries[id]?.size = size }
    if let upload { uploads[upload] = id }
    if entries[id]?.references == 0 { unreferenced.insert(id) }
  }

  /// Lets go of what the same address has brought before: it is good for one file. [E]
  mutating func makeRoom(for id: String, upload: String) {
    guard let old = uploads[upload], old != id else { return }
    entries[old]?.keptUntil = 0
  }

  /// Notes that one version of a record takes the place of another.
  mutating func replace(_ old: StoredRecord?, with new: StoredRecord?) {
    for id in new?.content.assets ?? [] { refer(to: id) }
    for id in old?.content.assets ?? [] { release(id) }
  }

  /// Notes that one more record refers to an asset. The first one uses the receipt of the upload up: from then on
  /// references alone keep the bytes.
  mutating func refer(to id: String, records: Int = 1) {
    guard records > 0 else { return }
    entries[id]?.references += records
    entries[id]?.keptUntil = 0
    if unreferenced.remove(id) != nil { forgetUploads(of: [id]) }
  }

  /// Notes that one record less refers to an asset.
  mutating func release(_ id: String) {
    entries[id]?.references -= 1
    if entries[id]?.references == 0 { unreferenced.insert(id) }
  }

  /// Forgets what nothing keeps any more, and returns it.
  mutating func collect(at time: Int64) -> [String] {
    guard !unreferenced.isEmpty else { return [] }
    let garbage = unreferenced.filter { (entries[$0]?.keptUntil ?? 0) <= time }
    for id in garbage { entries[id] = nil }
    unreferenced.subtract(garbage)
    forgetUploads(of: garbage)
    return garbage.sorted()
  }

  private mutating func forgetUploads(of ids: Set<String>) {
    if !ids.isEmpty { uploads = uploads.filter { !ids.contains($0.value) } }
  }
}

extension StoredRecord.Content {
  /// The stored bytes that the fields refer to.
  var assets: Set<String> {
    var found: Set<String> = []
    for field in fields {
      switch field.value {
      case .asset(let asset): found.insert(asset.id)
      case .list(.asset, let elements):
        for case .asset(let asset) in elements { found.insert(asset.id) }
      default: break
      }
    }
    return found
  }
}

extension EmulatorCore {
  /// Keeps bytes until a time, or longer where a record comes to refer to them.
  func keep(
    _ content: AssetContent,
    as asset: EmulatorAsset,
    until time: Int64,
    upload: String? = nil
  ) throws(ServerError) {
    do {
      try store.write(content, asset: asset.id, until: time)
    } catch {
      throw ServerError(.internalError, "The data file could not be written", detail: "\(error)")
    }
    assets.keep(asset.id, size: asset.size, until: time, upload: upload)
  }

  /// A piece of the bytes, as `AssetContent` counts them or larger.
  func piece(_ number: Int, ofAsset id: String) -> Data? {
    assets.holds(id) ? store.piece(number, ofAsset: id) : nil
  }

  /// Drops the bytes that nothing refers to.
  func collectAssets(at time: Int64) {
    let garbage = assets.collect(at: time)
    // What stays in the file after a failure goes when the file is next opened.
    if !garbage.isEmpty { try? store.delete(assets: garbage) }
  }
}
