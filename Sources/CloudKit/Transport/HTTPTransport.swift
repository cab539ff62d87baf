internal import AsyncHTTPClient
public import Foundation
internal import NIOCore
internal import NIOFoundationCompat
internal import NIOHTTP1
internal import NIOHTTPCompression
internal import Synchronization

/// Carries requests to a CloudKit server over HTTP/1.1 or HTTP/2.
///
/// Limits: redirects are not followed (a signature covers one path on one host), an answer may have 64 MB after
/// decompression, and a request ends after `timeout` at the latest, whatever it is waiting for. One transport keeps its
/// own pool of connections; assets live on other hosts and need a transport of their own.
public final class CKHTTPTransport: CKTransport {
  /// Where Apple serves CloudKit Web Services.
  public static let appleURL = URL(string: "https://api.apple-cloudkit.com")!

  /// The scheme, host and port that every request goes to.
  public let baseURL: URL
  /// The longest a whole request may take, from asking for a connection to the last byte of the answer.
  public let timeout: Duration

  private static let ports = 1...65535

  private let client: HTTPClient
  private let largestAnswer: Int

  /// Makes a transport to a server. Nothing is connected before the first request.
  ///
  /// - Parameters:
  ///   - baseURL: Scheme, host and port alone. Anything else (a path, a user) makes each request fail as not sent, because
  ///     the path is signed as CloudKit sees it.
  ///   - timeout: The longest a whole request may take.
  public convenience init(baseURL: URL = CKHTTPTransport.appleURL, timeout: Duration = .seconds(60)) {
    self.init(baseURL: baseURL, timeout: timeout, connectTimeout: .seconds(10), largestAnswer: 64 << 20)
  }

  package init(baseURL: URL, timeout: Duration, connectTimeout: Duration, largestAnswer: Int) {
    self.baseURL = baseURL
    self.timeout = timeout
    self.largestAnswer = largestAnswer
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: TimeAmount(connectTimeout), read: TimeAmount(timeout), write: TimeAmount(timeout)),
      decompression: .enabled(limit: .size(largestAnswer))
    )
    // A refused connection is the caller's to wait for: it knows what the request was, and shows the operator why.
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }

  deinit {
    // The client traps when it is dropped while open. It keeps itself alive until this has finished, and says that it is
    // closed already where `shutdown()` came first.
    client.shutdown(queue: .global()) { _ in }
  }

  /// Closes the connections. Requests under way fail, later ones are not sent. A second call does nothing.
  ///
  /// Not needed for correctness: a transport closes its connections when it is released. A program that wants them closed
  /// before it goes on calls this.
  public func shutdown() async {
    try? await client.shutdown()
  }

  /// Sends a request and returns the complete answer, whatever its HTTP status.
  ///
  /// - Throws: `CKTransportError`: `notSent` when no connection was made (DNS, refused, TLS, connect and pool timeouts) or
  ///   the body never started to leave; `cancelled` when the task was cancelled; `unknown` for everything later.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The request was cancelled.") }
    let bodyLeft = Flag()
    let timeout = min(timeout, request.timeout ?? timeout)
    let outgoing = try outgoing(request, bodyLeft: bodyLeft)
    let result = await withTaskGroup(of: Result<CKTransportResponse, any Error>?.self) { group in
      group.addTask { [self] in await exchange(outgoing) }
      group.addTask {
        try? await Task.sleep(for: timeout)
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    if Task.isCancelled, (try? result?.get()) == nil {
      throw CKTransportError(.cancelled, "The request was cancelled.")
    }
    switch result {
    case .success(let response): return response
    case .failure(let error):
      throw HTTPFailure(error).transportError(bodyLeft: bodyLeft.isSet, hasBody: !request.body.isEmpty, to: baseURL)
    case nil:
      let delivery: CKTransportError.Delivery = request.body.isEmpty || bodyLeft.isSet ? .unknown : .notSent
      throw CKTransportError(delivery, "No complete answer from \(baseURL.hostForPeople) within \(timeout).")
    }
  }

  private func outgoing(_ request: CKTransportRequest, bodyLeft: Flag) throws(CKTransportError) -> HTTPClientRequest {
    guard
      let parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme, ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty,
      ["", "/"].contains(parts.percentEncodedPath), parts.query == nil, parts.user == nil, parts.password == nil,
      // The client traps for a number that is no port.
      parts.port.map(Self.ports.contains) ?? true
    else {
      throw CKTransportError(
        .notSent,
        "The server's address has to be http or https, a host, and a port up to 65535 at most."
      )
    }
    let port = parts.port.map { ":\($0)" } ?? ""
    let query = request.query.isEmpty ? "" : "?" + request.query
    var outgoing = HTTPClientRequest(url: "\(scheme)://\(host)\(port)\(request.path)\(query)")
    outgoing.method = HTTPMethod(rawValue: request.method)
    for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
    // Within one machine, packing and unpacking an answer takes longer than moving it.
    if ["localhost", "127.0.0.1", "[::1]"].contains(host) {
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

  private func exchange(_ request: HTTPClientRequest) async -> Result<CKTransportResponse, any Error> {
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      let body = try await response.body.collect(upTo: largestAnswer)
      // A cancelled body ends early without an error: what was read so far is not the answer.
      try Task.checkCancellation()
      let headers = response.headers.map { CKHTTPHeader($0.name, $0.value) }
      return .success(
        CKTransportResponse(status: Int(response.status.code), headers: headers, body: Data(buffer: body))
      )
    } catch {
      return .failure(error)
    }
  }
}

/// A body that notes when the connection first asks for it.
///
/// The client asks only once a connection stands and the head is written, so a body that was never asked for proves that
/// the server cannot have carried the request out, whichever error follows.
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

/// A fact that turns true once, seen from several tasks.
private final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
