/// The asset calls of Web Services (reference 5.9). The bytes themselves are sent to other hosts.
extension WebServicesClient {
  private struct UploadBody: Encodable, Sendable {
    var tokens: [WireAssetToken]
    var zoneID: WireZoneID
  }

  private struct UploadAnswer: Decodable, Sendable {
    var tokens: [WireAssetAddress]
  }

  /// Requests addresses for up to 200 uploads, one for each field or list element. They are valid for 15 minutes.
  package func assetAddresses(
    _ tokens: [WireAssetToken],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireAssetAddress] {
    let body = UploadBody(tokens: tokens, zoneID: zone)
    return try await call("assets/upload", in: database, body, as: UploadAnswer.self).tokens
  }

  private struct RereferenceBody: Encodable, Sendable {
    var assets: [WireAssetPlace]
    var zoneID: WireZoneID
  }

  /// Requests descriptors that let up to 200 assets of a zone be saved in other fields of the same zone.
  package func rereferenceAssets(
    _ places: [WireAssetPlace],
    zone: WireZoneID,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireRereferencedAsset] {
    let body = RereferenceBody(assets: places, zoneID: zone)
    return try await call("assets/rereference", in: database, body, as: WireRereferencedAssets.self).assets
  }
}

/// A field to upload a file for.
package struct WireAssetToken: Hashable, Sendable, Encodable {
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
package struct WireAssetAddress: Hashable, Sendable, Decodable {
  package var recordName: String?
  package var fieldName: String?
  package var url: String

  /// Whether the address belongs to a token. Names must match if the server returns them.
  package func isFor(_ token: WireAssetToken) -> Bool {
    recordName ?? token.recordName == token.recordName && fieldName ?? token.fieldName == token.fieldName
  }
}

/// The reply of the host that stores the bytes.
struct WireUploadedFile: Decodable {
  var singleFile: WireAsset
}

/// A field that contains an asset.
package struct WireAssetPlace: Hashable, Sendable, Codable {
  package var recordName: String
  package var fieldName: String

  package init(recordName: String, fieldName: String) {
    self.recordName = recordName
    self.fieldName = fieldName
  }
}

/// An asset with its new receipt, and its source field if the server returns it.
package struct WireRereferencedAsset: Hashable, Sendable, Decodable {
  package var recordName: String?
  package var fieldName: String?
  package var asset: WireAsset

  private enum Key: String, CodingKey { case recordName, fieldName }

  /// Whether it is an asset of a field. Names must match if the server returns them.
  package func isFor(_ place: WireAssetPlace) -> Bool {
    recordName ?? place.recordName == place.recordName && fieldName ?? place.fieldName == place.fieldName
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    recordName = try container.decodeIfPresent(String.self, forKey: .recordName)
    fieldName = try container.decodeIfPresent(String.self, forKey: .fieldName)
    asset = try WireAsset(from: decoder)
  }
}

/// The reply to a rereference request. The documentation shows an array without naming its wrapper, so both a bare
/// array and an `assets` key are accepted (reference 5.9).
private struct WireRereferencedAssets: Decodable, Sendable {
  var assets: [WireRereferencedAsset]

  private enum Key: String, CodingKey { case assets }

  init(from decoder: any Decoder) throws {
    if let bare = try? decoder.singleValueContainer().decode([WireRereferencedAsset].self) {
      assets = bare
    } else {
      assets = try decoder.container(keyedBy: Key.self).decode([WireRereferencedAsset].self, forKey: .assets)
    }
  }
}
