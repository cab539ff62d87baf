public import Foundation
import Synchronization

/// Files as another device brings them along.
extension Emulator {
  /// Keeps bytes for a record that is saved through `save` within the next hour.
  ///
  /// - Throws: `EmulatorError` where the data file cannot be written.
  public func upload(_ bytes: Data, at time: Date) throws(EmulatorError) -> EmulatorAsset {
    try core.withLock { core throws(EmulatorError) in
      core.uploads += 1
      let content = AssetContent(bytes)
      do throws(ServerError) {
        let upload = "\(core.seed)/\(core.uploads)/\(time)"
        guard let asset = try? EmulatorAsset(content, upload: upload) else {
          throw ServerError(.internalError, "The bytes cannot be read")
        }
        try core.keep(content, as: asset, until: Timestamps.milliseconds(time) + AssetReceipt.lifetime)
        return asset
      } catch {
        throw EmulatorError(error)
      }
    }
  }

  /// The bytes of a file that a record refers to.
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

  /// The number of files whose bytes are kept: those in records, and uploads no older than an hour.
  public var assetCount: Int { core.withLock { $0.assets.count } }
}
