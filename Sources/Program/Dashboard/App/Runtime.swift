import CloudService
import CloudSync
import Dispatch
import Facts
import Foundation
import Terminal
import TerminalUI

/// Carries the app: messages go in, effects are run, frames go out. The only place with tasks, a timer and a display.
@MainActor
final class Runtime {
  let service: CloudKitService
  let setting: Dashboard.Setting
  private let demo: (any DemoControls)?
  let display: any Display
  private(set) var app = App()
  private(set) var world: World
  private var theme: Theme
  /// The last frame, in which a position of the mouse is looked up.
  private var lastFrame: Frame?
  private var timer: (any DispatchSourceTimer)?
  /// The moment for which the timer is armed.
  private(set) var wakesAt: Int64?
  /// The moment at which the store is read although nothing reports a write.
  private var readsAt: Int64?
  private var isSuspending = false
  /// The end of the time in which keys may belong to text that is being pasted, in milliseconds since 1970.
  private var burstEnds: Int64 = 0
  var exports: [Task<Void, Never>] = []
  let now: @MainActor () -> Int64
  /// Called once, when the app has ended.
  var ended: (@MainActor (Dashboard.End) -> Void)?

  init(
    _ service: CloudKitService,
    _ setting: Dashboard.Setting,
    _ display: any Display,
    demo: (any DemoControls)? = nil,
    now: @escaping @MainActor () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) {
    (self.service, self.setting, self.demo, self.display, self.now) = (service, setting, demo, display, now)
    theme = setting.theme
    world = World(
      now: now(),
      scope: setting.scope,
      credential: setting.credential,
      url: setting.url,
      storePath: setting.storePath,
      hasCredential: setting.hasCredential,
      isReadOnly: service.isReadOnly,
      format: setting.format,
      preferences: setting.preferences,
      faults: demo?.hints ?? []
    )
  }

  /// Draws the empty frame, then begins to read the store.
  func start() {
    service.changed = { [weak self] in self?.send(.changed) }
    service.received = { [weak self] in self?.receive($0) }
    service.replaced = { [weak self] in self?.send(.replaced) }
    updateWorld()
    app.open(world.preferences.startView)
    if world.preferences.hasMouse { display.reportMouse(true) }
    send(.changed)
    if let notice = setting.notice { say(notice, isError: true) }
    if setting.syncs { service.give(.keepSyncing) }
  }

  /// Stops following the store and the clock.
  func stop() {
    timer?.cancel()
    timer = nil
    service.changed = nil
  }

  /// Passes a message to the app, runs what it wants, and shows what it draws.
  func send(_ message: Message) {
    var messages = [message]
    if case .keys(let keys) = message {
      // The end of a paste may come in a read of its own.
      if keys.isBurst { burstEnds = now() + 300 }
      app.isBurst = now() < burstEnds
      // Each key sees the effects of the one before.
      messages = keys.typed.map { .keys([$0]) }
    }
    for message in messages {
      let isAsked = app.isAsked
      updateWorld()
      let message = pointed(message)
      for effect in app.update(message, world) { run(effect) }
      // Keys of the same reading were typed before the question was shown.
      if app.isAsked, !isAsked, messages.count > 1 { app.isBurst = true }
    }
    updateWorld()
    service.watch(app.scope(world))
    guard !app.hasEnded else { return }
    let frame = app.draw(world)
    lastFrame = frame
    display.present(frame.grid, theme: theme, cursor: frame.cursor)
    arm()
  }

  /// Returns the target of the mouse, by the frame that is shown.
  private func pointed(_ message: Message) -> Message {
    guard case .keys(let keys) = message, case .mouse(let mouse)? = keys.first else { return message }
    return lastFrame?.target(at: mouse.position).map { .pointed(mouse.action, $0) } ?? .changed
  }

  private func updateWorld() {
    world.now = now()
    world.data = service.data
    let freshFor = world.preferences.freshFor
    world.data.status?.freshFor = freshFor
    (world.size, world.glyphs) = (display.size, display.glyphs)
    world.syncing = service.syncing
    world.progress = service.progress
    world.readFailure = service.readFailure.map { service.redact(setting.message($0).sentence) }
    world.syncFailure = service.syncFailure.map { service.redact(setting.message($0)) }
  }

