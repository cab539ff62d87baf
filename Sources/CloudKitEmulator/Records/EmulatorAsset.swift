import Crypto
import Foundation

/// A file in a record's field: what identifies its bytes, which the emulator keeps elsewhere.
public struct EmulatorAsset: Sendable, Hashable {
  /// Base64 of 21 bytes: `0x01` and the SHA-1 of the content. The real digest is not published. [E]
  public let fileChecksum: String
  /// Bytes.
  public let size: Int

  /// Names the stored bytes: each upload has its own, also where contents are equal.
  let id: String

  init(fileChecksum: String, size: Int, id: String) {
    self.fileChecksum = fileChecksum
    self.size = size
    self.id = id
  }

  /// Describes uploaded bytes.
  ///
  /// - Parameter upload: The upload they came by, unique among all.
  init(_ content: AssetContent, upload: String) throws(Spool.Failure) {
    var hash = Insecure.SHA1()
    for number in 0..<content.pieces { hash.update(data: try content.piece(number)) }
    let checksum = Self.checksum(hash.finalize())
    self.init(fileChecksum: checksum, size: content.count, id: Derived.hexadecimal("asset/\(upload)/\(checksum)"))
  }

  private static func checksum(_ digest: Insecure.SHA1Digest) -> String {
    (Data([1]) + digest).base64EncodedString()
  }

  /// The asset dictionary of 5.9 without what depends on the occasion: neither `receipt` nor `downloadURL`. [D]
  var json: JSONObject {
    let wrappingKey = Data(Insecure.SHA1.hash(data: Data("wrappingKey/\(id)".utf8)).prefix(16))
    return [
      "fileChecksum": .string(fileChecksum), "size": .int(Int64(size)),
      "wrappingKey": .string(wrappingKey.base64EncodedString()),
      "referenceChecksum": .string(Self.checksum(Insecure.SHA1.hash(data: Data("reference/\(fileChecksum)".utf8)))),
    ]
  }
}
