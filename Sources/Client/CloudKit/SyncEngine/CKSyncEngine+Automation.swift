extension CKSyncEngine {
  /// The time between the fetches that need no push.
  package static let watchdogInterval = Duration.seconds(300)

  /// Starts to sync by itself, if the configuration says so.
  func startAutomation() {
    guard let automation, let client = try? database.client.get() else { return }
    automation.observeAccount(of: client) { [weak self] in
      self?.automation?.endListening()
      self?.schedule(fetches: true, sends: true, now: true)
    }
    automation.startWatchdog { [weak self] in self?.schedule(fetches: true) }
    schedule(fetches: true, sends: state.value.hasChangesToSend)
  }

  /// Schedules a fetch and a send; does nothing without automatic syncs.
  func schedule(fetches: Bool = false, sends: Bool = false, now: Bool = false) {
    automation?.want(Automation.Work(fetches: fetches, sends: sends), now: now) { [weak self, automation] in
      // The engine is not kept alive between cycles.
      while let work = automation?.next() {
        guard let (error, again) = await self?.perform(work) else {
          automation?.progressed()
          continue
        }
        await automation?.failed(error, again: again)
      }
    }
  }

  /// Runs a cycle. If it has both, the fetch comes first, so that the app merges before it sends.
  ///
  /// - Returns: The error that ended it and what is left to do; nil if it succeeded.
  private func perform(_ work: Automation.Work) async -> (CKError, again: Automation.Work)? {
    var partial: (CKError, again: Automation.Work)?
    if work.fetches {
      let failure = await error {
        do {
          try await self.run(FetchChangesContext(reason: .scheduled, options: .init()))
        } catch let error as CKError where error.code == .partialFailure {
          // Some zones failed. They do not hold up the pushes and the send.
          partial = (error, Automation.Work(fetches: true))
        }
        try await self.listen()
      }
      if let failure { return (failure, work) }
    }
    guard work.sends else { return partial }
    let failure = await error { try await self.run(SendChangesContext(reason: .scheduled, options: .init())) }
    guard let failure else { return partial }
    return (failure, Automation.Work(fetches: partial != nil, sends: state.value.hasChangesToSend))
  }

  private func error(of body: () async throws -> Void) async -> CKError? {
    do {
      try await body()
      return nil
    } catch {
      return CKError(any: error)
    }
  }

  // MARK: - Pushes

  /// Listens for pushes, unless it does.
  ///
  /// - Throws: A transient error. After others the engine syncs without pushes.
  private func listen() async throws {
    guard let automation, !automation.isListening else { return }
    do {
      _ = try await database.subscribeToAllChanges(as: automation.subscriptionID)
    } catch {
      guard !CKError(any: error).isTransient else { throw error }
      database.report("The sync engine has no pushes: \(error.localizedDescription)")
      return
    }
    automation.listen(to: database.container(try database.client.get())) { [weak self] in self?.receive($0) }
  }

  private func receive(_ event: PushBroadcast.Event) {
    switch event {
    case .opened, .reconnected: schedule(fetches: true)
    case .push(let push):
      let scope = (push as? CKDatabaseNotification)?.databaseScope
      if scope == nil || scope == database.databaseScope { schedule(fetches: true) }
    case .failed: automation?.endListening()
    }
  }
}
