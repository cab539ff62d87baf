import NIOCore
import NIOPosix
import Synchronization

/// A server on a free port of this machine that answers with given bytes, whatever they are, and closes the connection.
final class RawServer: Sendable {
  let port: Int
  private let state = Mutex(State())

  private struct State {
    var connections = 0
    var requests: [String] = []
  }

  /// The number of connections so far.
  var connections: Int { state.withLock { $0.connections } }
  /// The first lines of the requests.
  var requests: [String] { state.withLock { $0.requests } }

  private init(port: Int) { self.port = port }

  /// Runs a server for as long as a body takes.
  ///
  /// - Parameter answer: Returns the pieces of the answer to a connection, by its number from 1.
  static func run<Result>(
    on host: String = "127.0.0.1",
    answering answer: @escaping @Sendable (Int) -> [[UInt8]],
    _ body: (RawServer) async throws -> Result
  ) async throws -> Result {
    let box = Box()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(box: box, answer: answer))
        }
      }
      .bind(host: host, port: 0).get()
    let server = RawServer(port: channel.localAddress?.port ?? 0)
    box.server.withLock { $0 = server }
    do {
      let result = try await body(server)
      try await channel.close()
      return result
    } catch {
      try? await channel.close()
      throw error
    }
  }

  private func note(_ request: String) -> Int {
    state.withLock { state in
      state.connections += 1
      state.requests.append(request)
      return state.connections
    }
  }

  private final class Box: Sendable {
    let server = Mutex<RawServer?>(nil)
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let box: Box
    private let answer: @Sendable (Int) -> [[UInt8]]
    private var isAnswered = false

    init(box: Box, answer: @escaping @Sendable (Int) -> [[UInt8]]) {
      (self.box, self.answer) = (box, answer)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isAnswered else { return }
      isAnswered = true
      let line = String(buffer: unwrapInboundIn(data)).prefix { $0 != "\r\n" && $0 != "\r" }
      let number = box.server.withLock { $0 }?.note(String(line)) ?? 0
      for piece in answer(number) { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: piece)), promise: nil) }
      context.close(promise: nil)
    }
  }
}
