import NIOCore
import NIOHTTP1

/// Tells a client that asks beforehand to go on with its body. It stands in front of the compressor, which takes every
/// answer it sees for the one answer to a request, with a body that it may write anew: who asks for a head alone gets it
/// as it is.
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
  /// Text of some length; files are what they are.
  var isWorthCompressing: Bool {
    guard let length = headers.first(name: "content-length").flatMap({ Int($0) }), length >= 1024 else { return false }
    let type = headers.first(name: "content-type") ?? ""
    return type.hasPrefix("application/json") || type.hasPrefix("text/")
  }
}
