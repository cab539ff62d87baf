extension CKSyncEngine {
  /// Starts to sync by itself, if the configuration says so.
  func startAutomation() {
    guard let automation, let client = try? database.client.get() else { return }
    automation.observeAccount(of: client) { [weak self] in
      self?.automation?.endListening()
      self?.schedule(fetches: true, sends: true, now: true)
    }
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

  /// Runs a cycle: a fetch, so that the app merges before it sends, then a send.
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

  /// Listens for pushes, and saves the subscription for them once.
  ///
  /// - Throws: An error that passes. After others the engine syncs without pushes.
  private func listen() async throws {
    guard let automation else { return }
    if !state.value.isSubscribed {
      let subscription = CKDatabaseSubscription(subscriptionID: automation.subscriptionID)
      let info = CKSubscription.NotificationInfo()
      info.shouldSendContentAvailable = true
      subscription.notificationInfo = info
      do {
        try await database.save(subscription)
      } catch {
        guard !CKError(any: error).isTransient else { throw error }
        database.report("The sync engine has no pushes: \(error.localizedDescription)")
        return
      }
      state.update { $0.isSubscribed = true }
      stateChanged()
    }
    guard let container = database.account.container ?? (try? CKContainer(sharing: database.client.get())) else {
      return
    }
    automation.listen(to: container) { [weak self] event in self?.receive(event) }
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
