import NIOCore

/// Turns a connection away that is one too many.
final class FullHouse: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelActive(context: ChannelHandlerContext) {
    let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
    // Closed at once, the connection would be reset by what the client has sent, and the answer lost.
    context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(500)) { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
