import NIOCore
import NIOHTTP1

/// Sends 100 Continue to a client that asks for it. Must come before the compressor, which would take that for the
/// response to the request. For HEAD requests it removes `Accept-Encoding`, because the compressor would otherwise
/// replace the body of the response.
final class ContinueHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data),
      head.headers["expect"].contains(where: { $0.lowercased() == "100-continue" })
    {
      context.writeAndFlush(
        wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))),
        promise: nil
      )
    }
    if case .head(var head) = unwrapInboundIn(data), head.method == .HEAD {
      head.headers.remove(name: "accept-encoding")
      return context.fireChannelRead(wrapInboundOut(.head(head)))
    }
    context.fireChannelRead(data)
  }
}

extension HTTPResponseHead {
  /// Whether the response is text of at least 1 kB. Files are not compressed.
  var isWorthCompressing: Bool {
    guard let length = headers.first(name: "content-length").flatMap({ Int($0) }), length >= 1024 else { return false }
    let type = headers.first(name: "content-type") ?? ""
    return type.hasPrefix("application/json") || type.hasPrefix("text/")
  }
}
