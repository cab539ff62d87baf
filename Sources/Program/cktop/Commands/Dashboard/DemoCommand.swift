import ArgumentParser
import CktopDemo
import CloudService
import CloudSync
import Dashboard
import Facts
import Foundation
import Terminal
import TerminalUI

/// `cktop demo`: the dashboard on an embedded emulator, with simulated devices and faults.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show the dashboard on an embedded emulator with simulated devices and faults.",
    discussion: """
      Needs no account and no network. All data is removed at the end. The Account pane shows the store and the URL, \
      so that you can look at them from a second shell:

        cktop status --store FILE --container \(DemoWorld.container) --database private

      With --url URL, and CLOUDKIT_API_TOKEN=any CLOUDKIT_WEB_AUTH_TOKEN=ana in its environment, cktop doctor checks them.
      """
  )

  @Option(
    parsing: .unconditional,
    help: "The seed of the simulated devices, from 0: the same seed makes the same edits."
  )
  var seed: UInt64 = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Run for this long without a terminal, then print the JSON of status.", valueName: "seconds")
  )
  var headless: Double?

  @Option(.theme) var theme: String?

  func validate() throws {
    if let headless, !(0...86_400).contains(headless) {
      throw ValidationError("--headless must be between 0 and 86400 seconds")
    }
  }

  @MainActor
  func run() async throws {
    if let headless {
      // A misspelled theme is refused without a terminal too.
      if let theme { _ = try Appearance(theme: theme) }
      return try await runHeadless(headless)
    }
    let appearance = try Appearance(theme: theme, starts: true)
    try Appearance.requireTerminal()
    // Before anything is opened and any thread is started: the guard must not hold the lock of the syncing process.
    TerminalScreen.startGuard()
    let world = try await DemoWorld(seed: seed)
    let end: Dashboard.End
    do {
      let store = world.store
      let service = try CloudKitService(store: store, engine: world.engine)
      var setting = Dashboard.Setting(
        scope: world.store.scope,
        credential: "webAuth",
        url: world.url,
        storePath: world.store.path,
        appearance: appearance,
        syncs: true,
        reload: { [theme] in try Appearance(theme: theme) },
        reader: { StoreReader(store, Redaction()) }
      )
      setting.storeOptions = "--store \(world.store.path.asArgument)"
      world.start()
      end = try await Dashboard(service: service, setting: setting, demo: world).run()
    } catch {
      await world.close()
      throw error
    }
    await world.close()
    try end.leave()
  }

  @MainActor
  private func runHeadless(_ seconds: Double) async throws {
    let world = try await DemoWorld(seed: seed)
    FileHandle.standardError.write(
      Data("cktop: the demo uses the store \(world.store.path) and the server \(world.url)\n".utf8)
    )
    let service = try CloudKitService(store: world.store, engine: world.engine)
    service.start()
    world.start()
    try await Task.sleep(for: .seconds(seconds))
    let status = try world.store.status()
    await service.stop()
    let object = StatusObject(
      status: status,
      storePath: world.store.path,
      scope: world.store.scope,
      account: AccountState(status, credential: "webAuth")
    )
    OutputFile.standard.line(object.json.line)
    await world.close()
  }
}

extension DemoWorld: DemoControls {
  var hints: [DemoHint] {
    faults.map { DemoHint(key: $0.key, label: $0.label) }
  }
}
