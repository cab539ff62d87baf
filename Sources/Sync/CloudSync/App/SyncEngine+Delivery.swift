package import CloudKit
import Dispatch
import Foundation

/// Delivering fetched changes and dead letters to the delegate, and recording its answers.
extension SyncEngine {
  /// Delivers everything, now and whenever something new arrives, until cancelled.
  func deliverAlways() async throws {
    let wakeup = deliveryWakeup
    let watcher = StoreWatcher(store, queue: .global()) { wakeup.wake() }
    defer { _ = watcher }
    var patience = Duration.seconds(1)
    while !Task.isCancelled {
      do {
        let trouble = try store.deliveryTrouble()
        // A time in the future was set before the clock was moved back.
        if trouble.map({ $0.nextAt <= store.now() || $0.at > store.now() }) ?? true { try await deliver() }
        let next = try store.deliveryTrouble()?.next(after: store.now())
        let left = next.map { Duration.milliseconds(max(1, $0 - store.now())) }
        patience = .seconds(1)
        // Without a watch of the system the store has to be polled.
        await wakeup.sleep(watcher == nil ? .milliseconds(250) : left)
      } catch let error as StoreError where error.isTransient {
        // A full disk or a locked file: deliveries are still recorded.
        await wakeup.sleep(patience)
        patience = min(patience * 2, .seconds(60))
      }
    }
  }

  /// Delivers what there is now. If the delegate rejects it, it is asked again later, without an error.
  ///
  /// - Parameter types: only records of these types, with those they refer to; nil: everything.
  func deliver(of types: Set<String>? = nil) async throws {
    guard delegate != nil else { return }
    // One call at a time, so that nothing is delivered twice.
    while let delivering { _ = await delivering.result }
    let task = Task { try await deliverAll(of: types) }
    delivering = task
    defer { delivering = nil }
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func deliverAll(of types: Set<String>?) async throws {
    guard let delegate else { return }
    try store.startDelivering()
    // Newly fetched changes come before more dead letters.
    repeat {
      guard try await handOver(to: delegate, types) else { return }
    } while try await offerDeadLetters(to: delegate)
  }

  /// - Returns: whether the app has accepted everything.
  private func handOver(to delegate: any SyncEngineDelegate, _ types: Set<String>?) async throws -> Bool {
    while !Task.isCancelled {
      let batch = try store.nextDelivery(order: delegate.recordTypesInDependencyOrder, of: types)
      let hasRoom = try batch.blocked.isEmpty || store.setAside(batch.blocked, random: configuration.random())
      guard !batch.numbers.isEmpty || batch.changes.startsOver else {
        if batch.blocked.isEmpty || !hasRoom { break } else { continue }
      }
      let changes = batch.changes
      configuration.origin?.adoptAssets(of: changes.modifications)
      let count = changes.count
      do {
        if count > 0 || changes.startsOver {
          try await ask { [self] in
            var changes = changes
            for (place, record) in changes.modifications.enumerated() {
              changes.modifications[place] = try await delivered(record)
            }
            try await delegate.syncEngine(self, didReceive: changes)
          }
        }
      } catch let silence as NoAnswer where !silence.wasAsked {
        // It is asked when the earlier call has ended.
        return false
      } catch {
        guard !Task.isCancelled else { return false }
        let reason = "the app did not take \(count) changes: \(Self.reason(error))"
        let goesOn = try store.deliveryFailed(batch, reason, random: configuration.random())
        broadcast.send(.deliveryFailed(reason: reason, error: error))
        if goesOn { continue } else { return false }
      }
      try store.delivered(batch)
      broadcast.send(.delivered(count))
    }
    if types == nil { try store.deliveryEnded() }
    return true
  }

  /// Returns a record as the app wants to see it.
  package nonisolated func delivered(_ record: CKRecord) async throws -> CKRecord {
    guard let delegate, let raw = record.copy() as? CKRecord else { return record }
    let shown = try await delegate.syncEngine(self, willDeliver: record)
    guard shown.recordID == raw.recordID, shown.recordType == raw.recordType else {
      throw StoreError(.invalid, "the app returned another record than it was given")
    }
    shown.countAsChanged([], parent: false, since: raw)
    return shown
  }

  /// - Returns: whether there may be more.
  private func offerDeadLetters(to delegate: any SyncEngineDelegate) async throws -> Bool {
    let letters = try store.deadLettersToOffer()
    for letter in letters {
      guard try await offer(letter, to: delegate) else { return false }
    }
    return !letters.isEmpty
  }

  /// - Returns: whether others may be offered after it.
  private func offer(_ letter: SyncStore.DeadLetter, to delegate: any SyncEngineDelegate) async throws -> Bool {
    let record = letter.record.map { CKRecord($0) }
    var decision = FailureDecision.keep
    do {
      decision = try await ask { await delegate.syncEngine(self, didFail: letter.change, of: record) }
    } catch let silence as NoAnswer where !silence.wasAsked {
      return false
    } catch {
      // No answer in time counts as no decision.
    }
    guard !Task.isCancelled else { return false }
    try store.offered(letter, Self.answer(decision, for: record))
    return true
  }

  /// A replacement has to be the same record.
  private static func answer(_ decision: FailureDecision, for record: CKRecord?) -> SyncStore.DeadLetterAnswer {
    switch decision {
    case .keep: return .keep
    case .retry: return .retry
    case .discard: return .discard
    case .replace(let new):
      guard let record, new.recordID == record.recordID, new.recordType == record.recordType,
        let fields = try? new.queueFields()
      else { return .keep }
      return .replace(fields)
    }
  }

  // MARK: - One call

  /// Calls the app's code with a time limit. An overdue call is cancelled, and its answer ignored.
  ///
  /// - Parameters:
  ///   - seconds: the time limit; nil for that of the delegate.
  ///   - overdue: the overdue calls of the same kind; nil for those of the delegate.
  ///   - limit: the number of overdue calls that may still run at the same time; zero if they could interfere.
  nonisolated func ask<Value: Sendable>(
    within seconds: Double? = nil,
    besides overdue: OverdueCalls? = nil,
    limit: Int = 0,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let patience = seconds ?? configuration.delegatePatience
    let overdue = overdue ?? self.overdue
    guard overdue.number <= limit else { throw NoAnswer(seconds: patience, wasAsked: false) }
    let answer = FirstAnswer<Value>()
    let call = Task { try await body() }
    let (wakeup, deliveryWakeup) = (wakeup, deliveryWakeup)
    let giveUp = { @Sendable (error: any Error) in
      // Count it before the result is reported and the next call is made.
      overdue.began()
      guard answer.give(.failure(error)) else { return overdue.withdrew() }
      call.cancel()
      Task {
        _ = await call.result
        overdue.ended()
        // Continue with calls that were postponed.
        wakeup.wake()
        deliveryWakeup.wake()
      }
    }
    let timer = Task {
      if (try? await Task.sleep(for: .seconds(patience))) != nil { giveUp(NoAnswer(seconds: patience)) }
    }
    Task {
      answer.give(await call.result)
      timer.cancel()
    }
    return try await withTaskCancellationHandler {
      try await answer.value
    } onCancel: {
      giveUp(CancellationError())
    }
  }

  static func reason(_ error: any Error) -> String {
    if error is NoAnswer { return "\(error)" }
    return (error as NSError).localizedDescription
  }
}

/// The delegate did not answer in time, or has not ended an earlier call.
struct NoAnswer: Error, CustomStringConvertible {
  var seconds: Double
  var wasAsked = true

  var description: String {
    wasAsked ? "no answer within \(seconds) s" : "not asked: an earlier call has not ended"
  }
}
