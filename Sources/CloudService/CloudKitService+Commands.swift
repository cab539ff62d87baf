import Dispatch

/// Commands: they run one after another in the order given, and each yields a receipt.
extension CloudKitService {
  /// Takes a command. What changes the store runs off the main actor after the commands given before; a sync that is asked
  /// for begins after them.
  package func give(_ command: ServiceCommand) {
    guard !isReadOnly else { return receive(Receipt(command, failure: CommandRefusal.readOnly)) }
    switch command {
    case .sync: syncOnce()
    case .keepSyncing: opening.toSync == nil ? receive(Receipt(command, failure: CommandRefusal.cannotSync)) : start()
    case .perform, .togglePause, .togglePauseOf, .flush, .resolve, .askForSync:
      commandsUnderWay += 1
      let changing = changing
      lane.async { [self] in
        let receipt = command.run(on: changing)
        DispatchQueue.main.async {
          MainActor.assumeIsolated {
            self.commandsUnderWay -= 1
            self.receive(receipt)
            self.readAtOnce()
          }
        }
      }
    }
  }

  /// Hands a receipt on.
  func receive(_ receipt: Receipt) { received?(receipt) }

  /// Waits until the commands given so far are carried out and their receipts delivered.
  func laneIsDone() async {
    guard commandsUnderWay > 0 else { return }
    await withCheckedContinuation { continuation in
      lane.async { DispatchQueue.main.async { continuation.resume() } }
    }
  }

  /// Waits for the commands given so far, but no longer than a time.
  ///
  /// - Returns: how many commands are still under way.
  @discardableResult
  package func drain(within limit: Duration) async -> Int {
    let lane = Task { await self.laneIsDone() }
    _ = await Self.ends([lane], within: limit)
    return commandsUnderWay
  }

  /// Waits for the end of tasks, but no longer than a time; whether all have ended.
  static func ends(_ tasks: [Task<Void, Never>], within limit: Duration) async -> Bool {
    let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
    Task {
      for task in tasks { await task.value }
      continuation.yield(true)
    }
    let timer = Task {
      try? await Task.sleep(for: limit)
      continuation.yield(false)
    }
    defer { timer.cancel() }
    for await hasEnded in ends { return hasEnded }
    return false
  }
}
