package import JSONText

/// The asset calls of Web Services (reference 5.9). The bytes themselves are sent to other hosts.
extension WebServicesClient {
  /// Requests addresses for up to 200 uploads, one for each field or list element. They are valid for 15 minutes.
  ///
  /// - Returns: The addresses in the order of the tokens.
  package func assetAddresses(
    _ tokens: [WireAssetToken],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [String] {
    let addresses: [WireAssetAddress] = try await list("assets/upload", in: database) {
      $0.member("tokens", tokens)
      $0.member("zoneID", zone)
    }
    guard addresses.count == tokens.count, zip(addresses, tokens).allSatisfy({ $0.isFor($1) }) else {
      throw WebServicesError(.unexpectedServerResponse, "the reply does not include the addresses that were requested")
    }
    return addresses.map(\.url)
  }

  /// Requests descriptors that let up to 200 assets of a zone be saved in other fields of the same zone.
  ///
  /// - Returns: The descriptors in the order of the request; nil for assets that must be uploaded.
  package func rereferenceAssets(
    _ assets: [(place: WireAssetPlace, checksum: String?)],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireAsset?] {
    var places: [WireAssetPlace] = []
    for (place, _) in assets where !places.contains(place) { places.append(place) }
    let known = try await call("assets/rereference", in: database, as: WireRereferencedAssets.self) {
      $0.member("assets", places)
      $0.member("zoneID", zone)
    }.assets
    return assets.map { place, checksum in
      // The checksum proves that the bytes are the same, even if the field has changed since. A receipt is for the
      // asset of one field: another field may hold the same bytes.
      known.first {
        $0.isFor(place) && $0.asset.receipt != nil && checksum != nil && $0.asset.fileChecksum == checksum
      }?.asset
    }
  }
}

/// A field to upload a file for.
package struct WireAssetToken: Hashable, Sendable, JSONWritable {
  package var recordName: String
  package var recordType: String
  package var fieldName: String

  package init(recordName: String, recordType: String, fieldName: String) {
    self.recordName = recordName
    self.recordType = recordType
    self.fieldName = fieldName
  }

  package func write(to json: inout JSONWriter) {
    json.object {
      $0.member("fieldName", fieldName)
      $0.member("recordName", recordName)
      $0.member("recordType", recordType)
    }
  }
}

/// The address to post a field's file to.
private struct WireAssetAddress: Sendable, WireListed, WireReply {
  static var list: StaticString { "tokens" }

  var recordName: String?
  var fieldName: String?
  var url = ""

  mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json("fieldName", &fieldName)
    try json("recordName", &recordName)
    try json("url", &url)
  }

  /// Whether the address belongs to a token. Names must match if the server returns them.
  func isFor(_ token: WireAssetToken) -> Bool {
    recordName ?? token.recordName == token.recordName && fieldName ?? token.fieldName == token.fieldName
  }
}

/// The reply of the host that stores the bytes.
struct WireUploadedFile: WireReply {
  var singleFile = WireAsset()

  mutating func members(_ json: inout ReadingMembers) throws(JSONError) { try json("singleFile", &singleFile) }
}

/// A field that contains an asset.
package struct WireAssetPlace: Hashable, Sendable, WireObject {
  package var recordName: String
  package var fieldName: String

  package init(recordName: String, fieldName: String) {
    self.recordName = recordName
    self.fieldName = fieldName
  }

  package init() { self.init(recordName: "", fieldName: "") }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("fieldName", &fieldName)
    try json("recordName", &recordName)
  }
}

/// The assets of a reply. The documentation shows their list bare (reference 5.9).
private struct WireRereferencedAssets: JSONReadable, Sendable {
  let assets: [WireRereferencedAsset]

  init(json: inout JSONReader) throws(JSONError) {
    let isBare = json.peek() == UInt8(ascii: "[")
    assets = try isBare ? [WireRereferencedAsset](json: &json) : WirePage(json: &json).elements
  }
}

/// An asset with its new receipt, and its source field if the server returns it.
private struct WireRereferencedAsset: Sendable, WireListed, WireReply {
  static var list: StaticString { "assets" }

  private var recordName: String?
  private var fieldName: String?
  var asset = WireAsset()

  init() {}

  mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json("fieldName", &fieldName)
    try json("recordName", &recordName)
    try asset.members(&json)
  }

  /// Whether it is an asset of a field. Names must match if the server returns them.
  func isFor(_ place: WireAssetPlace) -> Bool {
    recordName ?? place.recordName == place.recordName && fieldName ?? place.fieldName == place.fieldName
  }
}
