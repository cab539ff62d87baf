import CloudKit
import CloudService
import CloudSync
import Facts
import Foundation
import TerminalUI

/// The data that the views draw, apart from `ViewState`.
struct DashboardModel: Hashable, Sendable {
  var snapshot: Snapshot
  var scope: SyncStore.Scope
  /// `serverToServer`, `apiToken`, `webAuth`, or `none`.
  var credential: String
  /// The URL of the server, for the account pane.
  var url: String
  var storePath: String
  var notice: Notice?
  var isReadOnly: Bool
  /// The keys of the demo.
  var demo: [DemoHint] = []
  /// Milliseconds since 1970.
  var now: Int64
  var format: Format
  /// Whether this dashboard syncs the store.
  var syncing = CloudKitService.Syncing.off
  /// Whether there is a credential to sync with.
  var hasCredential = true
  /// The reason why the store cannot be read; nil while it can.
  var readFailure: String?
  /// The reason why syncing in this process ended by itself.
  var syncFailure: String?
  /// This process's ID.
  var pid = Int64(ProcessInfo.processInfo.processIdentifier)

  /// A message to the user.
  struct Notice: Hashable, Sendable {
    var text: String
    var isError: Bool
  }

  var status: StoreStatus { snapshot.status }

  /// The next step if there is no store.
  var firstStep: String {
    if isReadOnly || !hasCredential { return "No store yet; `cktop sync` creates it" }
    return syncing == .off ? "No store yet. Press s to sync" : "No store yet; the first sync is running"
  }
}

extension SyncStore.Scope {
  /// `iCloud.example development private`.
  var text: String { "\(container) \(environment) \(database.rawValue)" }
}

extension OperationState {
  var role: StyleRole {
    switch self {
    case .pending: .pending
    case .inFlight: .active
    case .waiting: .warning
    case .failed: .error
    case .paused: .dim
    case .conflict: .conflict
    }
  }

  /// A mark that shows the state without colour.
  var mark: String {
    switch self {
    case .pending: "·"
    case .inFlight: ">"
    case .waiting: "~"
    case .failed: "!"
    case .paused: "="
    case .conflict: "?"
    }
  }
}

extension DashboardModel {
  /// The verdict on the store.
  var verdict: Verdict {
    if let readFailure { return .unreadable(readFailure) }
    let verdict = status.verdict(hasCredential: hasCredential || isReadOnly)
    // This process takes a moment to start.
    if case .notSyncing = verdict, syncing != .off { return .fetching }
    return verdict
  }
}

extension Verdict.Urgency {
  var role: StyleRole {
    switch self {
    case .act: .error
    case .look, .waits: .warning
    case .fine: .ok
    }
  }
}
