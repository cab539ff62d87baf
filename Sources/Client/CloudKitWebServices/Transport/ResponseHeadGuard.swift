internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// Turns a response whose status is no status into an error. The HTTP client ignores such a head, and then traps at the
/// end of its response.
final class ResponseHeadGuard: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// A status below 100.
  struct InvalidStatus: Error {}

  private var isBroken = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
      isBroken = true
      context.fireErrorCaught(InvalidStatus())
      context.close(promise: nil)
    }
    if !isBroken { context.fireChannelRead(data) }
  }
}

extension HTTPClient.Configuration {
  /// Makes responses of any bytes end as a response or as an error.
  ///
  /// HTTP/2 is not used: its decoder traps for a status that is empty or negative, before any handler sees it.
  mutating func distrustResponses() {
    httpVersion = .http1Only
    http1_1ConnectionDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try pipeline.addHandler(ResponseHeadGuard(), position: .after(decoder))
      }
    }
  }
}