  private func receive(_ receipt: Receipt) {
    send(.receipt(receipt))
    // The person did not give this one.
    if case .markDroppedSeen = receipt.command, receipt.failure == nil { return }
    let line = receipt.commandLine.map { "\($0) \(setting.storeOptions)" }
    say(receipt.text(setting.message), isError: receipt.isError, line?.trimmingCharacters(in: .whitespaces))
  }

  func say(_ text: String, isError: Bool, _ commandLine: String? = nil) {
    // After the end the terminal is that of the shell again.
    guard !app.hasEnded else { return setting.report(service.redact(text)) }
    send(.said(service.redact(text), isError: isError, commandLine: commandLine.map(service.redact)))
  }

  // MARK: - The clock

  /// Arms the timer for the next moment at which something shown changes by itself; while nothing will, there is no
  /// timer.
  private func arm() {
    // Without a store to follow nothing reports what others write.
    let isBlind = !service.reportsWrites || service.readFailure != nil
    let pending = readsAt.flatMap { $0 > world.now ? $0 : nil } ?? .max
    readsAt = isBlind ? min(pending, world.now + 1_000) : App.nextReading(world)
    let wake = [app.nextWake(world), readsAt].compactMap { $0 }.min()
    guard wake != wakesAt else { return }
    wakesAt = wake
    timer?.cancel()
    timer = nil
    guard let wake else { return }
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.tick() } }
    // Wall time: a machine that slept must not show yesterday.
    timer.schedule(wallDeadline: .now() + .milliseconds(Int(max(1, wake - world.now))), leeway: .milliseconds(20))
    timer.activate()
    self.timer = timer
  }

  private func tick() {
    wakesAt = nil
    if let due = readsAt, due <= now() { service.refresh(force: true) }
    send(.tick)
  }

  // MARK: - Effects

  private func run(_ effect: Effect) {
    switch effect {
    case .give(let command): service.give(command)
    case .stopSyncing: service.stopSyncing()
    case .copy(let text): copy(text)
    case .copyTicket(let id): copyTicket(id)
    case .export(let export): write(export)
    case .nextTheme: nextTheme()
    case .reload: reload()
    case .redraw: display.redraw()
    case .suspend(let wholeGroup): suspend(wholeGroup: wholeGroup)
    case .injectFault(let key): if let said = demo?.press(key) { later { $0.say(said, isError: false) } }
    case .quit(let end): ended?(end)
    }
  }

  /// Runs something after the present message.
  func later(_ body: @escaping @MainActor (Runtime) -> Void) {
    DispatchQueue.main.async { [weak self] in
      MainActor.assumeIsolated {
        guard let self else { return }
        body(self)
      }
    }
  }

  private func nextTheme() {
    let (next, unreadable) = setting.nextTheme(theme.name)
    if let next {
      theme = next
      // The demo and a reader leave nothing behind.
      if demo == nil, !world.isReadOnly { setting.remember(next.name) }
    }
    let broken =
      unreadable.isEmpty ? "" : "; \(unreadable.joined(separator: ", ")) cannot be read, see cktop themes show"
    let name = theme.name
    later { $0.say("Theme \(name)\(broken)", isError: !unreadable.isEmpty) }
  }

  private func reload() {
    do {
      (theme, world.preferences) = try setting.reload()
      display.reportMouse(world.preferences.hasMouse)
      later { $0.say("Reloaded the configuration file", isError: false) }
    } catch {
      let message = setting.message(error).sentence
      later { $0.say(message, isError: true) }
    }
  }

  /// Suspends the program after the given commands are done and the lease is released. Then it syncs as before.
  private func suspend(wholeGroup: Bool) {
    guard !isSuspending else { return }
    isSuspending = true
    let syncing = service.syncing
    Task {
      async let hasStopped = service.stop(within: Dashboard.patience)
      _ = await (service.drain(within: Dashboard.patience), hasStopped)
      display.suspend(wholeGroup: wholeGroup)
      isSuspending = false
      if syncing == .always, !app.hasEnded { service.give(.keepSyncing) }
      send(.changed)
    }
  }
}
