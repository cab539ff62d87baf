package import JSONText

/// The asset calls of Web Services (reference 5.9). The bytes themselves are sent to other hosts.
extension WebServicesClient {
  /// Requests addresses for up to 200 uploads, one for each field or list element. They are valid for 15 minutes.
  package func assetAddresses(
    _ tokens: [WireAssetToken],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireAssetAddress] {
    try await call("assets/upload", in: database, as: WireList.self) {
      $0.member("tokens", tokens)
      $0.member("zoneID", zone)
    }.elements
  }

  /// Requests descriptors that let up to 200 assets of a zone be saved in other fields of the same zone.
  package func rereferenceAssets(
    _ places: [WireAssetPlace],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireRereferencedAsset] {
    try await call("assets/rereference", in: database, as: WireList.self) {
      $0.member("assets", places)
      $0.member("zoneID", zone)
    }.elements
  }
}

/// A field to upload a file for.
package struct WireAssetToken: Hashable, Sendable, Encodable, JSONWritable {
  package var recordName: String
  package var recordType: String
  package var fieldName: String

  package init(recordName: String, recordType: String, fieldName: String) {
    self.recordName = recordName
    self.recordType = recordType
    self.fieldName = fieldName
  }
}

/// The address to post a field's file to.
package struct WireAssetAddress: Hashable, Sendable, Decodable, WireListElement {
  package static var list: StaticString { "tokens" }

  package var recordName: String?
  package var fieldName: String?
  package var url: String

  /// Whether the address belongs to a token. Names must match if the server returns them.
  package func isFor(_ token: WireAssetToken) -> Bool {
    recordName ?? token.recordName == token.recordName && fieldName ?? token.fieldName == token.fieldName
  }
}

/// The reply of the host that stores the bytes.
struct WireUploadedFile: Decodable, JSONReadable {
  var singleFile: WireAsset
}

/// A field that contains an asset.
package struct WireAssetPlace: Hashable, Sendable, Codable, JSONWritable {
  package var recordName: String
  package var fieldName: String

  package init(recordName: String, fieldName: String) {
    self.recordName = recordName
    self.fieldName = fieldName
  }
}

/// An asset with its new receipt, and its source field if the server returns it.
package struct WireRereferencedAsset: Hashable, Sendable, WireListElement {
  package static var list: StaticString { "assets" }

  package var recordName: String?
  package var fieldName: String?
  package var asset: WireAsset

  /// Whether it is an asset of a field. Names must match if the server returns them.
  package func isFor(_ place: WireAssetPlace) -> Bool {
    recordName ?? place.recordName == place.recordName && fieldName ?? place.fieldName == place.fieldName
  }

  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    asset = try WireAsset(json: &json)
    json.offset = start
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordName": try json.read(into: &recordName)
      case "fieldName": try json.read(into: &fieldName)
      default: try json.skip()
      }
    }
  }
}
