import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A host of assets on a free port that counts what it is sent and makes up what it sends: it never holds a file.
struct StreamingServer: Sendable {
  enum Behaviour: Sendable {
    /// Takes any upload; a download has as many bytes as its path says.
    case serve
    /// Refuses an upload at its head.
    case refuse(HTTPResponseStatus)
    /// Sends half of a download and closes.
    case cut
    /// Reads a request, sends the head of an answer and nothing more.
    case stall
  }

  /// What has happened so far.
  final class Log: Sendable {
    struct Entries: Sendable {
      var heads: [HTTPRequestHead] = []
      var received = 0
      var largestMemory = 0
    }

    let entries = Mutex(Entries())
    let begun: AsyncStream<Void>
    let noteBegin: AsyncStream<Void>.Continuation

    init() { (begun, noteBegin) = AsyncStream.makeStream() }
  }

  let port: Int
  let log: Log

  var seen: Log.Entries { log.entries.withLock { $0 } }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    return url
  }

  static func run<Result>(
    _ behaviour: Behaviour,
    _ body: (StreamingServer) async throws -> Result
  ) async throws -> Result {
    let log = Log()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(behaviour, log))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    do {
      let result = try await body(StreamingServer(port: channel.localAddress?.port ?? 0, log: log))
      try await channel.close()
      return result
    } catch {
      try? await channel.close()
      throw error
    }
  }

  /// Resident bytes of this process.
  static func memory() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let piece = ByteBuffer(repeating: 0x6d, count: 64 << 10)

    private let behaviour: Behaviour
    private let log: Log
    private var head: HTTPRequestHead?
    private var received = 0
    private var isRefused = false

    init(_ behaviour: Behaviour, _ log: Log) {
      self.behaviour = behaviour
      self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        self.head = head
        (received, isRefused) = (0, false)
        log.entries.withLock { $0.heads.append(head) }
        if case .refuse(let status) = behaviour {
          isRefused = true
          answer(context, status, length: 0)
          context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
      case .body(let part):
        received += part.readableBytes
        sample(received: part.readableBytes)
      case .end:
        guard let head, !isRefused else { return }
        if head.method == .POST { confirm(context) } else { send(head, context) }
      }
    }

    private func sample(received: Int = 0) {
      let memory = StreamingServer.memory()
      log.entries.withLock { entries in
        entries.received += received
        entries.largestMemory = max(entries.largestMemory, memory)
      }
    }

    private func answer(_ context: ChannelHandlerContext, _ status: HTTPResponseStatus, length: Int) {
      let headers = HTTPHeaders([("Content-Length", "\(length)")])
      context.writeAndFlush(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
        promise: nil
      )
    }

    private func confirm(_ context: ChannelHandlerContext) {
      let body = ByteBuffer(string: #"{"singleFile":{"fileChecksum":"sum","size":\#(received),"receipt":"r"}}"#)
      if case .stall = behaviour {
        answer(context, .ok, length: body.readableBytes)
        log.noteBegin.yield()
        return
      }
      answer(context, .ok, length: body.readableBytes)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func send(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
      let size = Int(head.uri.split(separator: "/").last ?? "") ?? 0
      answer(context, .ok, length: size)
      log.noteBegin.yield()
      if case .stall = behaviour { return }
      let end = if case .cut = behaviour { size / 2 } else { size }
      sendPiece(from: 0, to: end, of: size, context)
    }

    /// The next piece goes when the one before has left, so that nothing piles up here.
    private func sendPiece(from start: Int, to end: Int, of size: Int, _ context: ChannelHandlerContext) {
      guard start < end else {
        if end < size { return context.close(promise: nil) }
        return context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
      sample()
      let piece = Self.piece.getSlice(at: 0, length: min(Self.piece.readableBytes, end - start)) ?? ByteBuffer()
      let loop = context.loopBound
      let me = NIOLoopBound(self, eventLoop: context.eventLoop)
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(piece)))).whenSuccess {
        me.value.sendPiece(from: start + piece.readableBytes, to: end, of: size, loop.value)
      }
    }
  }
}
