import CloudKit
import Facts
import TerminalUI
import Testing

@testable import CloudService
@testable import CloudSync
@testable import Dashboard

/// The way from any screen to the few changes among many that set one value.
@Suite struct FindingByValueTests {
  @Test func `twelve changes among thousands are listed after ten keys, by a word of their value`() throws {
    let store = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private)
    let zone = ZoneKey(zone: "notes")
    _ = try store.enqueue(
      (1...3_000).map { number in
        let kind = number.isMultiple(of: 250) ? "special" : "plain"
        return Change(RecordKey(zone, "t\(number)"), .save(type: "Task", FieldChanges(values: ["kind": .string(kind)])))
      }
    )
    var app = App()
    var world = Sample.world()
    let keys = "3/special".map(Key.character) + [.enter]

    for key in keys {
      world.data = try ViewData.whole(of: store, app.scope(world))
      _ = app.update(.keys([key]), world)
    }
    world.data = try ViewData.whole(of: store, app.scope(world))
    _ = app.update(.changed, world)

    #expect(keys.count == 10)
    #expect(world.data.queue?.window.total == 12)
    let found = stride(from: 250, through: 3_000, by: 250).map { "t\($0)" }
    #expect(world.data.queue?.window.rows.map(\.key.name) == found)
  }
}
