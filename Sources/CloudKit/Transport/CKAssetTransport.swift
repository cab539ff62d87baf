public import Foundation

/// Carries the bytes of assets to and from the hosts that keep them.
///
/// Assets live on other hosts than CloudKit Web Services, at addresses that CloudKit gives out: no credential goes there,
/// and connections to one side are never used for the other. A transport that also conforms to `CKTransport`, such as one
/// to an emulator, carries its container's assets unless the configuration names another.
public protocol CKAssetTransport: Sendable {
  /// Posts the bytes of a file as they are and returns the answer, whatever its HTTP status.
  ///
  /// - Parameters:
  ///   - file: A regular file. It is sent as long as it is when it is opened.
  ///   - address: An http or https address.
  /// - Throws: `CKTransportError` when no complete answer came, or the file could not be read to its end.
  func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse

  /// Gets an address and writes the body of a successful answer over a file.
  ///
  /// - Parameters:
  ///   - address: An http or https address.
  ///   - file: An existing file; what it holds after a failure means nothing.
  ///   - limit: The most bytes to take; a longer body is a failure.
  /// - Returns: The answer without its body, whatever its HTTP status.
  /// - Throws: `CKTransportError` when no complete answer came, or the file could not be written.
  func download(from address: URL, to file: URL, limit: Int64) async throws(CKTransportError) -> CKTransportResponse
}
