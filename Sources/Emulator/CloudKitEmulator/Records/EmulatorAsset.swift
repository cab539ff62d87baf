import Crypto
import Foundation
import JSONText

/// A file in a field of a record. Identifies the bytes, which the emulator stores separately.
public struct EmulatorAsset: Sendable, Hashable {
  /// Base64 of 21 bytes: `0x01` and the SHA-1 of the content. Apple has not published the real digest. [E]
  public let fileChecksum: String
  /// The size in bytes.
  public let size: Int

  /// Identifies the stored bytes. Each upload has its own ID, even if the contents are equal.
  let id: String
}

extension EmulatorAsset {
  /// Describes uploaded bytes.
  ///
  /// - Parameter upload: The ID of the upload, unique among all uploads.
  init(_ content: AssetContent, upload: String) throws(Spool.Failure) {
    var hash = Insecure.SHA1()
    for number in 0..<content.pieces { hash.update(data: try content.piece(number)) }
    let checksum = Self.checksum(hash.finalize())
    self.init(fileChecksum: checksum, size: content.count, id: Derived.hexadecimal("asset/\(upload)/\(checksum)"))
  }

  private static func checksum(_ digest: Insecure.SHA1Digest) -> String {
    (Data([1]) + digest).base64EncodedString()
  }

  /// The asset dictionary (reference 5.9), without the keys that depend on the request: `receipt` and `downloadURL`.
  /// [D]
  var json: JSONObject {
    let wrappingKey = Data(Insecure.SHA1.hash(data: Data("wrappingKey/\(id)".utf8)).prefix(16))
    return [
      "fileChecksum": .string(fileChecksum), "size": .int(Int64(size)),
      "wrappingKey": .string(wrappingKey.base64EncodedString()),
      "referenceChecksum": .string(Self.checksum(Insecure.SHA1.hash(data: Data("reference/\(fileChecksum)".utf8)))),
    ]
  }
}
