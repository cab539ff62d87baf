public import Foundation

/// Carries HTTP exchanges with CloudKit: over the network, in process to an emulator, or from a recording.
///
/// A transport neither retries nor interprets responses. It sends the given bytes and reports reliably whether a failed
/// request may have reached the server, because the caller's retries depend on it.
public protocol CKTransport: Sendable {
  /// Sends a request and returns the complete response, whatever its HTTP status.
  ///
  /// - Throws: `CKTransportError`. Its `delivery` distinguishes a request that was never sent from one whose response
  ///   was lost.
  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse

  /// Returns a transport to another server that CloudKit names in a response, such as the web courier for pushes.
  ///
  /// By default it is the transport itself, so that a transport in a test never reaches the network.
  ///
  /// - Parameters:
  ///   - origin: Scheme, host and port.
  ///   - timeout: The maximum time for a request.
  func transport(to origin: URL, timeout: Duration) -> any CKTransport

  /// The transport for the bytes of assets, which are on other hosts.
  ///
  /// By default it is the transport itself if it also conforms to `CKAssetTransport`, and otherwise one that sends
  /// nothing, so that a transport in a test never reaches the network.
  var assetTransport: any CKAssetTransport { get }
}

extension CKTransport {
  /// Returns the transport itself.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport { self }

  /// The transport itself if it carries assets, otherwise one that sends nothing.
  public var assetTransport: any CKAssetTransport { self as? any CKAssetTransport ?? NoAssetTransport() }
}

/// The asset transport of a transport that carries no assets.
package struct NoAssetTransport: CKAssetTransport {
  private static let refusal = CKTransportError(
    .notSent,
    "This transport carries no asset files. Set CKContainerConfiguration.assetTransport."
  )

  package init() {}

  package func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    throw Self.refusal
  }

  package func download(
    from address: URL,
    to file: URL,
    limit: Int64
  ) async throws(CKTransportError) -> CKTransportResponse {
    throw Self.refusal
  }
}

/// An HTTP request to CloudKit Web Services, including its body, ready to be sent byte for byte.
public struct CKTransportRequest: Sendable, Hashable {
  /// `GET` or `POST`.
  public var method: String
  /// The path from `/database/…` or `/device/…`, already percent-encoded, without the query.
  public var path: String
  /// The query, already percent-encoded, without its question mark; empty if there is none. May contain secrets.
  public var query: String
  /// The header fields in order. May contain secrets.
  public var headers: [CKHTTPHeader]
  /// The signed bytes, to be sent unchanged.
  public var body: Data
  /// The maximum time to wait for the complete response, if less than the transport's own limit.
  public var timeout: Duration?
  /// Whether the request must not use a connection that carried another request, because that one led to a wrong
  /// server.
  public var needsNewConnection = false

  /// Creates a request.
  public init(method: String, path: String, query: String = "", headers: [CKHTTPHeader] = [], body: Data = Data()) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }
}

/// A complete HTTP response.
public struct CKTransportResponse: Sendable, Hashable {
  /// The HTTP status code.
  public var status: Int
  /// The header fields in the order received.
  public var headers: [CKHTTPHeader]
  /// The body, decompressed.
  public var body: Data

  /// Creates a response.
  public init(status: Int, headers: [CKHTTPHeader] = [], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Returns the first value of a header field. Names are case-insensitive.
  public func header(_ name: String) -> String? {
    let wanted = name.lowercased()
    return headers.first { $0.name.lowercased() == wanted }?.value
  }
}

/// One HTTP header field.
public struct CKHTTPHeader: Sendable, Hashable {
  /// The name as sent.
  public var name: String
  /// The value.
  public var value: String

  /// Creates a header field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The reason that no complete response arrived.
public struct CKTransportError: Error, Sendable, Hashable, CustomNSError {
  /// Whether the server may have received the request.
  public enum Delivery: Sendable, Hashable {
    /// No connection was made, so the request had no effect (connect and pool timeouts, DNS, refused).
    case notSent
    /// The request may have been sent. Its effect is unknown and must be verified.
    case unknown
    /// The caller cancelled the request. Its effect is unknown.
    case cancelled
  }

  /// Whether the server may have received the request.
  public var delivery: Delivery
  /// A description for people, without secrets.
  public var message: String

  /// The domain as an `NSError`, which names the module that programs import.
  public static var errorDomain: String { "CloudKit.CKTransportError" }

  /// Creates an error.
  public init(_ delivery: Delivery, _ message: String) {
    self.delivery = delivery
    self.message = message
  }
}
