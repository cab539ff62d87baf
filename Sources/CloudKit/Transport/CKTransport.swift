public import Foundation

/// Carries one HTTP exchange with CloudKit: over the network, in process to an emulator, or from a recording.
///
/// A transport neither retries nor interprets: it delivers the bytes it was given and says truthfully whether a request
/// that failed can have reached the server, because everything about repeating a write follows from that.
public protocol CKTransport: Sendable {
  /// Sends a request and returns the complete answer, whatever its HTTP status.
  ///
  /// - Throws: `CKTransportError`; its `delivery` tells a request that never left from one whose answer was lost.
  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse

  /// A transport to another server that CloudKit names in an answer, such as the web courier of pushes.
  ///
  /// Unless implemented, it is HTTP with connections of its own. What carries requests in process returns itself.
  ///
  /// - Parameters:
  ///   - origin: Scheme, host and port.
  ///   - timeout: The longest a request may take.
  func transport(to origin: URL, timeout: Duration) -> any CKTransport
}

extension CKTransport {
  /// A transport to another server over HTTP, with connections of its own.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    CKHTTPTransport(baseURL: origin, timeout: timeout)
  }
}

/// One HTTP request to CloudKit Web Services, body included, ready to go out byte for byte.
public struct CKTransportRequest: Sendable, Hashable {
  /// `GET` or `POST`.
  public var method: String
  /// The path from `/database/…` or `/device/…`, already percent-encoded, without the query.
  public var path: String
  /// The query, already percent-encoded, without its question mark; empty where there is none. May hold secrets.
  public var query: String
  /// Header fields in order. May hold secrets.
  public var headers: [CKHTTPHeader]
  /// The bytes that were signed and are to be sent unchanged.
  public var body: Data
  /// The longest that the caller waits for the complete answer, where that is less than the transport's own limit.
  public var timeout: Duration?

  /// Makes a request.
  public init(method: String, path: String, query: String = "", headers: [CKHTTPHeader] = [], body: Data = Data()) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }
}

/// A complete HTTP answer.
public struct CKTransportResponse: Sendable, Hashable {
  /// The HTTP status code.
  public var status: Int
  /// Header fields in the order received.
  public var headers: [CKHTTPHeader]
  /// The body, decompressed.
  public var body: Data

  /// Makes an answer.
  public init(status: Int, headers: [CKHTTPHeader] = [], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first value of a header field, its name compared without regard to case.
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

  /// Makes a header field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Why no complete answer arrived.
public struct CKTransportError: Error, Sendable, Hashable {
  /// Whether the server can have seen the request.
  public enum Delivery: Sendable, Hashable {
    /// The connection was never made, so the request had no effect (connect and pool timeouts, DNS, refused).
    case notSent
    /// Something may have been sent: the effect is unknown and has to be read back.
    case unknown
    /// The caller cancelled; the effect is unknown.
    case cancelled
  }

  /// Whether the server can have seen the request.
  public var delivery: Delivery
  /// What happened, for people; never a secret.
  public var message: String

  /// Makes an error.
  public init(_ delivery: Delivery, _ message: String) {
    self.delivery = delivery
    self.message = message
  }
}
