import CloudService
import CloudSync
import Facts
import Foundation
import TerminalUI

/// The input of the screens: the store as last read, the clock and the settings. Only `Runtime` changes it.
struct World: Sendable {
  /// The data read for the scope that the screens requested.
  var data = ViewData()
  /// Milliseconds since 1970.
  var now: Int64
  var size = Size.zero
  var glyphs = GlyphSet.unicode
  var scope: SyncStore.Scope
  /// `serverToServer`, `apiToken`, `webAuth`, or `none`.
  var credential: String
  var url: String
  var storePath: String
  /// Whether there is a credential.
  var hasCredential = true
  /// Whether there is a credential to sync with, as far as the store is read.
  var canSync: Bool { hasCredential && status?.accepts(credential) ?? true }
  var isReadOnly = false
  var format = Format()
  var preferences = Preferences()
  var keys: KeyMap { preferences.keys }
  /// Whether this dashboard syncs the store.
  var syncing = CloudKitService.Syncing.off
  /// The process that syncs the store in place of this one.
  var otherProcess: StoreStatus.SyncingProcess? {
    status?.syncingProcess.flatMap { $0.isAnother(than: pid) ? $0 : nil }
  }
  /// Whether a process syncs the store, or this dashboard is about to.
  var isSynced: Bool { syncing != .off || status?.isSyncing == true }
  /// The reason why the store cannot be read; nil while it can.
  var readFailure: String?
  /// Whether what is shown was read before the store became unreadable.
  var isStale: Bool { readFailure != nil && status != nil }
  /// The text in place of something that has not been read.
  var loading: String { readFailure == nil ? "loading…" : "The store cannot be read" }
  /// The reason why syncing in this process ended by itself.
  var syncFailure: String?
  /// The progress of a long command.
  var progress: CommandProgress?
  /// The faults of the demo, each with its key.
  var faults: [DemoHint] = []
  /// The messages of this run, the newest first.
  var notices: [Notice] = []
  /// Whether the lists are those of an earlier time.
  var isFrozen = false
  /// The card of the demo's tour.
  var card: StyledText?
  /// This process's ID.
  var pid = Int64(ProcessInfo.processInfo.processIdentifier)

  var status: StoreStatus? { data.status }

  /// All that holds for the store; nil until it is read.
  var verdicts: Verdicts? {
    if let readFailure { return Verdicts([.unreadable(readFailure)]) }
    return status?.verdicts(hasCredential: canSync || isReadOnly, startsSyncing: syncing != .off)
  }

  /// The verdict on the store; nil until it is read.
  var verdict: Verdict? { verdicts?.first }

  func time(_ milliseconds: Int64?) -> String { format.time(milliseconds, now: now) }

  /// The cause in words, with the end of a wait in local time.
  func why(_ cause: Cause) -> String { cause.text(format, now: now) }

  /// The time as lists show it: `14:03`, of another day `Nov 21 14:03`.
  func clock(_ milliseconds: Int64?) -> String { milliseconds.map { format.clock($0, now: now) } ?? "" }

  /// How long ago, for inspectors: `3 min ago`.
  func ago(_ milliseconds: Int64) -> String { Format.ago(milliseconds, now: now) }
}
