package import CloudKit
package import Facts
import Foundation
package import JSONText

/// The way in which the file of an asset is kept when its save is accepted.
public enum AssetKeeping: String, Hashable, Sendable, Codable {
  /// The file is copied beside the store, so that later changes to it do not matter.
  case copied
  /// Only the path and the hash are stored. If the file has changed or is missing when it is sent, the save becomes a
  /// dead letter; a retry sends the file as it is then.
  case referenced
}

/// An asset of an accepted save: its file, and the server's data about it.
///
/// The operation's changes hold a descriptor for it. Before the upload its checksum is the SHA-256.
package struct QueuedAsset: Hashable, Sendable {
  package var field: String
  /// The index in a list, or 0.
  package var position: Int
  /// The SHA-256 of the bytes in hexadecimal digits; nil if only the server has the bytes.
  package var digest: String?
  package var size: Int64
  /// The path of the referenced file; nil if it was copied.
  package var path: String?
  /// Whether the referenced file may have other bytes than those that were hashed, after a retry; nil: no.
  package var mayHaveChanged: Bool?
  /// A field of the same zone that may hold the same bytes already.
  package var place: WireAssetPlace?
  /// The server's checksum of the bytes; nil if not known yet.
  package var checksum: String?
  /// The upload receipt; nil before the upload and after it has expired.
  package var receipt: UploadReceipt?

  /// A descriptor with its upload receipt.
  package struct UploadReceipt: Hashable, Sendable {
    package var asset: WireAsset
    /// Milliseconds since 1970.
    package var at: Int64

    /// The lifetime of a receipt: assumed to be that of an upload address, 15 minutes (reference 4), less the time of a
    /// request.
    package static let lifetime: Int64 = 14 * 60_000
  }

  /// The descriptor as stored in the changes, without the receipt.
  package var value: WireAsset {
    guard let checksum else { return WireAsset(fileChecksum: digest.map { WireAsset.digestPrefix + $0 }, size: size) }
    return WireAsset(fileChecksum: checksum, size: size)
  }
}

extension QueuedAsset {
  /// Copies a file if it has the bytes that were queued.
  ///
  /// - Returns: the problem if it has not, and there is no copy; nil if it was copied.
  package func copy(_ file: URL, to copy: URL) throws -> FailureCause.FileProblem? {
    do {
      guard try AssetVault.copy(file, to: copy).digest != digest else { return nil }
      try FileManager.default.removeItem(at: copy)
      return .changed
    } catch {
      guard let problem = AssetVault.problem(error) else { throw error }
      return problem
    }
  }
}

extension QueuedAsset: WireObject {
  package init() { self.init(field: "", position: 0, size: 0) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    var index = Int64(position)
    try json("checksum", &checksum)
    try json("digest", &digest)
    try json("field", &field)
    try json("mayHaveChanged", &mayHaveChanged)
    try json("path", &path)
    try json("place", &place)
    try json("position", &index)
    try json("receipt", &receipt)
    try json("size", &size)
    position = Int(index)
  }
}

extension QueuedAsset.UploadReceipt: WireObject {
  package init() { self.init(asset: WireAsset(), at: 0) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("asset", &asset)
    try json("at", &at)
  }
}

extension [QueuedAsset] {
  /// The assets whose field still holds them.
  func kept(by changes: FieldChanges) -> [QueuedAsset] {
    filter { asset in
      let descriptors = changes.values[asset.field]?.assets ?? []
      return asset.position < descriptors.count && descriptors[asset.position].isSame(as: asset.value)
    }
  }

  /// The value of a field with the server's descriptors and upload receipts.
  func addingReceipts(_ field: String, _ value: FieldValue) -> FieldValue {
    var receipts: [Int: WireAsset] = [:]
    for asset in self where asset.field == field { receipts[asset.position] = asset.receipt?.asset }
    return value.replacingAssets(at: receipts)
  }
}

extension WireAsset {
  /// The start of a checksum that is a SHA-256.
  fileprivate static let digestPrefix = "sha256:"

  /// Whether a file has the bytes of the checksum; nil if that is the server's, whose algorithm is not published.
  package func isChecksum(of file: URL) throws -> Bool? {
    guard let fileChecksum, fileChecksum.hasPrefix(Self.digestPrefix) else { return nil }
    return try Self.digestPrefix + AssetVault.content(of: file).digest == fileChecksum
  }

  /// Whether both name the same bytes.
  fileprivate func isSame(as other: WireAsset) -> Bool { fileChecksum == other.fileChecksum && size == other.size }
}
