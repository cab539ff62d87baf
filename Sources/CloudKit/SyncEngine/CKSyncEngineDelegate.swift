/// The part of an app that a sync engine works with: it keeps the records and the state, and decides what is sent.
///
/// The engine makes one call at a time: the next call begins after the previous one has returned. So do not wait for
/// `fetchChanges(_:)` or `sendChanges(_:)` in a call, because they wait for their events to be handled. Call them in a
/// new task.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
  /// Handles an event.
  ///
  /// - Parameters:
  ///   - event: The event. Save the state of each `stateUpdate` together with your data.
  ///   - syncEngine: The engine that the event belongs to.
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

  /// Returns the next records to save and to delete; nil if there are none for now.
  ///
  /// The engine calls it again after each batch until it returns nil.
  ///
  /// - Parameters:
  ///   - context: The reason and the options. Return only changes that `context.options.scope` contains.
  ///   - syncEngine: The engine that sends the batch.
  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch?

  /// Returns the options for the next request of a fetch: its zones, and those to fetch first. By default, the options
  /// of the context.
  ///
  /// - Parameters:
  ///   - context: The reason and the options of the fetch.
  ///   - syncEngine: The engine that fetches.
  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
  /// Returns the options of the context.
  public func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    context.options
  }
}
