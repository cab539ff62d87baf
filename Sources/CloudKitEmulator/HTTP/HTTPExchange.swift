import CloudKitSchema
import Foundation
import NIOPosix

/// The emulator as a connection sees it.
///
/// Most calls sync a write to disk, or wait for one that does. They must not be made on an event loop, which other
/// connections share.
struct HTTPExchange: Sendable {
  private let emulator: Emulator
  private let now: @Sendable () -> Date
  private let delay: Duration
  private let admin: AdminEndpoint?
  private let memory: BodyMemory
  let log: (@Sendable (EmulatorServer.LogEntry) -> Void)?

  init(
    emulator: Emulator,
    now: @escaping @Sendable () -> Date,
    delay: Duration,
    admin: AdminEndpoint?,
    log: (@Sendable (EmulatorServer.LogEntry) -> Void)?
  ) {
    (self.emulator, self.now, self.delay, self.admin, self.log) = (emulator, now, delay, admin, log)
    memory = BodyMemory(limit: emulator.configuration.openBodiesLimit)
  }

  /// Whether a request is refused by who sends it, so that its body need not be read. Can be called on an event loop.
  func refuses(_ request: EmulatorRequest) -> Bool {
    if let admin, AdminEndpoint.has(path: request.path) { return admin.access.refusal(request) != nil }
    return WebAccess.refusal(request, emulator.configuration) != nil
  }

  /// Returns an empty body for a request. Can be called on an event loop.
  func body(of request: EmulatorRequest) -> RequestBody {
    RequestBody(request, emulator: emulator, memory: memory, at: now())
  }

  /// Writes a part of a body to its spool.
  func write(_ part: @Sendable () -> Spool?) -> Spool? {
    assertIsOffEventLoops()
    return part()
  }

  /// Carries out a request.
  ///
  /// - Parameter loss: The reason why the body was not kept.
  func reply(to request: EmulatorRequest, loss: RequestBody.Loss?) -> EmulatorReply {
    assertIsOffEventLoops()
    if loss == .memory { return refuse(request, status: 503) }
    if let admin, AdminEndpoint.has(path: request.path) { return admin.reply(to: request) }
    if let refusal = WebAccess.refusal(request, emulator.configuration) {
      return emulator.refuse(request, status: 403, detail: refusal, at: now())
    }
    var reply =
      loss == .disk
      ? emulator.refuse(request, status: 500, at: now())
      : emulator.dispatch(request, at: now())
    reply.delay += delay
    return reply
  }

  /// Rejects a request that is incomplete.
  func refuse(_ request: EmulatorRequest, status: Int) -> EmulatorReply {
    assertIsOffEventLoops()
    return emulator.refuse(request, status: status, at: now())
  }

  /// Calls `resume` once with the reply to a long poll, on any thread.
  ///
  /// - Returns: The ID for `release`.
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) -> UInt64 {
    assertIsOffEventLoops()
    return emulator.wait(for: hold, resume)
  }

  /// Ends a long poll with an empty reply, if it has none yet.
  func release(_ hold: EmulatorHold, id: UInt64) {
    assertIsOffEventLoops()
    emulator.release(hold, id: id)
  }

  /// Returns a piece of a file; nil if it has been deleted.
  func piece(_ number: Int, of asset: StoredAsset) -> Data? {
    assertIsOffEventLoops()
    return emulator.piece(number, of: asset)
  }

  private func assertIsOffEventLoops() {
    assert(MultiThreadedEventLoopGroup.currentEventLoop == nil, "A call that may wait was made on an event loop.")
  }
}
