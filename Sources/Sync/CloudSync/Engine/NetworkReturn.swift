import Dispatch
package import NetworkShim

/// Ending the wait after network errors when the network is back.
extension SyncEngine {
  /// Ends the wait whenever the network has changed and can be used, until cancelled.
  func awaitNetwork() -> Task<Void, Never> {
    let (reports, store, wakeup) = (configuration.network, store, wakeup)
    return Task {
      // The first report is the state when the watch begins, at the end of the sync whose requests failed.
      for await isUsable in reports().dropFirst() where isUsable {
        // If the store cannot be written, the wait ends by itself.
        if (try? store.endNetworkWait()) == true { wakeup.wake() }
      }
    }
  }
}

extension SyncStore {
  /// Whether requests failed because there was no network, and none has succeeded since.
  func lacksNetwork() throws(StoreError) -> Bool {
    try read { try $0.wait(.network).map { $0.isOwn && !$0.isOver } ?? false }
  }

  /// Ends our own wait after network errors, never one that the server asked for. The next one is longer all the same,
  /// until a request succeeds.
  ///
  /// - Returns: whether there was one.
  func endNetworkWait() throws(StoreError) -> Bool {
    let now = now()
    return try write { ledger in
      guard var wait = try ledger.wait(.network), wait.isOwn, wait.until > now else { return false }
      wait.until = now
      try ledger.put(wait)
      return true
    }
  }
}

extension NWPathMonitor {
  /// Whether the network can be used, now and after each change, as a new sequence on each call.
  @Sendable package static func reports() -> AsyncStream<Bool> {
    let (reports, continuation) = AsyncStream.makeStream(of: Bool.self)
    let monitor = NWPathMonitor()
    monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
    continuation.onTermination = { _ in monitor.cancel() }
    monitor.start(queue: DispatchQueue(label: "cktop.network"))
    return reports
  }
}
