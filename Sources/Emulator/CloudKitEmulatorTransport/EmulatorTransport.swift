public import CloudKit
public import CloudKitEmulator
import Foundation
import NIOPosix

/// A transport that sends requests to an emulator in the same process, without sockets.
///
/// An emulator in memory answers on the thread of the caller, so that simulations are fast and replay from their seed.
/// One with a data file answers on a thread pool, because its requests wait for the disk.
public struct EmulatorTransport: CKTransport {
  private let emulator: Emulator
  private let now: @Sendable () -> Date
  private let sleep: @Sendable (Duration) async throws -> Void
  /// Runs requests that wait for the disk. The threads of Swift's concurrency are few and must not wait; only long
  /// polls lock the emulator on one of them, for a short time.
  var pool = NIOThreadPool.singleton
  private static let cancelled = CKTransportError(.cancelled, "The request was cancelled.")

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - emulator: The emulator that handles the requests.
  ///   - now: The clock, to which the shift of `Emulator.advance(by:)` is added; by default the system's.
  ///   - sleep: Waits for delays from faults and for the keep-alive time of polls; by default in real time.
  public init(
    _ emulator: Emulator,
    now: @escaping @Sendable () -> Date = { Date() },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.emulator = emulator
    self.now = now
    self.sleep = sleep
  }

  /// Sends the request to the emulator and returns its response.
  ///
  /// - Throws: `CKTransportError`: `notSent` if the emulator is offline, `unknown` if it drops the request or its reply
  ///   is late, `cancelled` if the task is cancelled.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw Self.cancelled }
    var reply = try await reply(
      to: EmulatorRequest(
        method: request.method,
        path: request.path,
        query: request.query,
        headers: request.headers.map { EmulatorHeader($0.name, $0.value) },
        body: request.body
      )
    )
    if reply.delay > .zero {
      let patience = min(reply.delay, request.timeout ?? reply.delay)
      do {
        try await sleep(patience)
      } catch {
        throw Self.cancelled
      }
      guard patience == reply.delay else { throw CKTransportError(.unknown, "The request timed out.") }
    }
    if case .hold(let hold) = reply.outcome {
      let late = await self.reply(to: hold)
      // The response of a poll that ends with its task is discarded.
      guard !Task.isCancelled, let late else { throw Self.cancelled }
      reply = late
    }
    switch reply.outcome {
    case .respond(let response):
      let headers = response.headers.map { CKHTTPHeader($0.name, $0.value) }
      return CKTransportResponse(status: response.status, headers: headers, body: response.body)
    case .offline: throw CKTransportError(.notSent, "The emulator is offline.")
    case .drop, .truncate, .hold: throw CKTransportError(.unknown, "The connection closed before the response.")
    }
  }

  /// Returns this transport: in process, every server in a response is the same emulator.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport { self }

  private func reply(to request: EmulatorRequest) async throws(CKTransportError) -> EmulatorReply {
    // The clock is read when the request gets its turn, so that times do not go backwards.
    let handle = { @Sendable [emulator, now] in emulator.handle(request, at: emulator.time(at: now())) }
    guard emulator.usesDisk else { return handle() }
    do {
      return try await pool.runIfActive(handle)
    } catch {
      // The pool discards the requests of tasks that are cancelled before their turn.
      throw Self.cancelled
    }
  }

  /// Waits for a notification or for the end of the keep-alive time.
  private func reply(to hold: EmulatorHold) async -> EmulatorReply? {
    await withTaskGroup(of: EmulatorReply?.self) { [emulator, sleep] group in
      group.addTask { await emulator.reply(to: hold) }
      group.addTask {
        try? await sleep(hold.keepAlive)
        return nil
      }
      var reply: EmulatorReply?
      for await outcome in group {
        if let outcome { reply = outcome }
        // Cancelling ends the other task at once. A poll that already has its reply keeps it.
        group.cancelAll()
      }
      return reply
    }
  }
}

/// In process, asset URLs lead to the same emulator.
extension EmulatorTransport: CKAssetTransport {
  /// Uploads the bytes of a file to the emulator and returns its response.
  public func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    guard let bytes = try? Data(contentsOf: file) else {
      throw CKTransportError(.notSent, "The file cannot be read.")
    }
    var request = try Self.request("POST", address)
    request.headers = [CKHTTPHeader("Content-Type", "application/octet-stream")]
    request.body = bytes
    let answer = try await send(request)
    AssetBytes.report?(Int64(bytes.count))
    return answer
  }

  /// Downloads the bytes at a URL and overwrites a file with them.
  public func download(
    from address: URL,
    to file: URL,
    limit: Int64
  ) async throws(CKTransportError) -> CKTransportResponse {
    var answer = try await send(try Self.request("GET", address))
    guard (200..<300).contains(answer.status) else { return answer }
    guard answer.body.count <= limit else { throw CKTransportError(.unknown, "The asset exceeds its declared size.") }
    do {
      let handle = try FileHandle(forWritingTo: file)
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: answer.body)
      try handle.close()
    } catch {
      throw CKTransportError(.unknown, "The file cannot be written.")
    }
    AssetBytes.report?(Int64(answer.body.count))
    answer.body = Data()
    return answer
  }

  private static func request(_ method: String, _ address: URL) throws(CKTransportError) -> CKTransportRequest {
    guard let parts = URLComponents(url: address, resolvingAgainstBaseURL: true) else {
      throw CKTransportError(.notSent, "The address is not a valid URL.")
    }
    return CKTransportRequest(method: method, path: parts.percentEncodedPath, query: parts.percentEncodedQuery ?? "")
  }
}
