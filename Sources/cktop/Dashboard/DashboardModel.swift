import CloudKit
import CloudService
import CloudSync
import Facts
import Foundation
import TerminalUI

/// Everything the views draw from, besides where the user is.
struct DashboardModel: Hashable, Sendable {
  var snapshot: Snapshot
  var scope: SyncStore.Scope
  /// `serverToServer`, `apiToken`, `webAuth`, or `none`.
  var credential: String
  /// Whom or what we talk to, for the account pane.
  var url: String
  var storePath: String
  var notice: Notice?
  var isReadOnly: Bool
  /// Keys of the demo, with what they do.
  var demo: [DemoHint] = []
  /// Milliseconds since 1970.
  var now: Int64
  var format: Format
  /// Whether this dashboard syncs the store.
  var syncing = CloudKitService.Syncing.off
  /// Whether there is a credential to sync with.
  var hasCredential = true
  /// Why the store cannot be read; nil while it can.
  var readFailure: String?
  /// Why syncing here ended by itself.
  var syncFailure: String?
  /// This process.
  var pid = Int64(ProcessInfo.processInfo.processIdentifier)

  /// A message to the user.
  struct Notice: Hashable, Sendable {
    var text: String
    var isError: Bool
  }

  struct DemoHint: Hashable, Sendable {
    var key: Character
    var label: String
    var help: String
  }

  var status: StoreStatus { snapshot.status }

  /// How to make the store where there is none.
  var firstStep: String {
    if isReadOnly || !hasCredential { return "No store yet; `cktop sync` makes it" }
    return syncing == .off ? "No store yet. Press s to sync" : "No store yet; the first sync is under way"
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

  /// A letter that tells the state without colour.
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
  /// How the store stands.
  var verdict: Verdict {
    let verdict = status.verdict(hasCredential: hasCredential || isReadOnly)
    // This process takes a moment to begin.
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
