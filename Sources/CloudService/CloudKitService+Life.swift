import CloudSync

/// Syncing from here: once, or until stopped.
extension CloudKitService {
  /// Whether this service syncs.
  package enum Syncing: Hashable, Sendable {
    case off, once, always
  }

  /// Whether this service syncs now.
  package var syncing: Syncing { driving != nil ? .always : syncingOnce != nil ? .once : .off }

  /// Keeps the store in sync from now on if there is an engine; while another process syncs it, waits for that one to end.
  public func start() {
    guard opening.toSync != nil, !isReadOnly, driving == nil else { return }
    syncFailure = nil
    let before = stopping
    driving = Task { [weak self] in
      do {
        // One at a time: the earlier one gives the lease back first.
        await before?.value
        guard let engine = try await self?.engineToSync() else { return }
        try await engine.run()
      } catch {
        // Unless `stop()` has taken it out already.
        guard !Task.isCancelled, let self else { return }
        self.driving = nil
        self.syncFailure = error
        self.receive(Receipt(.keepSyncing, failure: error))
        self.changed?()
      }
    }
    changed?()
  }

  /// Stops what `start()` began, and does not wait for its end.
  package func stopSyncing() {
    guard let driving else { return }
    driving.cancel()
    (stopping, self.driving) = (driving, nil)
    changed?()
  }

  /// Stops syncing; a request under way is given up, and its outcome is verified at the next start.
  ///
  /// - Parameter limit: how long its end is waited for.
  /// - Returns: whether it has ended by then.
  @discardableResult
  public func stop(within limit: Duration = .seconds(5)) async -> Bool {
    stopPeriodicSync()
    stopSyncing()
    syncingOnce?.cancel()
    let tasks = [stopping, syncingOnce].compactMap { $0 }
    return tasks.isEmpty ? true : await Self.ends(tasks, within: limit)
  }

  /// Syncs once. The receipt comes at its end.
  func syncOnce() {
    guard opening.toSync != nil else { return receive(Receipt(.sync, failure: CommandRefusal.cannotSync)) }
    guard syncingOnce == nil else { return receive(Receipt(.sync, failure: CommandRefusal.alreadySyncing)) }
    syncingOnce = Task { [weak self] in
      var receipt = Receipt(.sync)
      do {
        guard let engine = try await self?.engineToSync() else { return }
        try Task.checkCancellation()
        receipt.summary = try await engine.syncNow()
        let store = engine.store
        receipt.status = await Task.detached { try? store.status() }.value
      } catch {
        receipt.failure = Task.isCancelled ? CancellationError() : error
      }
      self?.syncingOnce = nil
      self?.receive(receipt)
      self?.readAtOnce()
    }
    changed?()
  }

  /// The engine, made if need be, after the commands given so far.
  private func engineToSync() async throws -> SyncEngine {
    await laneIsDone()
    if let engine, !engine.store.isReplaced { return engine }
    guard let toSync = opening.toSync else { throw CommandRefusal.cannotSync }
    let making = makingEngine ?? Task.detached { try await toSync() }
    makingEngine = making
    defer { makingEngine = nil }
    let engine = try await making.value
    self.engine = engine
    return engine
  }
}
