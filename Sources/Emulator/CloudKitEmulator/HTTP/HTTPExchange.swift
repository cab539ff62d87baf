import Foundation
import NIOPosix
import Synchronization

/// The emulator as a connection sees it.
///
/// Most calls sync a write to disk, or wait for one that does. They must not be made on an event loop, which other
/// connections share.
struct HTTPExchange: Sendable {
  let emulator: Emulator
  /// The emulator's clock.
  let now: @Sendable () -> Date
  let delay: Duration
  let admin: AdminEndpoint?
  let memory: BodyMemory
  let log: (@Sendable (EmulatorServer.LogEntry) -> Void)?

  /// Whether a request is refused because of its sender, so that its body need not be read. Can be called on an event
  /// loop.
  func refuses(_ request: EmulatorRequest) -> Bool {
    if let admin, AdminEndpoint.has(path: request.path) { return admin.access.refusal(request) != nil }
    return WebAccess.refusal(request, emulator.configuration) != nil
  }

  /// Carries out a request.
  ///
  /// - Parameter loss: The reason why the body was not kept.
  func reply(to request: EmulatorRequest, loss: RequestBody.Loss?) -> EmulatorReply {
    assertIsOffEventLoops()
    if loss == .memory { return refuse(request, status: 503) }
    if let admin, AdminEndpoint.has(path: request.path) { return admin.reply(to: request) }
    if let refusal = WebAccess.refusal(request, emulator.configuration) {
      return refuse(request, status: 403, detail: refusal)
    }
    var reply = loss == .disk ? refuse(request, status: 500) : emulator.dispatch(request, at: now())
    reply.delay += delay
    return reply
  }

  /// Rejects a request on behalf of a component in front of the service, such as a proxy.
  func refuse(_ request: EmulatorRequest, status: Int, detail: String? = nil) -> EmulatorReply {
    assertIsOffEventLoops()
    let exchange = Exchange(request, at: now())
    return emulator.core.withLock { $0.gate.refuse(exchange, .page(status, detail: detail)) }
  }

  private func assertIsOffEventLoops() {
    assert(MultiThreadedEventLoopGroup.currentEventLoop == nil, "A call that may wait was made on an event loop.")
  }
}
