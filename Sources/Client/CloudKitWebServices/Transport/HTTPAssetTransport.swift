internal import AsyncHTTPClient
public import Foundation
internal import NIOCore
internal import NIOHTTP1

/// Streams assets over HTTP/1.1, through the proxy that `HTTPS_PROXY` and `NO_PROXY` name. A transfer needs a few
/// hundred kilobytes of memory, whatever the file's size.
///
/// It has its own connection pool, sends no credentials and follows no redirects.
public final class CKHTTPAssetTransport: CKAssetTransport {
  /// The maximum time for a whole transfer.
  public let timeout: Duration

  private let client: HTTPClient
  /// The client for addresses that are reached through the proxy; nil if there is none.
  private let proxied: HTTPClient?
  private let proxies: ProxySettings
  /// The event loop of all connections, which limits how fast files are read.
  private let loop: any EventLoop

  /// Creates a transport. It connects with the first transfer.
  ///
  /// - Parameters:
  ///   - timeout: The maximum time for a whole transfer. Upload addresses are valid for 15 minutes.
  ///   - idleTimeout: The maximum time without progress.
  public convenience init(timeout: Duration = .seconds(900), idleTimeout: Duration = .seconds(60)) {
    self.init(
      timeout: timeout,
      idleTimeout: idleTimeout,
      proxies: ProxySettings(environment: ProcessInfo.processInfo.environment)
    )
  }

  package init(timeout: Duration = .seconds(900), idleTimeout: Duration = .seconds(60), proxies: ProxySettings) {
    self.timeout = timeout
    self.proxies = proxies
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(10), read: TimeAmount(idleTimeout), write: TimeAmount(idleTimeout))
    )
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.distrustResponses()
    loop = HTTPClient.defaultEventLoopGroup.next()
    client = HTTPClient(eventLoopGroup: loop, configuration: configuration)
    if case .proxy(let proxy) = proxies.proxy {
      configuration.proxy = HTTPClient.Configuration.Proxy(proxy)
      proxied = HTTPClient(eventLoopGroup: loop, configuration: configuration)
    } else {
      proxied = nil
    }
  }

  deinit {
    // A client traps if it is released while open. It keeps itself alive until the shutdown has finished.
    for client in [client, proxied] { client?.shutdown(queue: .global()) { _ in } }
  }

  /// Posts the unchanged bytes of a file and returns the response, whatever its HTTP status.
  ///
  /// - Throws: `CKTransportError`: `notSent` if the file cannot be opened or no connection was made; `cancelled` if the
  ///   task was cancelled; `unknown` for all later failures.
  public func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    let source: StreamedFile
    do {
      source = try StreamedFile(reading: file)
    } catch {
      throw CKTransportError(.notSent, "The file \(error.message).")
    }
    var request = HTTPClientRequest(url: address.absoluteString)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: "application/octet-stream")
    request.body = .stream(
      StreamedFile.Pieces(file: source, loop: loop, report: AssetBytes.report),
      length: .known(source.size)
    )
    return try await exchange(request, with: address) { response in
      let body = response.isSuccess ? try await response.body.collect(upTo: 64 << 10) : ByteBuffer()
      return CKTransportResponse(response, body: Data(body.readableBytesView))
    }
  }

  /// Gets an address and overwrites a file with the body of a successful response.
  ///
  /// - Throws: `CKTransportError`: `notSent` if the file cannot be opened or no connection was made; `cancelled` if the
  ///   task was cancelled; `unknown` for all later failures.
  public func download(
    from address: URL,
    to file: URL,
    limit: Int64
  ) async throws(CKTransportError) -> CKTransportResponse {
    let sink: StreamedFile
    do {
      sink = try StreamedFile(overwriting: file)
    } catch {
      throw CKTransportError(.notSent, "The file \(error.message).")
    }
    return try await exchange(HTTPClientRequest(url: address.absoluteString), with: address) { response in
      guard response.isSuccess else { return CKTransportResponse(response) }
      var received: Int64 = 0
      for try await piece in response.body {
        received += Int64(piece.readableBytes)
        guard received <= limit else { throw NIOTooManyBytesError(maxBytes: Int(limit)) }
        try await sink.append(piece)
        AssetBytes.report?(Int64(piece.readableBytes))
      }
      return CKTransportResponse(response)
    }
  }

  private func exchange(
    _ request: HTTPClientRequest,
    with address: URL,
    _ read: @escaping @Sendable (HTTPClientResponse) async throws -> CKTransportResponse
  ) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The transfer was cancelled.") }
    let route = proxies.route(to: address)
    let client: HTTPClient
    switch route {
    case .direct: client = self.client
    case .proxy: client = proxied ?? self.client
    case .unusable(let reason):
      throw CKTransportError(.notSent, "Nothing was sent to \(address.hostForPeople): \(reason).")
    }
    let result = await finished(by: .now + timeout) { () -> Result<CKTransportResponse, any Error> in
      do {
        let answer = try await read(client.execute(request, deadline: .distantFuture))
        // A cancelled body ends early without an error, so a partial body must not be returned as the response.
        try Task.checkCancellation()
        return .success(answer)
      } catch {
        return .failure(error)
      }
    }
    if case .success(let answer) = result { return answer }
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The transfer was cancelled.") }
    switch result {
    case .success(let answer): return answer
    case .failure(let failure as StreamedFile.Failure): throw CKTransportError(.unknown, "The file \(failure.message).")
    case .failure(let error):
      throw HTTPFailure(error).transportError(bodyLeft: true, hasBody: false, to: address, route)
    case nil: throw CKTransportError(.unknown, "Transfer with \(address.hostForPeople) took over \(timeout).")
    }
  }
}

extension HTTPClientResponse {
  fileprivate var isSuccess: Bool { (200..<300).contains(status.code) }
}

extension CKTransportResponse {
  init(_ response: HTTPClientResponse, body: Data = Data()) {
    let headers = response.headers.map { CKHTTPHeader($0.name, $0.value) }
    self.init(status: Int(response.status.code), headers: headers, body: body)
  }
}
