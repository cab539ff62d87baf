import Foundation

/// Uploads of files for saves that are made one by one, by whoever keeps the order.
extension WebServicesClient {
  /// Posts a file to one of the addresses that `assetAddresses` gave, from disk, in bounded memory.
  ///
  /// - Parameter transport: how the bytes travel; nil for the client's own where that carries assets too, else HTTP.
  /// - Returns: The descriptor with the receipt that lets it be saved, once, in the field that the address is for.
  /// - Throws: `CKError.assetFileNotFound`, `assetFileModified` for the file's own troubles; why it was not stored.
  package func uploadAsset(
    _ file: URL,
    to address: String,
    over transport: (any CKAssetTransport)? = nil
  ) async throws(CKError) -> WireAsset {
    let service = AssetService(transport ?? assetTransport, configuration.instruments)
    return try await service.upload(file, to: address)
  }
}
