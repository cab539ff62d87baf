package import CloudService
package import CloudSync
import Facts
import Foundation
package import Terminal
package import TerminalUI

/// The dashboard on the terminal.
@MainActor
package final class Dashboard {
  /// The end of a dashboard.
  package enum End: Hashable, Sendable {
    case quit
    /// By the user, with commands that were not finished in time.
    case unfinished
    /// By a signal, which determines the exit status.
    case signal(Int32)
    case lineLost
  }

  /// The settings of a dashboard from the command line.
  package struct Setting: Sendable {
    var scope: SyncStore.Scope
    var credential: String
    var url: String
    var storePath: String
    /// The theme to begin with.
    var theme: Theme
    var preferences: Preferences
    /// The options with which a command line means the same store; empty for none.
    package var storeOptions = ""
    /// What to say at the start; nil for nothing.
    var notice: String?
    var isMonochrome: Bool
    var hasCredential: Bool
    /// Whether the dashboard syncs from the start.
    var syncs: Bool
    var format = Format()
    /// Returns the message of an error, as commands print it.
    var message: @Sendable (any Error) -> String
    /// Prints a line after the terminal is restored.
    var report: @Sendable (String) -> Void
    /// Reads the theme and the preferences again.
    var reload: @Sendable () throws -> (Theme, Preferences)
    /// Returns the theme after the one of a name, read again, and the names of those that cannot be read.
    var nextTheme: @Sendable (_ name: String) -> (theme: Theme?, unreadable: [String])
    /// Stores the name of the chosen theme for the next start.
    var remember: @Sendable (_ theme: String) -> Void
    /// Writes rows to a file, and returns what to say about it.
    var export: @Sendable (Export, @escaping ExportProgress) throws -> String

    /// Takes the number of rows written so far, and of all where it is known.
    package typealias ExportProgress = @Sendable (_ done: Int, _ total: Int?) -> Void

    package init(
      scope: SyncStore.Scope,
      credential: String,
      url: String,
      storePath: String,
      theme: Theme,
      preferences: Preferences,
      notice: String? = nil,
      isMonochrome: Bool,
      hasCredential: Bool = true,
      syncs: Bool = false,
      message: @escaping @Sendable (any Error) -> String,
      report: @escaping @Sendable (String) -> Void,
      reload: @escaping @Sendable () throws -> (Theme, Preferences),
      nextTheme: @escaping @Sendable (_ name: String) -> (theme: Theme?, unreadable: [String]),
      remember: @escaping @Sendable (_ theme: String) -> Void,
      export: @escaping @Sendable (Export, @escaping ExportProgress) throws -> String
    ) {
      (self.scope, self.credential, self.url, self.storePath) = (scope, credential, url, storePath)
      (self.theme, self.preferences, self.notice, self.reload) = (theme, preferences, notice, reload)
      (self.nextTheme, self.remember, self.isMonochrome) = (nextTheme, remember, isMonochrome)
      (self.hasCredential, self.syncs, self.message, self.report) = (hasCredential, syncs, message, report)
      self.export = export
    }
  }

  private let service: CloudKitService
  private let setting: Setting
  private let demo: (any DemoControls)?
  private var runtime: Runtime?
  /// Messages that arrived before the runtime was created.
  private var early: [Message] = []

  package init(service: CloudKitService, setting: Setting, demo: (any DemoControls)? = nil) {
    (self.service, self.setting, self.demo) = (service, setting, demo)
  }

  /// The time to wait at the end for commands and syncing to finish.
  static let patience = Duration.seconds(5)

  /// Takes over the terminal until the user or the system ends the program, then restores it.
  package func run() async throws(ScreenError) -> End {
    let screen = try TerminalScreen(isMonochrome: setting.isMonochrome) { [weak self] event in self?.handle(event) }
    let runtime = Runtime(service, setting, screen, demo: demo)
    self.runtime = runtime
    let end = await withCheckedContinuation { continuation in
      runtime.ended = { continuation.resume(returning: $0) }
      runtime.start()
      for message in early { runtime.send(message) }
    }
    runtime.stop()
    screen.close()
    return await leave(end, runtime)
  }

  private func handle(_ event: TerminalScreen.Event) {
    let message: Message? =
      switch event {
      case .keys(let keys): .keys(keys)
      case .resized: .resized
      case .stopAsked: .stopAsked
      case .resumed: nil
      case .terminated(let signal): .ended(.signal(signal))
      case .lineLost: .ended(.lineLost)
      }
    guard let message else { return }
    guard let runtime else { return early.append(message) }
    runtime.send(message)
  }

  /// Waits for the given commands, stops syncing, and prints what is unfinished.
  private func leave(_ end: End, _ runtime: Runtime) async -> End {
    service.received = { [setting] receipt in
      guard let failure = receipt.failure else { return }
      let isUnfinished = failure is CancellationError
      let message = "the sync was stopped before it finished; run `cktop sync` to continue"
      setting.report(isUnfinished ? message : setting.message(failure))
    }
    async let hasStopped = service.stop(within: Self.patience)
    let undone = await service.drain(within: Self.patience)
    if await !runtime.finishExports(within: Self.patience) { setting.report("the export did not end within 5 s") }
    if undone > 0 {
      let what = undone == 1 ? "the last command was" : "the last \(undone) commands were"
      let advice = "check `cktop status`, and repeat what is missing"
      setting.report("\(what) not finished within 5 s; \(advice)")
    }
    if await !hasStopped {
      setting.report("syncing did not stop within 5 s; the next sync verifies what it was sending")
    }
    guard undone > 0, case .quit = end else { return end }
    return .unfinished
  }
}
