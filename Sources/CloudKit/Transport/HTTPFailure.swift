internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// What an error of the HTTP client says about the request: whether a connection stood, and words for people.
///
/// The words never come from the error's own text, which may quote the address and with it the secrets of the query.
struct HTTPFailure {
  private enum Stage {
    case beforeConnection
    case afterConnection
    case cancelled
  }

  private let stage: Stage
  private let summary: String

  init(_ error: any Error) {
    (stage, summary) =
      switch error {
      case let error as HTTPClientError: Self.reading(error)
      case let error as NIOConnectionError: (.beforeConnection, Self.words(for: error))
      case is CancellationError: (.cancelled, "was cancelled")
      case ChannelError.connectTimeout: (.beforeConnection, "did not accept a connection in time")
      case let error as IOError where Self.refusals.contains(error.errnoCode):
        (.beforeConnection, Self.words(forErrno: error.errnoCode))
      case let error as IOError: (.afterConnection, Self.words(forErrno: error.errnoCode))
      case is NIOTooManyBytesError: (.afterConnection, "sent an answer over the size limit")
      default: (.afterConnection, "broke off the exchange (\(type(of: error)))")
      }
  }

  /// The transport's error.
  ///
  /// - Parameters:
  ///   - bodyLeft: Whether the connection asked for the body: if it has one and did not, nothing can have taken effect.
  ///   - hasBody: Whether there was a body to ask for.
  func transportError(bodyLeft: Bool, hasBody: Bool, to baseURL: URL) -> CKTransportError {
    let delivery: CKTransportError.Delivery =
      switch stage {
      case .cancelled: .cancelled
      case .beforeConnection: .notSent
      case .afterConnection: hasBody && !bodyLeft ? .notSent : .unknown
      }
    return CKTransportError(delivery, "\(baseURL.hostForPeople) \(summary).")
  }

  private static func reading(_ error: HTTPClientError) -> (Stage, String) {
    switch error {
    case .connectTimeout, .getConnectionFromPoolTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout:
      (.beforeConnection, "did not accept a connection in time")
    case .tlsHandshakeTimeout: (.beforeConnection, "did not finish the TLS handshake in time")
    case .alreadyShutdown: (.beforeConnection, "was not asked, because the transport is shut down")
    case .invalidURL, .emptyHost, .emptyScheme, .invalidProxyResponse, .proxyAuthenticationRequired:
      (.beforeConnection, "was not asked: \(error.shortDescription)")
    case .readTimeout, .deadlineExceeded, .writeTimeout: (.afterConnection, "did not answer in time")
    case .remoteConnectionClosed, .uncleanShutdown: (.afterConnection, "closed the connection before it had answered")
    // The client's own word for a closed client too; the caller has checked for its own cancellation before.
    case .cancelled, .requestStreamCancelled: (.afterConnection, "was cut off: the transport was shut down")
    default: (.afterConnection, "broke off the exchange: \(error.shortDescription)")
    }
  }

  private static let refusals: Set<CInt> = [
    ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL,
  ]

  private static func words(for error: NIOConnectionError) -> String {
    if error.connectionErrors.isEmpty { return "was not found (name lookup failed)" }
    guard let io = error.connectionErrors.lazy.compactMap({ $0.error as? IOError }).first else {
      return "did not accept a connection in time"
    }
    return words(forErrno: io.errnoCode)
  }

  private static func words(forErrno code: CInt) -> String {
    switch code {
    case ECONNREFUSED: "refused the connection"
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: "cannot be reached from here"
    case ECONNRESET, EPIPE: "closed the connection before it had answered"
    default: "broke off the exchange (errno \(code))"
    }
  }
}

extension URL {
  /// Host and port, for messages.
  var hostForPeople: String {
    guard let host = host(percentEncoded: false), !host.isEmpty else { return "the server" }
    return port.map { "\(host):\($0)" } ?? host
  }
}
