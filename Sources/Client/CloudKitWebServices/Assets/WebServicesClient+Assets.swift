package import Foundation

/// Uploads of single files, for callers that keep the order of saves themselves.
extension WebServicesClient {
  /// Uploads a file to one of the addresses that `assetAddresses` returned, from disk, in bounded memory.
  ///
  /// - Parameter transport: The transport for the bytes; nil for that of the client's own transport.
  /// - Returns: The descriptor with the upload receipt, which lets it be saved once, in the field that the address is
  ///   for.
  package func uploadAsset(
    _ file: URL,
    to address: String,
    over transport: (any CKAssetTransport)? = nil
  ) async throws(UploadFailure) -> WireAsset {
    let service = AssetService(transport ?? assetTransport, configuration.instruments)
    return try await service.upload(file, to: address)
  }
}
