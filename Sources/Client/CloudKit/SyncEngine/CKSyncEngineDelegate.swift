@_exported public import SyncEngineRequirements

/// The part of an app that a sync engine works with: it keeps the records and the state, and decides what is sent.
///
/// The engine makes one call at a time: the next call begins after the previous one has returned. So do not wait for
/// `fetchChanges(_:)` or `sendChanges(_:)` in a call, because they wait for their events to be handled: the program
/// ends with a message that says so. Call them in a new task, and do not wait for it.
///
/// It has the methods `handleEvent(_:syncEngine:)`, `nextRecordZoneChangeBatch(_:syncEngine:)` and, if you want to
/// choose the zones of a fetch, `nextFetchChangesOptions(_:syncEngine:)`.
public protocol CKSyncEngineDelegate: _SyncEngineRequirements
where
  _Engine == CKSyncEngine, _Event == CKSyncEngine.Event, _SendContext == CKSyncEngine.SendChangesContext,
  _Batch == CKSyncEngine.RecordZoneChangeBatch, _FetchContext == CKSyncEngine.FetchChangesContext,
  _FetchOptions == CKSyncEngine.FetchChangesOptions
{}

extension CKSyncEngineDelegate {
  /// Returns the options of the context.
  public func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    context.options
  }
}
