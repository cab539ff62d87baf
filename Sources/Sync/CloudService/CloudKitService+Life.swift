import CloudSync
import Foundation

/// Syncing with this service's engine: once, or until stopped.
extension CloudKitService {
  /// The ways in which this service syncs.
  package enum Syncing: Hashable, Sendable {
    case off, once, always
  }

  /// The way in which this service syncs now.
  package var syncing: Syncing { driving != nil ? .always : syncingOnce != nil ? .once : .off }

  /// Syncs continuously from now on, if there is an engine. While another process syncs the store, waits for its end.
  public func start() {
    shared?.start()
    guard opening.toSync != nil, !isReadOnly, driving == nil else { return }
    stop = nil
    let before = stopping
    driving = Task { [weak self] in
      do {
        // Wait until the earlier run has released the lease.
        await before?.value
        guard let engine = try await self?.engineToSync() else { return }
        try await engine.run()
      } catch {
        // `stop()` may have cleared it already.
        guard !Task.isCancelled, let self else { return }
        self.driving = nil
        self.stop = Stop(error: error, at: Date())
        self.receive(Receipt(.keepSyncing, failure: error))
        self.noteChange()
      }
    }
    noteChange()
  }

  /// Stops continuous syncing without waiting for its end.
  package func stopSyncing() {
    guard let driving else { return }
    driving.cancel()
    (stopping, self.driving) = (driving, nil)
    noteChange()
  }

  /// Stops syncing. A request in flight is abandoned, and its outcome is verified at the next start.
  ///
  /// - Parameter limit: the maximum time to wait for the end.
  /// - Returns: whether it has ended by then.
  @discardableResult
  public func stop(within limit: Duration = .seconds(5)) async -> Bool {
    stopPeriodicSync()
    let services = [self, shared].compactMap(\.self)
    for service in services {
      service.stopSyncing()
      service.syncingOnce?.cancel()
    }
    let tasks = services.flatMap { [$0.stopping, $0.syncingOnce].compactMap(\.self) }
    return tasks.isEmpty ? true : await Self.ends(tasks, within: limit)
  }

  /// Syncs once. The receipt follows at the end.
  func syncOnce() {
    guard opening.toSync != nil else { return receive(Receipt(.sync, failure: CommandRefusal.cannotSync)) }
    guard syncingOnce == nil else { return receive(Receipt(.sync, failure: CommandRefusal.alreadySyncing)) }
    stop = nil
    syncingOnce = Task { [weak self] in
      var receipt = Receipt(.sync)
      do {
        guard let engine = try await self?.engineToSync() else { return }
        try Task.checkCancellation()
        receipt.summary = try await engine.sync()
        let reader = StoreReader(engine.store, self?.redaction() ?? Redaction())
        receipt.status = await Task.detached { try? reader.view { try $0.status() } }.value
      } catch {
        receipt.failure = Task.isCancelled ? CancellationError() : error
      }
      self?.syncingOnce = nil
      self?.receive(receipt)
      self?.readAtOnce()
    }
    noteChange()
  }

  /// Returns the engine, and creates it if needed, after the commands given so far.
  private func engineToSync() async throws -> SyncEngine {
    await laneIsDone()
    if let engine, !engine.store.isReplaced { return engine }
    guard let toSync = opening.toSync else { throw CommandRefusal.cannotSync }
    // Another store in the place of the one that is shown would look as if everything were sent.
    if let store, store.isReplaced {
      let toRead = opening.toRead
      let present = try await Task.detached { try toRead() }.value
      guard present?.isSame(as: store) == true else { throw store.replaced }
    }
    let making = makingEngine ?? Task.detached { try await toSync() }
    makingEngine = making
    defer { makingEngine = nil }
    let engine = try await making.value
    self.engine = engine
    return engine
  }
}
