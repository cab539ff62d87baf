import CloudKit
import Dispatch
import DisplaySupport
import Facts
import Foundation
import Synchronization
import TerminalUI
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync
@testable import Dashboard
@testable import Terminal

/// The runtime with a service over a real store and a display that records.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct RuntimeTests {
  private nonisolated static let scope = SyncStore.Scope(
    container: "iCloud.test",
    environment: "development",
    database: .private
  )
  private let folder: TemporaryFolder
  private let store: SyncStore
  private let display = RecordingDisplay(size: Size(width: 80, height: 24))
  private let chosen = Themes()

  init() throws {
    folder = try TemporaryFolder()
    store = try SyncStore(path: folder.path("store.sqlite"), scope: Self.scope)
    _ = try store.enqueue(
      ["one", "two", "three"].map { Change(RecordKey(ZoneKey(zone: "z"), $0), .save(type: "Row", FieldChanges())) }
    )
  }

  @MainActor
  private final class Clock {
    var now = Int64(Date().timeIntervalSince1970 * 1000)
  }

  /// The themes that were to be remembered.
  private final class Themes: Sendable {
    let names = Mutex<[String]>([])
  }

  private final class Ends {
    var all: [Dashboard.End] = []
  }

  private func runtime(
    _ service: CloudKitService,
    notice: String? = nil,
    clock: Clock? = nil,
    export: @escaping @Sendable (Export, @escaping Dashboard.Setting.ExportProgress) throws -> String = { _, _ in "" }
  ) throws -> Runtime {
    let theme = try Theme.load(named: "midnight", directories: [])
    let chosen = chosen
    var setting = Dashboard.Setting(
      scope: Self.scope,
      credential: "webAuth",
      url: "http://127.0.0.1",
      storePath: store.path,
      theme: theme,
      preferences: Preferences(),
      notice: notice,
      isMonochrome: false,
      message: { "\($0)" },
      report: { _ in },
      reload: {
        var preferences = Preferences()
        preferences.keys = try KeyMap(own: ["theme": ["T"]])
        return (theme, preferences)
      },
      nextTheme: { _ in (try? Theme.load(named: "paper", directories: []), []) },
      remember: { name in chosen.names.withLock { $0.append(name) } },
      export: export
    )
    setting.storeOptions = "--profile prod"
    return clock.map { clock in Runtime(service, setting, display, now: { clock.now }) }
      ?? Runtime(service, setting, display)
  }

  private func opening() -> StoreOpening {
    let store = store
    return StoreOpening(toRead: { store }, toChange: { store }, toSync: nil)
  }

  /// Waits until the last frame shows what is wanted; the suite's time limit bounds it.
  private func until(_ isTrue: () -> Bool) async {
    while !isTrue() { await Task.yield() }
  }

  private var text: String { display.frames.last?.grid.text ?? "" }

  @Test func `a store that may not be read is unreadable, and none is offered to be made`() async throws {
    let refusal = StoreError.denied("/s.sqlite", place: "/var/lib/cktop", owner: "cktop", user: "ben")
    let refused = StoreOpening(toRead: { throw refusal }, toChange: { throw refusal }, toSync: nil)
    let service = try CloudKitService(opening: refused, readsAtOnce: false)
    let runtime = try runtime(service)
    runtime.start()

    await until { runtime.world.readFailure != nil }
    #expect(runtime.world.verdict?.kind == .unreadable)
    await until { text.contains("unreadable") }
    #expect(!text.contains("No store yet"))
  }

  @Test func `a notice about the settings is shown from the start`() async throws {
    let service = try CloudKitService(opening: opening(), readsAtOnce: false)
    // A notice is shown for a time.
    let runtime = try runtime(service, notice: "mine.toml:5 is wrong", clock: Clock())
    runtime.start()

    await until { text.contains("Row/three") }
    #expect(text.contains("mine.toml:5 is wrong"))
  }

  @Test func `the first frame is shown before the store is opened`() async throws {
    let opened = Mutex(0)
    let store = store
    let opening = StoreOpening(
      toRead: {
        opened.withLock { $0 += 1 }
        return store
      },
      toChange: { store },
      toSync: nil
    )
    let service = try CloudKitService(opening: opening, readsAtOnce: false)
    let runtime = try runtime(service)
    #expect(opened.withLock { $0 } == 0)
    runtime.start()
    #expect(display.frames.first?.grid.text.contains("loading…") == true)
    await until { text.contains("Row/three") }

    #expect(opened.withLock { $0 } == 1)
    runtime.stop()
  }

  @Test func `an idle dashboard shows nothing again, and only midnight is waited for`() async throws {
    let runtime = try runtime(CloudKitService(opening: opening(), readsAtOnce: false))
    runtime.start()
    await until { text.contains("Row/three") && runtime.wakesAt.map { $0 > runtime.world.now + 1_000 } ?? false }
    let shown = display.frames.count
    // What is not a change of the store reads and shows nothing.
    for _ in 1...100 { await Task.yield() }

    #expect(display.frames.dropFirst(shown).allSatisfy { $0 == display.frames[shown - 1] })
    let now = runtime.world.now
    #expect(runtime.wakesAt == now + Format().untilMidnight(now))
    runtime.stop()
  }

  @Test func `confirming a pause and quitting in one read pauses, 50 of 50`() async throws {
    for round in 1...50 {
      let service = try CloudKitService(opening: opening(), readsAtOnce: false)
      let runtime = try runtime(service)
      let ends = Ends()
      runtime.ended = { ends.all.append($0) }
      runtime.start()
      // Each round shows the state that the one before has left.
      await until { runtime.world.status?.isPaused == (round % 2 == 0) }
      for keys in round % 2 == 1 ? ["p", "yq"] : ["pq"] { runtime.send(.keys(keys.map(Key.character))) }
      #expect(ends.all == [.quit])
      runtime.stop()
      #expect(await service.drain(within: .seconds(60)) == 0)

      #expect(try store.status().isPaused == (round % 2 == 1))
    }
  }

  @Test func `the message about a command has the command line that does the same`() async throws {
    let runtime = try runtime(CloudKitService(opening: opening(), readsAtOnce: false))
    runtime.start()
    await until { text.contains("Row/three") }
    for key in "py" { runtime.send(.keys([.character(key)])) }
    await until { !runtime.app.notices.isEmpty }
    #expect(runtime.app.notices.map(\.commandLine) == ["cktop queue pause --all --profile prod"])
    runtime.stop()
  }

  @Test func `a question is not answered by a key of the reading that opened it`() async throws {
    let service = try CloudKitService(opening: opening(), readsAtOnce: false)
    let runtime = try runtime(service)
    runtime.start()
    await until { text.contains("Row/three") }
    runtime.send(.keys([.character("3")]))
    runtime.send(.keys([.character("d"), .character("y")]))
    #expect(runtime.app.isAsked)
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try store.status().queue.total == 3)

    runtime.send(.keys([.character("y")]))
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try store.status().queue.total == 2)
    runtime.stop()
  }

  @Test(arguments: ["deploy", "dyyyyy"])
  func `text that is pasted without a mark confirms no question`(text pasted: String) async throws {
    let service = try CloudKitService(opening: opening(), readsAtOnce: false)
    let clock = Clock()
    let runtime = try runtime(service, clock: clock)
    runtime.start()
    await until { text.contains("Row/three") }
    runtime.send(.keys([.character("!"), .character("3")]))

    runtime.send(.keys(pasted.map(Key.character)))
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try store.status().queue.total == 3)

    // The end of the text may come in a read of its own.
    runtime.send(.keys([.character("y")]))
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try store.status().queue.total == 3)

    // Typed, the same keys do it.
    clock.now += 1_000
    runtime.send(.keys([.escape, .escape]))
    runtime.send(.keys([.character("d")]))
    runtime.send(.keys([.character("y")]))
    #expect(await service.drain(within: .seconds(60)) == 0)
    #expect(try store.status().queue.total == 2)
    runtime.stop()
  }

  @Test func `a file in the place of the store is shown with a notice, and a question about the former is closed`()
    async throws
  {
    func make(_ file: String, _ name: String) throws -> String {
      let path = folder.path(file)
      let store = try SyncStore(path: path, scope: Self.scope)
      _ = try store.enqueue([Change(RecordKey(ZoneKey(zone: "z"), name), .save(type: "Row", FieldChanges()))])
      return path
    }
    let (path, other) = (try make("shown.sqlite", "before"), try make("other.sqlite", "after"))
    let open = { @Sendable (access: StoreAccess) in try SyncStore(path: path, scope: Self.scope, access: access) }
    let opening = StoreOpening(toRead: { try open(.reading) }, toChange: { try open(.changing) }, toSync: nil)
    let runtime = try runtime(CloudKitService(opening: opening, readsAtOnce: false))
    runtime.start()
    await until { text.contains("Row/before") }
    runtime.send(.keys([.character("d")]))
    #expect(text.contains("Discard the unsent change"))
    try #require(rename(other, path) == 0)
    await until { text.contains("Row/after") }

    #expect(text.contains("The store file was replaced") && !text.contains("Discard the unsent change"))
    runtime.stop()
  }

  @Test(arguments: [("", 1), ("a", 1), ("a\nb", 2), ("a\r\nb", 2), ("a\r\nb\nc\r\n\r\nd", 5)])
  func `lines are counted whatever ends them`(_ text: String, _ count: Int) { #expect(text.lineCount == count) }

  @Test func `what a key does is said, and what is copied or written reaches its place`() async throws {
    let written = Mutex<[Export]>([])
    // The export ends after its progress was drawn.
    let isDrawn = DispatchSemaphore(value: 0)
    let runtime = try runtime(CloudKitService(opening: opening(), readsAtOnce: false)) { export, progress in
      progress(1200, 3000)
      isDrawn.wait()
      written.withLock { $0.append(export) }
      return "Wrote 3 lines"
    }
    runtime.start()
    await until { text.contains("Row/three") }
    runtime.send(.keys([.character("y")]))
    await until { text.contains("Copied ") }
    runtime.send(.keys([.character("x")]))
    await until { text.contains("Exporting 1,200 of 3,000…") }
    isDrawn.signal()
    await until { text.contains("Wrote 3 lines") }
    runtime.send(.keys([.character("t")]))
    await until { text.contains("Theme paper") }
    runtime.send(.keys([.ctrl("l")]))
    for key in "dy" { runtime.send(.keys([.character(key)])) }
    await until { text.contains("Discarded 1") && !text.contains("Row/one") }
    runtime.send(.keys([.character("u")]))
    await until { text.contains("Restored 1 change") && text.contains("Row/one") }

    #expect(display.copies.count == 1 && display.copies[0].contains("Save Row one in zone z"))
    #expect(written.withLock { $0 } == [.allOperations(QueueListing(), except: [])])
    #expect(display.calls == [.reportMouse(true), .redraw])
    #expect(display.frames.last?.theme.name == "paper")
    #expect(chosen.names.withLock { $0 } == ["paper"])
    runtime.stop()
  }

  @Test func `opening the Undo view marks what was dropped as seen, and opens the store for that alone`() async throws {
    let store = store
    let changed = Mutex(0)
    let opening = StoreOpening(
      toRead: { store },
      toChange: {
        changed.withLock { $0 += 1 }
        return store
      },
      toSync: nil
    )
    let runtime = try runtime(CloudKitService(opening: opening, readsAtOnce: false))
    runtime.start()
    await until { text.contains("Row/three") }
    runtime.send(.keys([.character("8")]))
    await until { text.contains("Nothing was dropped") }
    #expect(changed.withLock { $0 } == 0)

    try store.write { ledger in
      let operation = try #require(try ledger.operation(1))
      try ledger.add(DroppedChange(operation.changes, of: operation, .serverKept(fields: ["x"]), at: 0))
      try ledger.add(DroppedChange(FieldChanges(values: ["x": .int64(1)]), of: operation, .serverKept(), at: 0))
    }
    await until { runtime.world.status?.dropped == StoreStatus.Dropped(unseen: 0, total: 1, seenThrough: 2) }

    #expect(changed.withLock { $0 } == 1)
    #expect(text.contains("▲") && !text.contains("Marked"))
    #expect(try store.status().dropped.unseen == 0)
    runtime.stop()
  }
}
