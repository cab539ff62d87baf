import NIOCore

/// Rejects a connection beyond the connection limit.
final class ConnectionLimitHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelActive(context: ChannelHandlerContext) {
    let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
    // Waits before closing: unread data from the client would reset the connection and lose the response.
    context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(500)) { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
