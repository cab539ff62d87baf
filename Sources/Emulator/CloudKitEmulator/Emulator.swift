public import Foundation
import Synchronization

/// A CloudKit Web Services server as a function: it takes a request and the time, and returns a reply.
///
/// The same core serves an in-process transport and an HTTP server. It reads no clock, and uses random numbers only at
/// its start if the configuration has no seed: with the same seed, equal requests at equal times give equal replies,
/// byte for byte. Containers, databases and users are created on first use.
///
///     let emulator = try Emulator()
///     let path = "/database/1/iCloud.test/development/private/zones/list"
///     let reply = emulator.handle(
///       EmulatorRequest(method: "GET", path: path, query: "ckAPIToken=any&ckWebAuthToken=ana"), at: Date())
public final class Emulator: Sendable {
  /// The limits and users of the emulator.
  public let configuration: EmulatorConfiguration
  let core: Mutex<EmulatorCore>
  let ahead = Mutex(Duration.zero)
  /// The folder of the data file; `nil` for an emulator in memory.
  let folder: String?
  /// Whether a request may wait for a disk.
  package var usesDisk: Bool { folder != nil }

  /// Creates an emulator, in memory or with a data file.
  ///
  /// - Parameters:
  ///   - configuration: The limits and users of the emulator.
  ///   - path: The SQLite data file. Every acknowledged write is on disk, even if the process is killed. When another
  ///     program deletes, moves or changes the file or the log beside it, requests fail with `INTERNAL_ERROR` and the
  ///     reason, and nothing is written any more.
  /// - Throws: `EmulatorFileError` if the file cannot be opened, is damaged, or is in use by another emulator.
  public init(configuration: EmulatorConfiguration = EmulatorConfiguration(), path: String? = nil) throws {
    folder = path.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
    do {
      let store = try EmulatorStore(path.map { .file($0) } ?? .memory)
      let origin = try path == nil ? configuration.generatedOrigin() : store.origin(for: configuration)
      let configuration = configuration.with(origin)
      self.configuration = configuration
      let core = EmulatorCore(configuration: configuration, store: store)
      try store.load(into: core.world)
      self.core = Mutex(core)
    } catch {
      throw EmulatorFileError(error)
    }
  }

  /// The faults to inject. Setting a plan resets the counts.
  public var faults: FaultPlan {
    get { core.withLock { $0.gate.injector.plan } }
    set { core.withLock { $0.gate.injector = FaultInjector(plan: newValue) } }
  }

  /// How often each rule of `faults` matched and applied, in the order of the rules.
  public var faultCounts: [FaultCount] { core.withLock { $0.gate.injector.counts } }

  /// Whether every connection closes without a reply, as if the network were down.
  public var isOffline: Bool {
    get { core.withLock { $0.gate.isOffline } }
    set {
      withCore { core in
        core.gate.isOffline = newValue
        if newValue { core.dropPolls() }
      }
    }
  }

  /// Rejects every request with 429 `THROTTLED` and the remaining seconds until a time; `nil` ends it.
  public func throttle(until time: Date?) {
    core.withLock { $0.gate.throttledUntil = time }
  }

  /// Returns the maximum size of a request's body. Longer bodies are rejected, so their rest need not be read. It is 0
  /// for an upload that will be rejected anyway.
  func bodyLimit(_ request: EmulatorRequest, at time: Date) -> Int {
    if AdminEndpoint.has(path: request.path) { return max(AdminEndpoint.bodyLimit, configuration.bodySizeLimit) }
    guard request.path.hasPrefix(AssetPath.upload) else { return configuration.bodySizeLimit }
    let ticket = UploadTicket(request, seal: AssetSeal(configuration))
    guard let ticket, Timestamps.milliseconds(time) < ticket.expires else { return 0 }
    return configuration.assetSizeLimit + AssetTransfer.wrapping
  }

  /// Runs a closure with the core, then calls the callbacks of the waits that it ended, after the core is unlocked.
  func withCore<Value: Sendable, Failure>(
    _ body: (EmulatorCore) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let (result, callbacks) = core.withLock { core -> (Result<Value, Failure>, [@Sendable () -> Void]) in
      defer { core.push.pendingCallbacks = [] }
      do throws(Failure) {
        let value = try body(core)
        return (.success(value), core.push.pendingCallbacks)
      } catch {
        return (.failure(error), core.push.pendingCallbacks)
      }
    }
    for call in callbacks { call() }
    return try result.get()
  }

  /// Handles one request.
  public func handle(_ request: EmulatorRequest, at time: Date) -> EmulatorReply {
    var reply = dispatch(request, at: time)
    // Includes the bytes of a file, because callers of this method cannot get them in another way.
    if case .respond(var response) = reply.outcome, let asset = response.asset {
      // A server would have started its response, and closes the connection.
      guard let body = bytes(of: asset) else {
        reply.outcome = .drop(committed: false)
        return reply
      }
      (response.body, response.asset) = (body, nil)
      reply.outcome = .respond(response)
    }
    return reply
  }

  /// Handles one request, without loading the bytes of a file.
  func dispatch(_ request: EmulatorRequest, at time: Date) -> EmulatorReply {
    var exchange = Exchange(request, at: time)
    guard request.method != "OPTIONS" else {
      return core.withLock { $0.gate.isOffline ? $0.gate.refuse(exchange, .offline) : $0.gate.preflight(exchange) }
    }
    if request.path == SignInPages.path {
      exchange.operation = "sign-in"
      return core.withLock { $0.signIn(exchange) }
    }
    if request.path == PushToken.path {
      exchange.operation = "poll"
      return withCore { $0.poll(exchange) }
    }
    if let transfer = AssetTransfer(request, configuration: configuration, at: time) {
      exchange.operation = transfer.name
      return core.withLock { $0.execute(transfer, exchange) }
    }
    guard let route = Route(path: request.path) else {
      // Observed wording. [L3]
      let error = ServerError(.notFound, "No handler found for endpoint")
      return core.withLock { $0.gate.refuse(exchange, $0.gate.isOffline ? .offline : .error(error)) }
    }
    exchange.route = route
    exchange.operation = route.operation.rawValue
    // Verifying signatures and parsing JSON is expensive and needs no lock.
    let authentication = Authentication(request, route: route, configuration: configuration, at: time)
    if request.body.count <= configuration.bodySizeLimit { exchange.readBody() }
    return withCore { $0.dispatch(exchange, authentication) }
  }
}

extension Emulator {
  /// Prepares a signed-in user's request and returns the rest of its work: from the parsed JSON to the JSON of the
  /// response.
  @_spi(Benchmarks) public func prepared(_ request: EmulatorRequest, at time: Date) -> () -> Void {
    var exchange = Exchange(request, at: time)
    guard let route = Route(path: request.path) else { preconditionFailure("The path of a benchmark must be valid.") }
    exchange.route = route
    exchange.readBody()
    let authentication = Authentication(request, route: route, configuration: configuration, at: time)
    guard let caller = try? authentication.caller.get(), let body = try? exchange.body.get() else {
      preconditionFailure("The request of a benchmark must be valid.")
    }
    let call = Call(route: route, caller: caller, body: body, time: time)
    return { [self] in core.withLock { _ = try? $0.execute(call) } }
  }
}
