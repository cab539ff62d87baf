import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A server on a free port of this machine that behaves in one way, for as long as a test runs.
struct LoopbackServer: Sendable {
  enum Behaviour: Sendable {
    /// Answers with the request's line and body.
    case echo
    /// Reads the request, then closes without an answer.
    case closeAfterReading
    /// Sends the head and half of the body it announced, then closes.
    case closeWithinAnswer
    /// Reads the request and says nothing.
    case silence
    /// Sends the head of an answer and nothing more.
    case silenceWithinAnswer
    /// Answers with this many bytes.
    case large(Int)
  }

  let port: Int
  private let count: Count

  /// The number of connections so far.
  var connections: Int { count.value.withLock { $0 } }

  private final class Count: Sendable {
    let value = Mutex(0)
  }

  static func run<Result>(
    _ behaviour: Behaviour,
    on host: String = "127.0.0.1",
    _ body: (LoopbackServer) async throws -> Result
  ) async throws -> Result {
    let count = Count()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        count.value.withLock { $0 += 1 }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(behaviour))
        }
      }
      .bind(host: host, port: 0).get()
    let server = LoopbackServer(port: channel.localAddress?.port ?? 0, count: count)
    do {
      let result = try await body(server)
      try await channel.close()
      return result
    } catch {
      try? await channel.close()
      throw error
    }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let behaviour: Behaviour
    private var head = ""
    private var body = ByteBuffer()

    init(_ behaviour: Behaviour) { self.behaviour = behaviour }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let request): head = "\(request.method.rawValue) \(request.uri)\n"
      case .body(var part): body.writeBuffer(&part)
      case .end: answer(context)
      }
    }

    private func answer(_ context: ChannelHandlerContext) {
      switch behaviour {
      case .silence: break
      case .closeAfterReading: context.close(promise: nil)
      case .echo:
        var echo = ByteBuffer(string: head)
        echo.writeBuffer(&body)
        send(echo, announcing: echo.readableBytes, to: context)
      case .large(let size): send(ByteBuffer(repeating: 0x20, count: size), announcing: size, to: context)
      case .silenceWithinAnswer: send(ByteBuffer(string: "half"), announcing: 8, to: context)
      case .closeWithinAnswer:
        send(ByteBuffer(string: "half"), announcing: 8, to: context)
        context.close(promise: nil)
      }
    }

    private func send(_ bytes: ByteBuffer, announcing size: Int, to context: ChannelHandlerContext) {
      let headers = HTTPHeaders([("Content-Length", "\(size)"), ("X-Test", "yes")])
      let head = HTTPResponseHead(version: .http1_1, status: .accepted, headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
      if bytes.readableBytes == size { context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil) }
    }
  }
}
