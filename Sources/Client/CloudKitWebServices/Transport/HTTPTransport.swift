internal import AsyncHTTPClient
public import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import NIOHTTPCompression
internal import Synchronization

/// Sends requests to a CloudKit server over HTTP/1.1, through the proxy that `HTTPS_PROXY` and `NO_PROXY` name.
///
/// Limits: redirects are not followed (a signature covers one path on one host), a response can have at most 64 MB
/// after decompression, and every request ends after `timeout` at the latest. Each transport has its own connection
/// pool. Assets are on other hosts and have a separate transport.
public final class CKHTTPTransport: CKTransport {
  /// The address of Apple's CloudKit Web Services.
  public static let appleURL = URL(string: "https://api.apple-cloudkit.com")!

  /// The scheme, host and port of every request.
  public let baseURL: URL
  /// The maximum time for a whole request, from requesting a connection to the last byte of the response.
  public let timeout: Duration

  private static let ports = 1...65535

  private let client: HTTPClient
  private let configuration: HTTPClient.Configuration
  private let largestAnswer: Int
  private let allowsHTTP: Bool
  private let proxies: ProxySettings
  private let route: ProxySettings.Route
  private let assets = Mutex<CKHTTPAssetTransport?>(nil)

  /// Creates a transport to a server. It connects with the first request.
  ///
  /// - Parameters:
  ///   - baseURL: Only a scheme, host and port. With anything else (a path, a user), every request fails as not sent,
  ///     because the signature covers the path as CloudKit sees it.
  ///   - timeout: The maximum time for a whole request.
  ///   - allowsHTTP: Whether requests may go to other machines over `http`, where they can be read on the way.
  ///     Otherwise they fail as not sent, because they carry credentials. Requests to this machine (loopback) always
  ///     may.
  public convenience init(
    baseURL: URL = CKHTTPTransport.appleURL,
    timeout: Duration = .seconds(60),
    allowsHTTP: Bool = false
  ) {
    self.init(
      baseURL: baseURL,
      timeout: timeout,
      allowsHTTP: allowsHTTP,
      proxies: ProxySettings(environment: ProcessInfo.processInfo.environment)
    )
  }

