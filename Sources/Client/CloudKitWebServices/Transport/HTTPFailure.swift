internal import AsyncHTTPClient
package import Foundation
internal import NIOCore
internal import NIOPosix

/// Classifies an error of the HTTP client: whether a connection was made, and a message for people.
///
/// The message never contains the error's own text, which may quote the address and secrets in its query.
struct HTTPFailure {
  private enum Stage {
    /// No connection was made to the server, or to its proxy.
    case connecting
    /// The proxy made no connection to the server.
    case atProxy
    /// There was a connection to the server, but the request was not sent.
    case beforeRequest
    case afterConnection
    case cancelled
  }

  private let stage: Stage
  private let summary: String

  init(_ error: any Error) {
    (stage, summary) =
      switch error {
      case let error as HTTPClientError: Self.reading(error)
      case let error as NIOConnectionError: (.connecting, Self.words(for: error))
      case is CancellationError: (.cancelled, "was cancelled")
      case ChannelError.connectTimeout: (.connecting, "did not accept a connection in time")
      case let error as IOError where Self.refusals.contains(error.errnoCode):
        (.connecting, Self.words(forErrno: error.errnoCode))
      case is ResponseHeadGuard.InvalidStatus: (.afterConnection, "sent a response without a valid status")
      case let error as IOError: (.afterConnection, Self.words(forErrno: error.errnoCode))
      case is NIOTooManyBytesError: (.afterConnection, "sent a response over the size limit")
      default: (.afterConnection, "broke the connection (\(type(of: error)))")
      }
  }

  /// Returns the transport's error.
  ///
  /// - Parameters:
  ///   - bodyLeft: Whether the client began to send the body. A request whose body was not sent had no effect.
  ///   - hasBody: Whether the request has a body.
  ///   - route: The way to the server.
  func transportError(
    bodyLeft: Bool,
    hasBody: Bool,
    to baseURL: URL,
    _ route: ProxySettings.Route = .direct
  ) -> CKTransportError {
    let delivery: CKTransportError.Delivery =
      switch stage {
      case .cancelled: .cancelled
      case .connecting, .atProxy, .beforeRequest: .notSent
      case .afterConnection: hasBody && !bodyLeft ? .notSent : .unknown
      }
    var subject = baseURL.hostForPeople
    if case .proxy(let proxy) = route, stage == .connecting || stage == .atProxy {
      subject = "The proxy \(proxy) for \(subject)"
    }
    return CKTransportError(delivery, "\(subject) \(summary).")
  }

  private static func reading(_ error: HTTPClientError) -> (Stage, String) {
    switch error {
    case .connectTimeout, .getConnectionFromPoolTimeout: (.connecting, "did not accept a connection in time")
    case .httpProxyHandshakeTimeout: (.atProxy, "did not connect to it in time")
    case .proxyAuthenticationRequired: (.atProxy, "requires a user and a password in its address")
    case .invalidProxyResponse: (.atProxy, "refused to connect to it")
    case .tlsHandshakeTimeout: (.beforeRequest, "did not finish the TLS handshake in time")
    case .alreadyShutdown: (.beforeRequest, "was not contacted: the transport is shut down")
    case .invalidURL, .emptyHost, .emptyScheme:
      (.beforeRequest, "was not contacted: \(error.shortDescription)")
    case .readTimeout, .deadlineExceeded, .writeTimeout: (.afterConnection, "did not respond in time")
    case .remoteConnectionClosed, .uncleanShutdown: (.afterConnection, "closed the connection before it responded")
    // The client also reports its own shutdown as cancelled. The caller has already checked for cancellation of its
    // task.
    case .cancelled, .requestStreamCancelled: (.afterConnection, "was disconnected: the transport was shut down")
    default: (.afterConnection, "broke the connection: \(error.shortDescription)")
    }
  }

  private static let refusals: Set<CInt> = [
    ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL,
  ]

  private static func words(for error: NIOConnectionError) -> String {
    if error.connectionErrors.isEmpty { return "was not found (DNS lookup failed)" }
    guard let io = error.connectionErrors.lazy.compactMap({ $0.error as? IOError }).first else {
      return "did not accept a connection in time"
    }
    return words(forErrno: io.errnoCode)
  }

  private static func words(forErrno code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "refused the connection"
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: "cannot be reached"
    case ECONNRESET, EPIPE: "closed the connection before it responded"
    default: "broke the connection (errno \(code))"
    }
  }
}

extension CKTransportError {
  /// Creates the error for a failed connection that no request was sent over.
  package init(connecting error: any Error, to url: URL, _ route: ProxySettings.Route) {
    self = HTTPFailure(error).transportError(bodyLeft: false, hasBody: false, to: url, route)
  }
}

extension URL {
  /// The host and port, for messages.
  var hostForPeople: String {
    guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true), let host = parts.percentEncodedHost,
      !host.isEmpty
    else { return "the server" }
    return parts.port.map { "\(host):\($0)" } ?? host
  }
}

extension HTTPClient.Configuration.Proxy {
  /// The proxy as the HTTP client takes it.
  init(_ proxy: ProxySettings.Proxy) {
    self = .server(
      host: proxy.host,
      port: proxy.port,
      authorization: proxy.credentials.map { .basic(username: $0.user, password: $0.password) }
    )
  }
}
