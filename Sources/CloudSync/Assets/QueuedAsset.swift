package import CloudKit
import Foundation

/// Whether the bytes of an asset are kept from the moment on that its save is accepted.
public enum AssetKeeping: String, Hashable, Sendable, Codable {
  /// They are copied beside the store: whatever becomes of the file, what was accepted is sent.
  case copied
  /// The file is only noted, with the hash of its bytes. Where it has changed or gone by the time it is sent, the save
  /// becomes a dead letter that says so.
  case referenced
}

/// An asset of an accepted save: where its bytes are, and what the server has said of them.
///
/// In the operation's changes the field holds a descriptor: before the server has named the bytes, one with their SHA-256
/// as its checksum.
package struct QueuedAsset: Hashable, Sendable, Codable {
  package var field: String
  /// The place in a list, or 0.
  package var position: Int
  /// The SHA-256 of the bytes in hexadecimal digits; nil for bytes that only the server has.
  package var digest: String?
  /// Bytes.
  package var size: Int64
  /// The noted file; nil where the bytes were copied.
  package var path: String?
  /// A field of the same zone that may hold the bytes already.
  package var place: WireAssetPlace?
  /// What the server called the bytes; nil before it has.
  package var checksum: String?
  /// What lets the descriptor be saved; nil before the upload, and once it is too old.
  package var granted: Grant?

  /// A descriptor with its receipt.
  package struct Grant: Hashable, Sendable, Codable {
    package var asset: WireAsset
    /// Milliseconds since 1970.
    package var at: Int64

    /// Receipts are taken to live as long as the addresses of uploads, 15 minutes (reference 4), less the time that a
    /// request may take.
    package static let lifetime: Int64 = 14 * 60_000
  }

  /// The descriptor as the changes hold it: without what is good for one request only.
  package var value: WireAsset {
    guard let checksum else { return WireAsset(fileChecksum: digest.map { "sha256:\($0)" }, size: size) }
    return WireAsset(fileChecksum: checksum, size: size)
  }
}

extension [QueuedAsset] {
  /// What is still to be sent: those whose field still holds them.
  func kept(by changes: FieldChanges) -> [QueuedAsset] {
    filter { asset in
      let descriptors = changes.values[asset.field]?.assets ?? []
      return asset.position < descriptors.count && descriptors[asset.position].isSame(as: asset.value)
    }
  }

  /// The value of a field with the server's descriptors and receipts, as it is sent.
  func granting(_ field: String, _ value: FieldValue) -> FieldValue {
    let own = filter { $0.field == field }
    guard !own.isEmpty else { return value }
    var descriptors = value.assets ?? []
    for asset in own {
      if let granted = asset.granted, asset.position < descriptors.count { descriptors[asset.position] = granted.asset }
    }
    return value.replacingAssets(with: descriptors)
  }
}

extension WireAsset {
  /// Whether both name the same bytes.
  fileprivate func isSame(as other: WireAsset) -> Bool { fileChecksum == other.fileChecksum && size == other.size }
}
