public import Foundation

/// Sends and receives the bytes of assets.
///
/// Assets are stored on other hosts than CloudKit Web Services, at addresses that CloudKit returns. These hosts get no
/// credentials, and connections to them are not shared with Web Services. Unless the configuration sets another, a
/// container uses the `assetTransport` of its `CKTransport`.
public protocol CKAssetTransport: Sendable {
  /// Posts the unchanged bytes of a file and returns the response, whatever its HTTP status.
  ///
  /// - Parameters:
  ///   - file: A regular file. Its length is taken when it is opened.
  ///   - address: An http or https address.
  /// - Throws: `CKTransportError` if no complete response arrived or the file could not be read completely.
  func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse

  /// Gets an address and overwrites a file with the body of a successful response.
  ///
  /// - Parameters:
  ///   - address: An http or https address.
  ///   - file: An existing file. After a failure its contents are undefined.
  ///   - limit: The maximum size of the body in bytes; a longer body is a failure.
  /// - Returns: The response without its body, whatever its HTTP status.
  /// - Throws: `CKTransportError` if no complete response arrived or the file could not be written.
  func download(from address: URL, to file: URL, limit: Int64) async throws(CKTransportError) -> CKTransportResponse
}
