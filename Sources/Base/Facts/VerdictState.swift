/// The states of a store, in order of precedence: a person sees the first that holds.
public enum VerdictState: String, Hashable, Sendable, CaseIterable {
  /// The store is damaged, was replaced, or cannot be read.
  case unreadable
  /// Nothing can be written to the store: its disk is full, read-only or failing.
  case storeFull
  /// The credential belongs to another user than the store.
  case wrongAccount
  /// No user is signed in, or the server refuses the credential.
  case signedOut
  /// Deletions on the server are on hold until a person decides.
  case decisionNeeded
  /// A full quota or a missing permission stops sending or fetching.
  case blocked
  /// No process syncs, and something could be sent; or the syncing process does not do its work.
  case notSyncing
  /// Changes failed for good.
  case failed
  /// Records were changed on both sides.
  case conflicts
  /// Everything is paused.
  case paused
  /// No request reaches the server, or it does not answer.
  case offline
  /// Changes are being sent.
  case sending
  /// The server asked to wait.
  case throttled
  /// Changes wait for their next attempt.
  case retrying
  /// Changes wait for the app, which no syncing process can ask.
  case waitingForApp
  /// Some changes are paused.
  case partlyPaused
  /// Everything is sent and fetched.
  case inSync
  /// Changes are being fetched.
  case fetching
  /// No sync has ended yet.
  case neverSynced
  /// Changes may have been missed since the last sync.
  case outOfDate
}

extension VerdictState {
  /// The state in plain words: `notSyncing` is "not syncing".
  package var words: String {
    rawValue.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
  }
}
