import Crypto
import Foundation
import JSONText

/// Signs data that clients return later, so that it cannot be forged and the emulator need not store it. The data is
/// opaque to clients. [D]
struct AssetSeal {
  private let key: SymmetricKey

  /// Derives the key from the seed, the secret and, under `strictAuth`, the API tokens. If other machines can reach the
  /// emulator, the secret or the tokens must be unguessable.
  init(_ configuration: EmulatorConfiguration) {
    let tokens = configuration.strictAuth ? configuration.apiTokens.sorted().joined(separator: "/") : ""
    let origin = "asset seal/\(configuration.seed ?? 0)/\(configuration.secret)/\(tokens)"
    key = SymmetricKey(data: SHA256.hash(data: Data(origin.utf8)))
  }

  func seal(_ object: JSONObject) -> String {
    let text = JSON.object(object).data.base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    return "\(text).\(signature(of: text))"
  }

  func open(_ text: String) -> JSONObject? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, isSigned(parts[0], parts[1]) else { return nil }
    let base64 = parts[0].replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    return Data(base64Encoded: base64 + padding).flatMap { try? JSON(json: $0) }?.object
  }

  /// Whether `signature` is that of a text.
  func isSigned(_ text: String, _ signature: String) -> Bool { areEqual(self.signature(of: text), signature) }

  func signature(of text: String) -> String {
    HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).prefix(16).hexadecimal
  }
}

/// Compares secrets in a time that does not depend on how many of their bytes are equal.
func areEqual(_ first: String, _ second: String) -> Bool {
  SHA256.hash(data: Data(first.utf8)) == SHA256.hash(data: Data(second.utf8))
}

/// A permission to upload one file for one field of one record, valid for 15 minutes. [D]
struct UploadTicket: Hashable {
  static let lifetime: Int64 = 15 * 60 * 1000

  /// The ID of the upload, unique among all uploads.
  var id: String
  /// The identity of the record's zone.
  var zone: UInt64
  var record: String
  var field: String
  var expires: Int64
}

extension UploadTicket {
  init?(_ text: String, seal: AssetSeal) {
    guard let object = seal.open(text), let id = object["u"]?.string, let zone = object["z"]?.integer,
      let record = object["r"]?.string, let field = object["f"]?.string, let expires = object["e"]?.integer
    else { return nil }
    self.init(id: id, zone: UInt64(bitPattern: zone), record: record, field: field, expires: expires)
  }

  /// Reads the ticket of an upload request. Fails if it does not belong to the request's path.
  init?(_ request: EmulatorRequest, seal: AssetSeal) {
    self.init(QueryString.values(request.query)["ticket"] ?? "", seal: seal)
    guard request.path == AssetPath.upload + id else { return nil }
  }

  func text(_ seal: AssetSeal) -> String {
    seal.seal([
      "u": .string(id), "z": .int(Int64(bitPattern: zone)), "r": .string(record), "f": .string(field),
      "e": .int(expires),
    ])
  }
}

/// Proof that a file was uploaded and may be stored in a field: the upload receipt. [D]
struct AssetReceipt {
  /// The lifetime in milliseconds. An unreferenced upload is deleted after one hour. [E]
  static let lifetime: Int64 = 60 * 60 * 1000

  var asset: EmulatorAsset
  var zone: UInt64
  /// The record and field of the upload; `nil` after `assets/rereference`, which is valid for any field of the zone.
  var target: (record: String, field: String)?
  var expires: Int64
}

extension AssetReceipt {
  init?(_ text: String, seal: AssetSeal) {
    guard let object = seal.open(text), let id = object["i"]?.string, let checksum = object["c"]?.string,
      let size = object["s"]?.integer, let zone = object["z"]?.integer, let expires = object["e"]?.integer
    else { return nil }
    let asset = EmulatorAsset(fileChecksum: checksum, size: Int(size), id: id)
    self.init(asset: asset, zone: UInt64(bitPattern: zone), expires: expires)
    if let record = object["r"]?.string, let field = object["f"]?.string { target = (record, field) }
  }

  func text(_ seal: AssetSeal) -> String {
    var object: JSONObject = [
      "i": .string(asset.id), "c": .string(asset.fileChecksum), "s": .int(Int64(asset.size)),
      "z": .int(Int64(bitPattern: zone)), "e": .int(expires),
    ]
    object.append("r", target.map { .string($0.record) })
    object.append("f", target.map { .string($0.field) })
    return seal.seal(object)
  }
}

/// The download URL of a file. It needs no credentials and is valid for one hour; reading the record gives a new one.
/// [C]
struct DownloadAddress {
  static let lifetime: Int64 = 60 * 60 * 1000

  /// Returns the URL, with a literal `${f}` in place of a file name. [C]
  static func text(of asset: EmulatorAsset, base: String, at time: Int64, seal: AssetSeal) -> String {
    let expires = (time + lifetime) / 1000
    let signature = seal.signature(of: "\(asset.id)/\(expires)")
    return "\(base)\(AssetPath.download)\(asset.id)/${f}?e=\(expires)&s=\(signature)"
  }
}

/// The paths for uploads and downloads. They are outside `/database`, because the real service uses another host for
/// them. [L3]
enum AssetPath {
  static let upload = "/assets/upload/"
  static let download = "/assets/download/"
}
