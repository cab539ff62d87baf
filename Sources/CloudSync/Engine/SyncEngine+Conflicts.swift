import CloudKit
import Facts

/// Asking the app to resolve conflicts.
extension SyncEngine {
  /// Asks about every conflict that the app has not seen in its current version. After a timeout no more are asked in
  /// this sync, so that an app that hangs does not hold up the rest.
  func resolveConflicts(_ lease: Lease) async throws {
    guard let resolver = configuration.conflictResolver else { return try resolveWithoutApp(lease) }
    let patience = configuration.conflictPatience
    for conflict in try store.conflictsToAsk() {
      let (result, _) = await timed(lease) { () async throws(WebServicesError) in
        await ResolverAnswer.of(resolver, on: conflict.change, within: patience)
      }
      // We cancelled the question, so it is asked again.
      try Task.checkCancellation()
      let answer = try result.get()
      try store.take(answer.answer(to: conflict.change, within: patience), to: conflict, lease)
      if case .silence = answer { return }
    }
  }
}

/// The decision of the app's resolver, or none.
private enum ResolverAnswer: Sendable {
  case decision(ConflictDecision)
  case failure(String)
  case silence

  /// Asks the app, and stops waiting after a timeout or a cancellation. The app's code may continue.
  static func of(
    _ resolver: @escaping ConflictResolver,
    on change: ConflictingChange,
    within patience: Duration
  ) async -> ResolverAnswer {
    // Ends at once when the task is cancelled.
    let patience = Task.detached { try? await Task.sleep(for: patience) }
    defer { patience.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let first = FirstAnswer(continuation)
        let asking = Task.detached {
          do {
            first.give(.success(.decision(try await resolver(change))))
          } catch {
            first.give(.success(.failure("\(error)")))
          }
        }
        Task.detached {
          await patience.value
          first.give(.success(.silence))
          asking.cancel()
        }
      }
    } onCancel: {
      patience.cancel()
    }
  }

  func answer(to change: ConflictingChange, within patience: Duration) -> SyncStore.ConflictAnswer {
    switch self {
    case .decision(.server): return .take(.server)
    case .decision(.client): return .take(.local)
    case .decision(.merged(let record)):
      guard record.recordID == change.recordID, record.recordType == change.recordType else {
        return .none(.otherRecord)
      }
      do {
        let parent: Set<String> = record.changedParent == nil ? [] : [FieldChanges.parent]
        return .merged(try record.queueFields(), touched: parent.union(record.changedKeys()))
      } catch {
        return .none(.invalidRecord(error.localizedDescription))
      }
    case .decision(.manual(let reason)): return .none(.leftToPerson(reason))
    case .failure(let error): return .none(.failed(error))
    case .silence: return .none(.silent("\(patience)"))
    }
  }
}
