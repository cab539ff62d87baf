public import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import Synchronization

/// Serves an emulator over HTTP, on the loopback interface by default.
///
///     let server = EmulatorServer(emulator)
///     let port = try await server.start()
///     // … http://127.0.0.1:<port>
///     try await server.stop()
public final class EmulatorServer: Sendable {
  /// An entry of the request log.
  public struct LogEntry: Sendable {
    /// The request and its result, without secrets.
    public var summary: EmulatorSummary
    /// The time from the last byte of the request to the first byte of the response.
    public var milliseconds: Double
  }

  /// The reason why a server does not start.
  public enum StartError: Error {
    /// The address is not a loopback address. Other machines may reach only an emulator with `strictAuth` and an API
    /// token, a user or a key, and its admin endpoint only with a token.
    case notLoopback(String)
    /// Other machines can connect, and a `seed` without a `secret` makes the keys predictable.
    case predictable(String)
    /// The server was started before, or was stopped while it started.
    case alreadyStarted
    /// The system cannot listen at the address, e.g. because the port is in use. The text is the system's reason.
    case cannotListen(String)
  }

  private enum Stage {
    case new
    case starting
    case running(any Channel)
    case stopped
  }

  private let emulator: Emulator
  private let now: @Sendable () -> Date
  private let delay: Duration
  private let admin: AdminAccess?
  private let log: (@Sendable (LogEntry) -> Void)?
  private let stage = Mutex(Stage.new)
  private let connections = OpenConnections()

  /// Creates a server. It listens after `start`.
  ///
  /// - Parameters:
  ///   - emulator: The emulator that handles the requests. Servers may share one.
  ///   - now: The clock, to which the shift of `Emulator.advance(by:)` is added.
  ///   - delay: The time added to every response.
  ///   - admin: The access to the admin endpoint under `/emulator`; `nil` disables the endpoint.
  ///   - log: Called once per request, on an event loop; it must not block.
  public init(
    _ emulator: Emulator,
    now: @escaping @Sendable () -> Date = { Date() },
    delay: Duration = .zero,
    admin: AdminAccess? = nil,
    log: (@Sendable (LogEntry) -> Void)? = nil
  ) {
    self.emulator = emulator
    self.now = now
    self.delay = delay
    self.admin = admin
    self.log = log
  }

  /// Starts listening and returns the port.
  ///
  /// - Parameters:
  ///   - host: The address to listen at. An address that is not loopback is rejected if the emulator would accept
  ///     anyone.
  ///   - port: The port to listen at; 0 picks a free one.
  /// - Throws: `StartError`, or the underlying error if listening fails without a system error code.
  @discardableResult
  public func start(host: String = "127.0.0.1", port: Int = 0) async throws -> Int {
    let isGuarded = emulator.configuration.isGuarded && admin.map { $0.token != nil } ?? true
    if !WebAccess.isLoopback(host) {
      guard isGuarded else { throw StartError.notLoopback(host) }
      guard !emulator.configuration.secret.isEmpty else { throw StartError.predictable(host) }
    }
    let isFirst = stage.withLock { stage in
      guard case .new = stage else { return false }
      stage = .starting
      return true
    }
    guard isFirst else { throw StartError.alreadyStarted }
    let channel: any Channel
    do {
      channel = try await listen(host: host, port: port)
    } catch {
      stage.withLock { if case .starting = $0 { $0 = .new } }
      guard let error = error as? IOError else { throw error }
      throw StartError.cannotListen(String(cString: strerror(error.errnoCode)))
    }
    let isWanted = stage.withLock { stage in
      guard case .starting = stage else { return false }
      stage = .running(channel)
      return true
    }
    guard isWanted else {
      try await channel.close()
      await connections.closeAll(within: .zero)
      throw StartError.alreadyStarted
    }
    return channel.localAddress?.port ?? port
  }

  private func listen(host: String, port: Int) async throws -> any Channel {
    let now = { @Sendable [emulator, now] in emulator.time(at: now()) }
    let exchange = HTTPExchange(
      emulator: emulator,
      now: now,
      delay: delay,
      admin: admin.map { AdminEndpoint(emulator: emulator, access: $0, now: now) },
      memory: BodyMemory(limit: emulator.configuration.openBodiesLimit),
      log: log
    )
    let (connections, configuration) = (connections, emulator.configuration)
    return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          guard connections.add(channel, limit: configuration.connectionLimit) else {
            return try pipeline.addHandler(ConnectionLimitHandler())
          }
          let patience = TimeAmount(configuration.idleTimeout)
          try pipeline.addHandler(IdleStateHandler(readTimeout: patience, writeTimeout: patience))
          // The decoder limits a header to 80 kB and all headers to 2 MB, far more than the several kB that a web auth
          // token in a URL needs. [L3]
          try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
          try pipeline.addHandler(ContinueHandler())
          // The largest bodies are uploads; other paths have lower limits.
          let limit = configuration.assetSizeLimit + AssetTransfer.wrapping
          try pipeline.addHandler(NIOHTTPRequestDecompressor(limit: .size(limit)))
          try pipeline.addHandler(
            HTTPResponseCompressor { head, _ in head.isWorthCompressing ? .compressIfPossible : .doNotCompress }
          )
          try pipeline.addHandler(HTTPHandler(exchange: exchange))
        }
      }
      .bind(host: host, port: port)
      .get()
  }

  /// Stops listening, finishes the responses in progress, and closes the connections.
  ///
  /// - Parameter grace: The maximum time to wait for unfinished requests.
  public func stop(grace: Duration = .seconds(2)) async throws {
    let channel = stage.withLock { stage -> (any Channel)? in
      switch stage {
      case .new, .stopped: return nil
      case .starting:
        // The task that is starting the server closes it.
        stage = .stopped
        return nil
      case .running(let channel):
        stage = .stopped
        return channel
      }
    }
    guard let channel else { return }
    try await channel.close()
    await connections.closeAll(within: grace)
  }
}
