import Foundation
import NIOCore
import NIOHTTP1

/// What a connection needs to turn a request into a reply.
struct HTTPExchange: Sendable {
  let emulator: Emulator
  let now: @Sendable () -> Date
  let delay: Duration
  let admin: AdminEndpoint?
  let log: (@Sendable (EmulatorServer.LogEntry) -> Void)?
}

/// One connection: collects a request, asks the emulator, and writes the answer after its delay. Requests of one
/// connection are answered one after the other; the pipelining handler before this one sees to it.
final class HTTPHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let exchange: HTTPExchange
  private var head: HTTPRequestHead?
  private var body = Data()
  private var bodyLimit = 0
  private var isAnswering = false
  private var isQuiescing = false
  /// The long poll under way.
  private var poll: (hold: EmulatorHold, id: UInt64)?

  init(exchange: HTTPExchange) {
    self.exchange = exchange
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body.removeAll()
      bodyLimit = exchange.emulator.bodyLimit(path: Self.path(head))
    case .body(let buffer):
      // One byte over the limit is enough to refuse; the rest is read and thrown away.
      let room = bodyLimit + 1 - body.count
      if room > 0 { body.append(contentsOf: buffer.readableBytesView.prefix(room)) }
    case .end:
      guard let head else { return }
      self.head = nil
      answer(head, context)
    }
  }

  private static func path(_ head: HTTPRequestHead) -> String {
    String(head.uri.prefix { $0 != "?" })
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      isQuiescing = true
      if !isAnswering, head == nil { context.close(promise: nil) }
    } else if event is EndOfPolls {
      endPoll()
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    endPoll()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    isAnswering = true
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let request = EmulatorRequest(
      method: head.method.rawValue,
      path: String(parts[0]),
      query: parts.count > 1 ? String(parts[1]) : "",
      headers: head.headers.map { EmulatorHeader($0.name, $0.value) },
      body: body
    )
    body = Data()
    let started = ContinuousClock.now
    let keepsAlive = head.isKeepAlive
    if let admin = exchange.admin, AdminEndpoint.has(path: request.path) {
      return finish(admin.reply(to: request), keepsAlive, started, context)
    }
    let reply = exchange.emulator.handle(request, at: exchange.now())
    let wait = reply.delay + exchange.delay
    guard wait > .zero else { return proceed(reply, keepsAlive, started, context) }
    context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(wait)) {
      self.proceed(reply, keepsAlive, started, context)
    }
  }

  /// Answers, or waits for what a long poll is answered with: a notification, or nothing when its time is over.
  private func proceed(
    _ reply: EmulatorReply,
    _ keepsAlive: Bool,
    _ started: ContinuousClock.Instant,
    _ context: ChannelHandlerContext
  ) {
    guard case .hold(let hold) = reply.outcome else { return finish(reply, keepsAlive, started, context) }
    guard context.channel.isActive, !isQuiescing else { return context.close(promise: nil) }
    let promise = context.eventLoop.makePromise(of: EmulatorReply.self)
    let emulator = exchange.emulator
    let id = emulator.wait(for: hold) { promise.succeed($0) }
    poll = (hold, id)
    let keepAlive = context.eventLoop.scheduleTask(in: TimeAmount(hold.keepAlive)) { emulator.release(hold, id: id) }
    promise.futureResult.assumeIsolated().whenSuccess { reply in
      keepAlive.cancel()
      self.poll = nil
      self.finish(reply, keepsAlive, started, context)
    }
  }

  private func endPoll() {
    guard let poll else { return }
    exchange.emulator.release(poll.hold, id: poll.id)
  }

  private func finish(
    _ reply: EmulatorReply,
    _ keepsAlive: Bool,
    _ started: ContinuousClock.Instant,
    _ context: ChannelHandlerContext
  ) {
    isAnswering = false
    let elapsed = started.duration(to: .now) / .milliseconds(1)
    exchange.log?(EmulatorServer.LogEntry(summary: reply.summary, milliseconds: elapsed))
    guard context.channel.isActive else { return }
    switch reply.outcome {
    case .drop, .hold, .offline: context.close(promise: nil)
    case .truncate(let response): write(response, upTo: response.body.count / 2, closing: true, context)
    case .respond(let response): write(response, closing: isQuiescing || !keepsAlive, context)
    }
  }

  /// Writes an answer, or the beginning of one.
  private func write(
    _ response: EmulatorResponse,
    upTo count: Int? = nil,
    closing: Bool,
    _ context: ChannelHandlerContext
  ) {
    var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
    headers.add(name: "Content-Length", value: String(response.body.count))
    if closing { headers.add(name: "Connection", value: "close") }
    let status = HTTPResponseStatus(statusCode: response.status)
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
      promise: nil
    )
    let written = context.eventLoop.makePromise(of: Void.self)
    if closing {
      written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }
    let body = wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body.prefix(count ?? .max)))))
    guard count == nil else { return context.writeAndFlush(body, promise: written) }
    context.write(body, promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
  }
}