  package init(
    baseURL: URL,
    timeout: Duration = .seconds(60),
    connectTimeout: Duration = .seconds(10),
    largestAnswer: Int = 64 << 20,
    allowsHTTP: Bool = false,
    proxies: ProxySettings
  ) {
    self.baseURL = baseURL
    self.allowsHTTP = allowsHTTP
    self.timeout = timeout
    self.largestAnswer = largestAnswer
    self.proxies = proxies
    route = proxies.route(to: baseURL)
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: TimeAmount(connectTimeout), read: TimeAmount(timeout), write: TimeAmount(timeout)),
      decompression: .enabled(limit: .size(largestAnswer))
    )
    // The caller waits after a refused connection: it knows the request, and shows the operator the reason.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.distrustResponses()
    if case .proxy(let proxy) = route { configuration.proxy = HTTPClient.Configuration.Proxy(proxy) }
    self.configuration = configuration
    client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }

  deinit {
    // The client traps if it is released while open. It keeps itself alive until the shutdown has finished, and reports
    // that it is already closed if `shutdown()` was called before.
    client.shutdown(queue: .global()) { _ in }
  }

  /// Closes the connections. Running requests fail, and later ones are not sent. A second call does nothing.
  ///
  /// Calling it is optional: a transport closes its connections when it is released. Call it to close them at a defined
  /// time.
  public func shutdown() async {
    try? await client.shutdown()
  }

  /// Returns a transport to another server over HTTP, with separate connections.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    CKHTTPTransport(baseURL: origin, timeout: timeout, allowsHTTP: allowsHTTP, proxies: proxies)
  }

  /// The transport for assets over HTTP, with separate connections. Everything that uses this transport shares it.
  public var assetTransport: any CKAssetTransport {
    assets.withLock { assets in
      let transport = assets ?? CKHTTPAssetTransport(proxies: proxies)
      assets = transport
      return transport
    }
  }

  /// Whether requests to a URL can be read on the way: it is `http`, and the server is not this machine.
  package static func isOpen(_ url: URL) -> Bool { url.scheme?.lowercased() == "http" && !url.isLoopback }

  /// Sends a request and returns the complete response, whatever its HTTP status.
  ///
  /// - Throws: `CKTransportError`: `notSent` if no connection was made (DNS, refused, TLS, connect and pool timeouts)
  ///   or the body was never sent; `cancelled` if the task was cancelled; `unknown` for all later failures.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The request was cancelled.") }
    let bodyLeft = Flag()
    let timeout = min(timeout, request.timeout ?? timeout)
    let outgoing = try outgoing(request, bodyLeft: bodyLeft)
    let lone =
      request.needsNewConnection
      ? HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration) : nil
    defer { lone?.shutdown(queue: .global(), { _ in }) }
    let result = await finished(by: .now + timeout) { [self] in await exchange(outgoing, lone ?? client) }
    if Task.isCancelled, (try? result?.get()) == nil {
      throw CKTransportError(.cancelled, "The request was cancelled.")
    }
    switch result {
    case .success(let response): return response
    case .failure(let error):
      throw HTTPFailure(error).transportError(
        bodyLeft: bodyLeft.isSet,
        hasBody: !request.body.isEmpty,
        to: baseURL,
        route
      )
    case nil:
      let delivery: CKTransportError.Delivery = request.body.isEmpty || bodyLeft.isSet ? .unknown : .notSent
      throw CKTransportError(delivery, "No complete response from \(baseURL.hostForPeople) within \(timeout).")
    }
  }

  private func outgoing(_ request: CKTransportRequest, bodyLeft: Flag) throws(CKTransportError) -> HTTPClientRequest {
    guard
      let parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme, ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty,
      ["", "/"].contains(parts.percentEncodedPath), parts.query == nil, parts.user == nil, parts.password == nil,
      // The client traps for an invalid port number.
      parts.port.map(Self.ports.contains) ?? true
    else {
      throw CKTransportError(
        .notSent,
        "The server address must consist of http or https, a host, and a port of at most 65535."
      )
    }
    guard allowsHTTP || !Self.isOpen(baseURL) else {
      throw CKTransportError(
        .notSent,
        "Credentials are not sent to \(host) over http, where they can be read on the way. Use https, or allow it with "
          + "allowsHTTP."
      )
    }
    if case .unusable(let reason) = route {
      throw CKTransportError(.notSent, "Nothing was sent to \(host): \(reason).")
    }
    let port = parts.port.map { ":\($0)" } ?? ""
    let query = request.query.isEmpty ? "" : "?" + request.query
    var outgoing = HTTPClientRequest(url: "\(scheme)://\(host)\(port)\(request.path)\(query)")
    outgoing.method = HTTPMethod(rawValue: request.method)
    for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
    // On the same machine, compressing and decompressing a response takes longer than transferring it.
    if baseURL.isLoopback {
      outgoing.headers.add(name: "Accept-Encoding", value: "identity")
    }
    if !request.body.isEmpty {
      outgoing.body = .stream(
        WatchedBody(bytes: ByteBuffer(data: request.body), left: bodyLeft),
        length: .known(Int64(request.body.count))
      )
    }
    return outgoing
  }

  private func exchange(
    _ request: HTTPClientRequest,
    _ client: HTTPClient
  ) async -> Result<CKTransportResponse, any Error> {
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      let body = try await response.body.collect(upTo: largestAnswer)
      // A cancelled body ends early without an error, so a partial body must not be returned as the response.
      try Task.checkCancellation()
      return .success(CKTransportResponse(response, body: Data(buffer: body)))
    } catch {
      return .failure(error)
    }
  }
}

/// A body that records when the client first requests it.
///
/// The client requests it only after the connection is made and the head is written. A body that was never requested
/// proves that the server cannot have executed the request, whatever error follows.
private struct WatchedBody: AsyncSequence, Sendable {
  let bytes: ByteBuffer
  let left: Flag

  struct AsyncIterator: AsyncIteratorProtocol {
    var remaining: ByteBuffer?
    let left: Flag

    mutating func next() async throws -> ByteBuffer? {
      left.set()
      return remaining.take()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(remaining: bytes, left: left) }
}

/// A flag that is set once and shared between tasks.
private final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
