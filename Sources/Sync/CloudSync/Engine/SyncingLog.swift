import Facts
import Foundation

/// Which process syncs a store continuously, in its event log. `OneSync` logs a sync that runs once.
enum SyncingChange: Hashable, Sendable {
  case started, stopped
}

extension Ledger {
  /// Adds to the event log that a process began or ended to sync continuously. It has to hold the lease.
  ///
  /// - Parameters:
  ///   - process: the process; by default this one.
  ///   - aliveSince: since when it is proven to live without a break.
  func noteSyncing(
    _ change: SyncingChange,
    by process: Event.SyncingProcess = .current,
    aliveSince: Int64,
    now: Int64
  ) throws {
    let event: Event
    switch change {
    case .stopped: event = .syncingStopped(by: process)
    case .started:
      // A process that ended without a stop was killed, or was suspended for too long.
      let former: Event.SyncingProcess? =
        if case .syncingStarted(let former, _)? = try latestEvent(of: "syncing"), former != process { former } else {
          nil
        }
      event = .syncingStarted(by: process, insteadOf: former)
    }
    try EventLog.add(event, now: now, self)
    try noteVerdict(now: now, aliveSince: aliveSince)
  }
}

extension SyncStore {
  /// Adds to the event log that this process began or ended to sync continuously.
  func noteSyncing(_ change: SyncingChange, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in try ledger.noteSyncing(change, aliveSince: lease.life.since, now: now) }
  }
}

extension Event.SyncingProcess {
  static var current: Event.SyncingProcess {
    let process = ProcessInfo.processInfo
    return Event.SyncingProcess(
      program: process.processName,
      pid: Int64(process.processIdentifier),
      user: Operator.name,
      host: process.hostName
    )
  }
}
