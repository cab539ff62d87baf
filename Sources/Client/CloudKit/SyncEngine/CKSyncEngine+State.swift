internal import Synchronization

extension CKSyncEngine {
  /// The state of an engine: the changes to send, and what the engine needs to continue after a restart.
  ///
  /// After each change, also one that you make, the delegate gets a `stateUpdate` with the state to save. Several
  /// changes that follow closely come in one update.
  public final class State: Sendable {
    private struct Content {
      var value: EngineState
      /// The number of changes, and that of the changes that the delegate knows.
      var changes = 0
      var reported = 0
      weak var engine: CKSyncEngine?
    }

    private let content: Mutex<Content>

    /// Restores a state; nil for a new one.
    package init(_ serialization: Serialization?) {
      content = Mutex(Content(value: serialization.map(EngineState.init) ?? EngineState()))
    }

    func belongs(to engine: CKSyncEngine) { content.withLock { $0.engine = engine } }

    var value: EngineState { content.withLock { $0.value } }

    /// Changes the state. The next `takeUpdate()` returns it.
    func update<Result: Sendable>(_ change: (inout EngineState) -> Result) -> Result {
      content.withLock { content in
        content.changes += 1
        return change(&content.value)
      }
    }

    /// Returns the state if it changed since the last call; nil if not.
    func takeUpdate() -> Serialization? {
      let changed: EngineState? = content.withLock { content in
        guard content.changes > content.reported else { return nil }
        content.reported = content.changes
        return content.value
      }
      return changed.map(Serialization.init)
    }

    /// Makes a change of the app.
    private func change(_ change: (inout EngineState) -> Void) {
      update(change)
      content.withLock { $0.engine }?.stateChanged()
    }
  }
}

extension CKSyncEngine.State {
  /// The changes to records that are not sent yet, in the order in which their records were first added: one for each
  /// record, the latest.
  ///
  /// A change that was sent is removed, as is one that failed with an error that only the app can solve. A change that
  /// failed with a transient error stays, as does one that was added again while it was being sent.
  public var pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange] { value.recordChanges.changes }

  /// The changes to zones that are not sent yet: one for each zone, the latest.
  public var pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange] { value.databaseChanges.changes }

  /// Whether the app has changes to send that are not among the pending changes. Setting it to true schedules a send.
  ///
  /// The engine sets it to false when it has sent all changes, unless it was set again meanwhile. Apple's documentation
  /// does not say when it becomes false.
  public var hasPendingUntrackedChanges: Bool {
    get { value.hasUntracked }
    set { change { $0.hasUntracked = newValue } }
  }

  /// The zones whose changes are not fetched yet.
  public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { value.unfetched }

  /// Adds changes to records and schedules a send. A change replaces the one for the same record.
  public func add(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
    guard !pendingRecordZoneChanges.isEmpty else { return }
    change { $0.recordChanges.add(pendingRecordZoneChanges) }
  }

  /// Removes changes to records. A save does not remove a deletion of the same record, nor the reverse.
  public func remove(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange]) {
    guard !pendingRecordZoneChanges.isEmpty else { return }
    change { $0.recordChanges.remove(pendingRecordZoneChanges) }
  }

  /// Adds changes to zones and schedules a send. A change replaces the one for the same zone.
  public func add(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
    guard !pendingDatabaseChanges.isEmpty else { return }
    change { $0.databaseChanges.add(pendingDatabaseChanges) }
  }

  /// Removes changes to zones. A save does not remove a deletion of the same zone, nor the reverse.
  public func remove(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange]) {
    guard !pendingDatabaseChanges.isEmpty else { return }
    change { $0.databaseChanges.remove(pendingDatabaseChanges) }
  }
}
