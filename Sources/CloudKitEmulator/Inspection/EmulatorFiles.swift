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
      let asset = EmulatorAsset(bytes, upload: "\(core.configuration.seed)/\(core.uploads)/\(time)")
      do throws(ServerError) {
        try core.keep(bytes, as: asset, until: Timestamps.milliseconds(time) + AssetReceipt.lifetime)
      } catch {
        throw EmulatorError(error)
      }
      return asset
    }
  }

  /// The bytes of a file that a record refers to.
  public func bytes(of asset: EmulatorAsset) -> Data? {
    core.withLock { $0.bytes(ofAsset: asset.id) }
  }

  /// The number of files whose bytes are kept: those in records, and uploads no older than an hour.
  public var assetCount: Int { core.withLock { $0.assets.count } }
}
