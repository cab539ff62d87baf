package import CloudKit
import Facts
import Foundation

/// Assets of changes: copied or hashed before their saves are accepted.
extension SyncStore {
  // MARK: - Accepting

  /// Hashes or copies the files of changes, and protects the copies until the changes are accepted.
  ///
  /// - Parameter body: gets for each change its assets, or the reason to reject it.
  func whileKeepingAssets<Value>(
    of changes: [Change],
    _ keeping: AssetKeeping,
    _ body: ([Result<[QueuedAsset], Refusal>]) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    guard changes.contains(where: { !$0.assets.isEmpty }) else { return try body(changes.map { _ in .success([]) }) }
    guard keeping == .copied, let vault else { return try body(prepare(changes, keeping)) }
    do {
      return try vault.whileKeeping { try body(prepare(changes, keeping)) }
    } catch let error as StoreError {
      throw error
    } catch is AssetVault.TooManyOpenFiles {
      throw .tooManyOpenFiles
    } catch {
      throw StoreError(.invalid, "files cannot be kept in \(vault.folder.path): \(AssetVault.text(error))")
    }
  }

  var vault: AssetVault? { storage.assetFolder.map(AssetVault.init) }

  /// - Throws: a problem that is not a change's fault and keeps all from being accepted.
  private func prepare(_ changes: [Change], _ keeping: AssetKeeping) throws(StoreError) -> [Result<
    [QueuedAsset], Refusal
  >] {
    var prepared: [Result<[QueuedAsset], Refusal>] = []
    for change in changes {
      do throws(Refusal) {
        var assets: [QueuedAsset] = []
        for (field, sources) in change.assets.sorted(by: { $0.key < $1.key }) {
          for (position, source) in sources.enumerated() {
            assets.append(try prepare(source, field, position, keeping))
          }
        }
        prepared.append(.success(assets))
      } catch {
        if let trouble = error.trouble { throw trouble }
        prepared.append(.failure(error))
      }
    }
    return prepared
  }

  /// The reason why a change is rejected.
  struct Refusal: Error {
    var reason: String
    /// A problem that is not the change's fault and keeps all others from being accepted too.
    var trouble: StoreError?

    init(_ reason: String) { self.reason = reason }

    /// - Parameter error: the error of reading or copying a file.
    init(keeping file: URL, for field: String, _ error: any Error) {
      reason = "the file \(file.path) for \(field) cannot be kept: \(AssetVault.text(error))"
      if error is AssetVault.TooManyOpenFiles {
        trouble = .tooManyOpenFiles
      } else if AssetVault.isDiskFull(error) {
        trouble = StoreError(.diskFull, "the disk is full; free some space and try again: \(reason)", isTransient: true)
      }
    }
  }

  private func prepare(_ source: AssetSource, _ field: String, _ position: Int, _ keeping: AssetKeeping) throws(Refusal)
    -> QueuedAsset
  {
    var asset = QueuedAsset(field: field, position: position, size: source.size ?? 0)
    (asset.place, asset.checksum) = (source.place, source.checksum)
    guard let file = source.file else {
      guard source.place != nil, source.checksum != nil else {
        throw Refusal("the asset in \(field) has neither a file nor a place on the server")
      }
      return asset
    }
    guard keeping == .referenced || vault != nil else {
      throw Refusal("this store keeps no files: the asset in \(field) has to be referenced")
    }
    let content: AssetVault.Content
    do {
      content = try (keeping == .copied ? vault?.keep(file) : nil) ?? AssetVault.content(of: file)
    } catch {
      throw Refusal(keeping: file, for: field, error)
    }
    (asset.digest, asset.size) = (content.digest, content.size)
    asset.path = keeping == .referenced ? file.path : nil
    return asset
  }

  /// Returns the assets with known places in the zone: bytes that one of its records holds need no upload.
  static func recognized(_ assets: [QueuedAsset], in zone: ZoneKey, _ ledger: Ledger) throws -> [QueuedAsset] {
    try assets.map { asset in
      guard asset.place == nil, let digest = asset.digest, let known = try place(of: digest, in: zone, ledger) else {
        return asset
      }
      var asset = asset
      (asset.place, asset.checksum) = (known.place, known.checksum)
      return asset
    }
  }

  /// Returns the assets with the files of the queued record from which the caller read them.
  static func adopted(_ assets: [QueuedAsset], in zone: ZoneKey, _ ledger: Ledger) throws -> [QueuedAsset] {
    try assets.map { asset in
      guard asset.digest == nil, let place = asset.place, let checksum = asset.checksum,
        let queued = try ledger.operation(for: RecordKey(zone, place.recordName)),
        let known = queued.assets.first(where: { $0.digest != nil && $0.value.fileChecksum == checksum })
      else { return asset }
      var asset = asset
      (asset.digest, asset.path, asset.size) = (known.digest, known.path, known.size)
      (asset.place, asset.checksum) = (known.place, known.checksum)
      return asset
    }
  }

  /// A field in the mirror that holds these bytes.
  private static func place(of digest: String, in zone: ZoneKey, _ ledger: Ledger) throws -> AssetPlace? {
    guard let known = try ledger.assetPlace(digest, in: zone) else { return nil }
    let record = try ledger.record(RecordKey(zone, known.place.recordName))
    let descriptors = record?.fields[known.place.fieldName]?.assets ?? []
    if descriptors.contains(where: { $0.fileChecksum == known.checksum }) { return known }
    return nil
  }
}

/// A field of a zone's record that holds bytes with a known hash.
package struct AssetPlace: Hashable, Sendable {
  package var place: WireAssetPlace
  package var checksum: String
}
