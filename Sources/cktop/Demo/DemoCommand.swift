import ArgumentParser
import CloudService
import CloudSync
import Foundation
import TerminalUI

/// `cktop demo`: the dashboard on an embedded emulator, with simulated devices and faults to play with.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "The dashboard on an embedded emulator with simulated devices and faults to play with.",
    discussion: """
      No account and no network are needed. The Account pane shows the store and the URL, so that a second shell can
      look: cktop status --store FILE --container \(DemoWorld.container) --database private. Everything is removed at the end.
      """
  )

  @Option(help: "Starts the simulated devices from this number; the same number, the same edits.")
  var seed: UInt64 = 1

  @Option(
    help: ArgumentHelp("Runs that long without a terminal, then prints the JSON of status.", valueName: "seconds")
  )
  var headless: Double?

  @Option(help: "The theme, before CKTOP_THEME and the configuration file; see cktop themes.")
  var theme: String?

  @MainActor
  func run() async throws {
    try DescriptorLimit.require()
    if let headless {
      guard headless >= 0, headless <= 86_400 else { throw CommandFailure.usage("--headless takes 0 to 86400 seconds") }
      return try await runHeadless(headless)
    }
    let appearance = try Appearance(theme: theme ?? Session.theme())
    try Appearance.requireTerminal()
    // Before anything is opened and any thread is started: the guard must not hold the driver's lock.
    Screen.startGuard()
    let world = try await DemoWorld(seed: seed)
    let end: Dashboard.End
    do {
      let service = try CloudKitService(store: world.store, engine: world.engine)
      let setting = Dashboard.Setting(
        scope: world.store.scope,
        credential: "webAuth",
        url: world.url,
        storePath: world.store.path,
        appearance: appearance,
        syncs: true
      )
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
      Data("cktop: the demo's store is \(world.store.path), its cloud \(world.url)\n".utf8)
    )
    let service = try CloudKitService(store: world.store, engine: world.engine)
    service.start()
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    while clock.now < end {
      world.tick(isPaused: false)
      try await clock.sleep(until: min(end, clock.now + .milliseconds(250)))
    }
    let status = try world.store.status()
    await service.stop()
    let object = StatusObject(
      status: status,
      storePath: world.store.path,
      scope: world.store.scope,
      account: AccountState(status, credential: "webAuth")
    )
    OutputStream.standard.line(object.json.line)
    await world.close()
  }
}
