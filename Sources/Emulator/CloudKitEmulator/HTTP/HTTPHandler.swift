import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix

/// Handles one connection: collects a request, passes it to the emulator, and writes the response after its delay. The
/// pipelining handler before this one serializes the requests of a connection.
final class HTTPHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let exchange: HTTPExchange
  private var head: HTTPRequestHead?
  private var body: RequestBody?
  /// Whether a part of the body is being written to disk. Meanwhile nothing more is read.
  private var isWriting = false
  /// Whether reading waits for the end of writing.
  private var isReadHeld = false
  /// Whether the request is complete.
  private var isComplete = false
  private var isAnswering = false
  /// Whether the connection is closed after the current response, because its request is broken.
  private var isGivingUp = false
  /// Whether the current request is a HEAD request, whose response has no body.
  private var isHead = false
  /// The number of responses that are not completely sent.
  private var unsent = 0
  /// Whether nothing was sent for one idle timeout.
  private var isStuck = false
  private var isQuiescing = false
  /// The current long poll.
  private var poll: EmulatorHold?

  init(exchange: HTTPExchange) {
    self.exchange = exchange
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      isHead = head.method == .HEAD
      isComplete = false
      let request = request(head, nil)
      // The body of a refused request is discarded as it comes.
      if exchange.refuses(request) { return answer(head, context) }
      self.head = head
      body = RequestBody(request, emulator: exchange.emulator, memory: exchange.memory, at: exchange.now())
    case .body(let buffer):
      body?.append(buffer)
      writeBody(context)
    case .end:
      isComplete = true
      if !isWriting { answerWhole(context) }
    }
  }

  func read(context: ChannelHandlerContext) {
    if isWriting {
      isReadHeld = true
    } else {
      context.read()
    }
  }

  /// Writes what was received of an upload to disk, on a thread of the pool.
  private func writeBody(_ context: ChannelHandlerContext) {
    guard !isWriting, let part = body?.takeWrite() else { return }
    isWriting = true
    ask(context) { _ in
      part()
    } then: { written in
      self.isWriting = false
      self.body?.note(written)
      self.writeBody(context)
      guard !self.isWriting else { return }
      if self.isComplete { self.answerWhole(context) }
      guard self.isReadHeld else { return }
      self.isReadHeld = false
      context.read()
    }
  }

  /// Answers the request whose last byte has arrived and is kept.
  private func answerWhole(_ context: ChannelHandlerContext) {
    guard let head else { return }
    self.head = nil
    answer(head, context)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      isQuiescing = true
      if !isAnswering, head == nil { context.close(promise: nil) }
    } else if event is EndOfPolls {
      endPoll()
    } else if case .read? = event as? IdleStateHandler.IdleStateEvent, !isAnswering, !isWriting {
      giveUp(408, context)
    } else if case .write? = event as? IdleStateHandler.IdleStateEvent {
      // The first idle timeout may include the time before the response.
      if isStuck { context.close(promise: nil) }
      isStuck = unsent > 0
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    endPoll()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error as? NIOHTTPDecompression.DecompressionError {
    case .limit: giveUp(413, context)
    case .some: giveUp(400, context)
    // Invalid HTTP already has a response, or the connection is closed.
    case nil:
      error is NIOHTTPDecompression.ExtraDecompressionError
        ? giveUp(400, context) : context.close(promise: nil)
    }
  }

  /// Rejects an incomplete request and closes the connection. Without a request, only closes the connection.
  private func giveUp(_ status: Int, _ context: ChannelHandlerContext) {
    // The data after a rejected request is not a request either.
    if isGivingUp { return }
    guard let head, !isAnswering else { return context.close(promise: nil) }
    (self.head, body, isAnswering, isGivingUp) = (nil, nil, true, true)
    let request = request(head, nil)
    ask(context) {
      $0.refuse(request, status: status)
    } then: { reply in
      self.finish(reply, false, .now, context)
    }
  }

  /// Calls the emulator on a thread of the pool.
  private func ask<Answer: Sendable>(
    _ context: ChannelHandlerContext,
    _ question: @escaping @Sendable (HTTPExchange) -> Answer,
    then: @escaping (Answer) -> Void
  ) {
    let answer = NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { [exchange] in question(exchange) }
    answer.assumeIsolated().whenComplete { result in
      guard case .success(let answer) = result else { return context.close(promise: nil) }
      then(answer)
    }
  }

  /// Makes a request for the emulator, with the part of the body received so far.
  private func request(_ head: HTTPRequestHead, _ body: RequestBody?) -> EmulatorRequest {
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var request = EmulatorRequest(
      method: head.method.rawValue,
      path: String(parts[0]),
      query: parts.count > 1 ? String(parts[1]) : "",
      headers: head.headers.map { EmulatorHeader($0.name, $0.value) },
      body: body?.data ?? Data()
    )
    request.spool = body?.spool
    return request
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    isAnswering = true
    let request = request(head, body)
    let (loss, share) = (body?.loss, body?.share)
    body = nil
    let started = ContinuousClock.now
    let keepsAlive = head.isKeepAlive
    ask(context) { exchange in
      withExtendedLifetime(share) { exchange.reply(to: request, loss: loss) }
    } then: { reply in
      guard reply.delay > .zero else { return self.proceed(reply, keepsAlive, started, context) }
      context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(reply.delay)) {
        self.proceed(reply, keepsAlive, started, context)
      }
    }
  }

  /// Writes the response. For a long poll, waits for a notification or for the end of its keep-alive time.
  private func proceed(
    _ reply: EmulatorReply,
    _ keepsAlive: Bool,
    _ started: ContinuousClock.Instant,
    _ context: ChannelHandlerContext
  ) {
    guard case .hold(let hold) = reply.outcome else { return finish(reply, keepsAlive, started, context) }
    guard context.channel.isActive, !isQuiescing else { return context.close(promise: nil) }
    let promise = context.eventLoop.makePromise(of: EmulatorReply.self)
    ask(context) {
      $0.emulator.wait(for: hold) { promise.succeed($0) }
    } then: { _ in
      self.poll = hold
      let keepAlive = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(hold.keepAlive)) { self.endPoll() }
      // The connection may have been closed meanwhile, or the server stopped.
      if !context.channel.isActive || self.isQuiescing { self.endPoll() }
      promise.futureResult.assumeIsolated().whenSuccess { reply in
        keepAlive.cancel()
        self.poll = nil
        self.finish(reply, keepsAlive, started, context)
      }
    }
  }

  private func endPoll() {
    guard let poll else { return }
    NIOThreadPool.singleton.submit { [exchange] _ in exchange.emulator.release(poll) }
  }

  private func finish(
    _ reply: EmulatorReply,
    _ keepsAlive: Bool,
    _ started: ContinuousClock.Instant,
    _ context: ChannelHandlerContext
  ) {
    let elapsed = started.duration(to: .now) / .milliseconds(1)
    exchange.log?(EmulatorServer.LogEntry(summary: reply.summary, milliseconds: elapsed))
    guard context.channel.isActive else { return }
    switch reply.outcome {
    case .drop, .hold, .offline: context.close(promise: nil)
    case .truncate(let response): write(response, upTo: response.bodyCount / 2, closing: true, context)
    case .respond(let response):
      write(response, upTo: response.bodyCount, closing: isQuiescing || !keepsAlive, context)
    }
  }

  /// Writes a response or the beginning of one.
  private func write(
    _ response: EmulatorResponse,
    upTo count: Int,
    closing: Bool,
    _ context: ChannelHandlerContext
  ) {
    unsent += 1
    var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
    headers.add(name: "Content-Length", value: String(response.bodyCount))
    if closing { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: response.status)
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
      promise: nil
    )
    guard !isHead else { return end(true, closing: closing, context) }
    if let asset = response.asset { return write(asset, from: 0, sent: 0, upTo: count, closing: closing, context) }
    let body = response.body.prefix(count)
    if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
    end(count == response.bodyCount, closing: closing, context)
  }

  /// Writes a file in pieces, each after the previous one has been sent.
  private func write(
    _ asset: StoredAsset,
    from number: Int,
    sent: Int,
    upTo count: Int,
    closing: Bool,
    _ context: ChannelHandlerContext
  ) {
    guard sent < count else { return end(count == asset.size, closing: closing, context) }
    ask(context) {
      $0.emulator.piece(number, of: asset)
    } then: { piece in
      // The file may have been deleted with its record in the meantime.
      guard let piece = piece?.prefix(count - sent), !piece.isEmpty else {
        return self.end(false, closing: true, context)
      }
      let written = context.eventLoop.makePromise(of: Void.self)
      written.futureResult.assumeIsolated().whenSuccess {
        self.isStuck = false
        self.write(asset, from: number + 1, sent: sent + piece.count, upTo: count, closing: closing, context)
      }
      context.writeAndFlush(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: piece)))), promise: written)
    }
  }

  /// Ends a response, or closes the connection if it is incomplete.
  private func end(_ isWhole: Bool, closing: Bool, _ context: ChannelHandlerContext) {
    isAnswering = false
    guard isWhole else {
      context.flush()
      return context.close(promise: nil)
    }
    let written = context.eventLoop.makePromise(of: Void.self)
    let isLast = closing || isQuiescing
    written.futureResult.assumeIsolated().whenComplete { _ in
      self.unsent -= 1
      self.isStuck = false
      if isLast { context.close(promise: nil) }
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
  }
}
