import Dispatch

/// Commands run one after another in the given order, and each yields a receipt.
extension CloudKitService {
  /// Runs a command. Changes to the store run off the main actor, after earlier commands; a sync begins after them.
  package func give(_ command: ServiceCommand) {
    guard !isReadOnly else { return receive(Receipt(command, failure: CommandRefusal.readOnly)) }
    switch command {
    case .sync: syncOnce()
    case .keepSyncing: opening.toSync == nil ? receive(Receipt(command, failure: CommandRefusal.cannotSync)) : start()
    default:
      commandsUnderWay += 1
      let (changing, seen) = (changing, store)
      lane.async { [self] in
        var pace = Pace(every: .milliseconds(250))
        let receipt = command.run(on: { try changing.get(seen: seen) }) { progress in
          if pace.isDue(at: .now) { DispatchQueue.main.async { MainActor.assumeIsolated { self.show(progress) } } }
          return true
        }
        DispatchQueue.main.async {
          MainActor.assumeIsolated {
            self.commandsUnderWay -= 1
            self.progress = nil
            self.receive(receipt)
            self.readAtOnce()
          }
        }
      }
    }
  }

  private func show(_ progress: CommandProgress) {
    self.progress = progress
    noteChange()
  }

  func receive(_ receipt: Receipt) { received?(receipt) }

  /// Waits until the commands given so far are carried out and their receipts delivered.
  func laneIsDone() async {
    guard commandsUnderWay > 0 else { return }
    await withCheckedContinuation { continuation in
      lane.async { DispatchQueue.main.async { continuation.resume() } }
    }
  }

  /// Waits for the commands given so far, up to a time limit.
  ///
  /// - Returns: the number of commands that have not finished.
  @discardableResult
  package func drain(within limit: Duration) async -> Int {
    let lane = Task { await self.laneIsDone() }
    _ = await Self.ends([lane], within: limit)
    return commandsUnderWay
  }

  /// Waits for the end of tasks, up to a time limit. Returns whether all have ended.
  package static func ends(_ tasks: [Task<Void, Never>], within limit: Duration) async -> Bool {
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
