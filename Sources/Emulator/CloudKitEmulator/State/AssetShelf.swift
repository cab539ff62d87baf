import CloudKitSchema
import Foundation

/// The stored assets and why they are kept: a record refers to them, or an upload receipt is still valid.
struct AssetShelf {
  private struct Entry {
    var references = 0
    /// The size in bytes; 0 for an asset loaded from a data file.
    var size = 0
    /// The time until which unreferenced bytes are kept, in milliseconds since 1970.
    var keptUntil: Int64
  }

  private var entries: [String: Entry] = [:]
  private var unreferenced: Set<String> = []
  /// The unreferenced file of each upload URL.
  private var uploads: [String: String] = [:]

  var count: Int { entries.count }

  /// All stored assets, with the time until which they are kept unreferenced.
  var kept: [(id: String, until: Int64)] { entries.map { ($0.key, $0.value.keptUntil) } }

  func holds(_ id: String) -> Bool { entries[id] != nil }

  /// The total weight of the unreferenced assets, in bytes.
  var unusedBytes: Int { unreferenced.reduce(0) { $0 + Self.weight(entries[$1]?.size ?? 0) } }

  /// Returns the weight of a file. A file counts as at least 4 kB.
  static func weight(_ size: Int) -> Int { max(size, 4096) }

  /// Adds an asset, or extends the time for which it is kept.
  mutating func keep(_ id: String, size: Int = 0, until time: Int64, upload: String? = nil) {
    entries[id, default: Entry(keptUntil: time)].keptUntil = max(time, entries[id]?.keptUntil ?? time)
    if size > 0 { entries[id]?.size = size }
    if let upload { uploads[upload] = id }
    if entries[id]?.references == 0 { unreferenced.insert(id) }
  }

  /// Releases the previous file of the same upload URL. A URL is valid for one file. [E]
  mutating func makeRoom(for id: String, upload: String) {
    guard let old = uploads[upload], old != id else { return }
    entries[old]?.keptUntil = 0
  }

  /// Updates the reference counts after a new version of a record.
  mutating func replace(_ old: StoredRecord?, with new: StoredRecord?) {
    for id in new?.content.assets ?? [] { refer(to: id) }
    for id in old?.content.assets ?? [] { release(id) }
  }

  /// Counts more records that refer to an asset. The first reference uses up the upload receipt: from then on only
  /// references keep the bytes.
  mutating func refer(to id: String, records: Int = 1) {
    guard records > 0 else { return }
    entries[id]?.references += records
    entries[id]?.keptUntil = 0
    if unreferenced.remove(id) != nil { forgetUploads(of: [id]) }
  }

  /// Counts one record less that refers to an asset.
  mutating func release(_ id: String) {
    entries[id]?.references -= 1
    if entries[id]?.references == 0 { unreferenced.insert(id) }
  }

  /// Removes the assets that nothing keeps, and returns their IDs.
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

extension World {
  /// Stores the bytes of an asset until a time, or for longer if a record refers to it.
  func keep(
    _ content: AssetContent,
    as asset: EmulatorAsset,
    until time: Int64,
    upload: String? = nil
  ) throws(ServerError) {
    do {
      try store.write(content, asset: asset.id, until: time)
    } catch {
      throw .unwritable(error)
    }
    assets.keep(asset.id, size: asset.size, until: time, upload: upload)
  }

  /// Returns a piece of the bytes, as numbered by `AssetContent`.
  func piece(_ number: Int, ofAsset id: String) -> Data? {
    assets.holds(id) ? store.piece(number, ofAsset: id) : nil
  }

  /// Deletes the assets that nothing keeps.
  func collectAssets(at time: Int64) {
    let garbage = assets.collect(at: time)
    // If the deletion fails, the bytes stay in the file until it is opened again.
    if !garbage.isEmpty { try? store.delete(assets: garbage) }
  }
}
