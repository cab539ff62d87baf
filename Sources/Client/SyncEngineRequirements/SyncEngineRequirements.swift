/// The methods of `CKSyncEngineDelegate`. Conform to that protocol.
///
/// They are in a module of their own, because in a module with `NonisolatedNonsendingByDefault` each has an isolation,
/// which the methods of a conforming class would get in place of the class's own, such as the main actor. Those of
/// Apple's framework have none.
public protocol _SyncEngineRequirements: AnyObject, Sendable {
  associatedtype _Engine: Sendable
  associatedtype _Event: Sendable
  associatedtype _SendContext: Sendable
  associatedtype _Batch: Sendable
  associatedtype _FetchContext: Sendable
  associatedtype _FetchOptions: Sendable

  /// Handles an event.
  ///
  /// - Parameters:
  ///   - event: The event. Save the state of each `stateUpdate` together with your data.
  ///   - syncEngine: The engine that the event belongs to.
  func handleEvent(_ event: _Event, syncEngine: _Engine) async

  /// Returns the next records to save and to delete; nil if there are none for now.
  ///
  /// The engine calls it again after each batch until it returns nil.
  ///
  /// - Parameters:
  ///   - context: The reason and the options. Return only changes that `context.options.scope` contains.
  ///   - syncEngine: The engine that sends the batch.
  func nextRecordZoneChangeBatch(_ context: _SendContext, syncEngine: _Engine) async -> _Batch?

  /// Returns the options for the next request of a fetch: its zones, and those to fetch first. By default, the options
  /// of the context.
  ///
  /// - Parameters:
  ///   - context: The reason and the options of the fetch.
  ///   - syncEngine: The engine that fetches.
  func nextFetchChangesOptions(_ context: _FetchContext, syncEngine: _Engine) async -> _FetchOptions
}
