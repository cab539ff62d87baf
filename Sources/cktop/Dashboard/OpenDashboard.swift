import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Foundation

/// `cktop` alone: the dashboard on the configured store. It drives the store if there is a credential and nobody else
/// drives; else it watches and commands.
struct OpenDashboard: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dashboard",
    abstract: "The dashboard on the configured store (what cktop alone does)."
  )

  @Option(help: "The theme, before CKTOP_THEME and the configuration file; see cktop themes.")
  var theme: String?

  @OptionGroup var options: StoreOptions

  @MainActor
  func run() async throws {
    let session = try Session(options)
    guard session.settings.isConfigured else {
      throw CommandFailure.usage("no container is configured; try cktop demo, or name one with --container")
    }
    let appearance = try Appearance(theme: theme ?? session.settings.theme?.value)
    try Appearance.requireTerminal()
    try DescriptorLimit.require()
    // Before anything is opened and any thread is started: the guard must not hold the driver's lock.
    Screen.startGuard()
    let isReadOnly = session.settings.isReadOnly.value
    let store: SyncStore
    if isReadOnly {
      guard let existing = try session.storeToRead() else {
        throw CommandFailure.usage("there is no store to look at yet; leave --read-only out to make one")
      }
      store = existing
    } else {
      store = try await session.storeToChange()
    }
    let credential = try session.credentialName()
    let engine = credential == nil || isReadOnly ? nil : try session.engine(store)
    let service = try CloudKitService(store: store, engine: engine, isReadOnly: isReadOnly)
    let setting = Dashboard.Setting(
      scope: store.scope,
      credential: credential ?? "no credential",
      url: session.settings.url.value.absoluteString,
      storePath: store.path,
      appearance: appearance
    )
    try await Dashboard(service: service, setting: setting).run().leave()
  }
}
