import CktopDemo
import CloudService
import CloudSync
import DisplaySupport
import TerminalUI
import Testing

@testable import Dashboard
@testable import Terminal
@testable import cktop

/// The demo's cards on the real demo: its server, its store and its engine, with a display that records.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct DemoTourTests {
  @Test func `whoever presses what each card says gets through all of them`() async throws {
    let world = try await DemoWorld(seed: 1)
    let service = try CloudKitService(store: world.store, engine: world.engine)
    let runtime = try Self.runtime(world, service)
    runtime.start()

    while let text = runtime.app.tour.text(.standard) {
      let place = runtime.app.tour.place
      for key in Self.keys(in: text) {
        runtime.send(.keys([key]))
        // Whoever reads the screen types only when it shows the rows.
        try await until { runtime.app.held.isEmpty }
      }
      try await until { runtime.app.tour.place > place }
    }

    #expect(runtime.app.tour.place == Tour.count)
    runtime.stop()
    await service.stop()
    await world.close()
  }

  @Test(
    arguments: [
      ("Press D, then x: a record that the server rejects.", "Dx"),
      ("Press e on it: set number=5, then r sends it again.", "e\n\u{15}\u{15}number=5\nr"),
      ("Press c; S takes the server's side, Enter resolves.", "cS\n"),
      ("? shows the keys, : finds a command. Try one.", "?:"),
      ("Press / in a list and type a word.", "/word"), ("Watch the queue: 600 changes are sent.", ""),
    ]
  )
  func `the keys of a card are those that it names`(_ text: String, _ keys: String) {
    let expected = keys.map { $0 == "\n" ? Key.enter : $0 == "\u{15}" ? .ctrl("u") : .character($0) }
    #expect(Self.keys(in: text) == expected)
  }

  /// Waits for a state; the suite's time limit ends it.
  private func until(_ holds: () -> Bool) async throws {
    while !holds() {
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  private static func runtime(_ world: DemoWorld, _ service: CloudKitService) throws -> Runtime {
    let theme = try Theme.load(named: "midnight", directories: [])
    let setting = Dashboard.Setting(
      scope: world.store.scope,
      credential: "webAuth",
      url: world.url,
      storePath: world.store.path,
      theme: theme,
      preferences: Preferences(),
      isMonochrome: false,
      syncs: true,
      message: { "\($0)" },
      report: { _ in },
      reload: { (theme, Preferences()) },
      nextTheme: { _ in (nil, []) },
      remember: { _ in },
      export: { _, _ in "" }
    )
    return Runtime(service, setting, RecordingDisplay(size: Size(width: 80, height: 24)), demo: world)
  }

  /// The keys that a card names, in their order; an assignment is typed into the line that Enter opens.
  private static func keys(in text: String) -> [Key] {
    text.split(separator: " ").flatMap { word -> [Key] in
      let name = word.count > 1 ? String(word.prefix { !",;:.".contains($0) }) : String(word)
      if name == "Enter" { return [.enter] }
      if name == "Esc" { return [.escape] }
      if name == "word" { return name.map(Key.character) }
      if name.contains("=") { return [.enter, .ctrl("u"), .ctrl("u")] + name.map(Key.character) + [.enter] }
      // The article is no key.
      return name.count == 1 && name != "a" ? name.map(Key.character) : []
    }
  }
}
