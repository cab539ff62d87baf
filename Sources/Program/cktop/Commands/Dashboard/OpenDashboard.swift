import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Dashboard
import Facts
import Foundation
import Terminal

/// `cktop` alone: the dashboard on the configured store. It only reads until a command changes or syncs something.
struct OpenDashboard: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dashboard",
    abstract: "Show the dashboard of the configured store (the default command).",
    discussion: """
      Viewing changes nothing: the store is opened read-only until the first command that changes something, and \
      nothing is synced without s (sync once), S (sync until S again) or --sync.
      """
  )

  @Flag(help: "Keep syncing from the start, as S does; creates the store if there is none.")
  var sync = false

  @Option(.theme) var theme: String?

  @OptionGroup var options: StoreOptions

  @MainActor
  func run() async throws {
    let session = try Session(options, theme: theme)
    session.masksErrors()
    guard session.settings.isConfigured else {
      throw CommandFailure.usage("no container is configured; give --container, or try cktop demo")
    }
    if sync { try session.refuseIfReadOnly() }
    let scope = try session.scope()
    let credential = try session.credentialName()
    // Throws a failure that says what to configure.
    if sync, credential == nil { _ = try session.client(scope) }
    let appearance = try Appearance(session.settings, session.settings.file, starts: true)
    try Appearance.requireTerminal()
    // Before anything is opened and any thread is started: the guard must not hold the lock of the syncing process.
    TerminalScreen.startGuard()
    if sync { try session.refuseOtherPolicy(try await session.storeToChange(toSync: true)) }
    let service = try CloudKitService(
      opening: session.opening(),
      redaction: { session.redaction },
      isReadOnly: session.settings.isReadOnly.value,
      readsAtOnce: false
    )
    var setting = Dashboard.Setting(
      scope: scope,
      credential: credential ?? "no credential",
      url: session.settings.url.value.absoluteString,
      storePath: session.storePath ?? session.settings.store?.value ?? "",
      appearance: appearance,
      hasCredential: credential != nil,
      syncs: sync,
      reload: { [theme, options] in
        let session = try Session(options, theme: theme)
        return try Appearance(session.settings, session.settings.file)
      },
      reader: { try session.reader() }
    )
    setting.storeOptions = options.words
    try await Dashboard(service: service, setting: setting).run().leave()
  }
}
