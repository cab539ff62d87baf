import CloudKit
import CloudService
import CloudSync
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
  var notice: CloudKitService.Notice?
  var isReadOnly: Bool
  /// Keys of the demo, with what they do.
  var demo: [DemoHint] = []
  /// Milliseconds since 1970.
  var now: Int64
  var format: Format

  struct DemoHint: Hashable, Sendable {
    var key: Character
    var label: String
    var help: String
  }

  var status: StoreStatus { snapshot.status }
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

extension StoreStatus.State {
  var role: StyleRole {
    switch self {
    case .idle: .ok
    case .sending, .fetching: .active
    case .waiting, .offline: .warning
    case .paused: .dim
    case .error: .error
    }
  }
}
