public import CloudKit

/// An event of this process's engine.
public enum SyncEvent: Sendable {
  /// A sync has begun.
  case syncBegan
  /// A sync has ended.
  case syncEnded(SyncSummary)
  /// The delegate accepted this number of changes.
  case delivered(Int)
  /// The delegate rejected changes, for this reason and with this error; it is asked again.
  case deliveryFailed(reason: String, error: any Error)
  /// The change token of this zone, or of the list of zones if nil, cannot be used: the server refused it, or it is
  /// larger than 1 MB. All its changes are fetched again; only what differs from the local copy is delivered.
  case refetching(CKRecordZone.ID?)
  /// Deletions on the server are on hold until a person decides, or those on hold have changed; see
  /// ``SyncEngine/heldDeletions()``.
  case deletionsHeld(HeldDeletions)
  /// No user, or another user, is signed in: queued changes wait for the store's user.
  case signedOut
  /// An error stopped syncing, for this reason; `start()` restarts it.
  case stopped(reason: String, error: any Error)
}
