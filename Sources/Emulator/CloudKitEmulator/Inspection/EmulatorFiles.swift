public import Foundation
import Synchronization

/// Uploads and downloads of files, as by another device.
extension Emulator {
  /// Uploads bytes for a record that is saved with `save` within one hour.
  ///
  /// - Throws: `EmulatorError` if the data file cannot be written.
  public func upload(_ bytes: Data, at time: Date) throws(EmulatorError) -> EmulatorAsset {
    try edit { core throws(ServerError) in
      let world = core.world
      world.uploads += 1
      let content = AssetContent(bytes)
      guard let asset = try? EmulatorAsset(content, upload: "\(world.seed)/\(world.uploads)/\(time)") else {
        throw ServerError(.internalError, "The uploaded bytes cannot be read")
      }
      try world.keep(content, as: asset, until: Timestamps.milliseconds(time) + AssetReceipt.lifetime)
      return asset
    }
  }

  /// Returns the bytes of an asset, or `nil` if they are not stored.
  public func bytes(of asset: EmulatorAsset) -> Data? {
    bytes(of: StoredAsset(id: asset.id, size: asset.size))
  }

  func bytes(of asset: StoredAsset) -> Data? {
    var bytes = Data()
    for number in 0..<AssetContent.pieces(of: asset.size) where bytes.count < asset.size {
      guard let piece = piece(number, of: asset) else { return nil }
      bytes += piece
    }
    return bytes
  }

  func piece(_ number: Int, of asset: StoredAsset) -> Data? {
    let (piece, failure) = look { $0.piece(number, ofAsset: asset.id) }
    return failure == nil ? piece : nil
  }

  /// The number of stored files: those that records refer to, and uploads from the last hour.
  public var assetCount: Int { core.withLock { $0.world.assets.count } }
}
