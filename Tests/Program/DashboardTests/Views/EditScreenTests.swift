import CloudKit
import CloudService
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The screen on which a failed change is edited.
struct EditScreenTests {
  private typealias Session = AppTests.Session

  private static func editing() -> Session {
    var session = Session(
      Sample.world { world in
        world.data.operation = ViewData.Read(11, Sample.detail)
        world.data.fieldTypes = ViewData.Read("Order", [:])
      }
    )
    session.type("e")
    session.send(.changed)
    return session
  }

  private static func version() throws -> SyncStore.EditedVersion {
    let operation = try #require(Sample.detail.operation)
    return SyncStore.EditedVersion(
      operation: operation.version(serverTag: nil),
      serverTag: .some(Sample.detail.server?.changeTag)
    )
  }

  @Test func `a save without edits names the key that edits`() throws {
    var session = Self.editing()
    session.world.preferences.keys = try KeyMap(own: ["editField": ["F9"]])
    session.type("r")
    #expect(session.text.contains("F9 edits "))
  }

  @Test func `an edited field is saved with the version that was shown, and sent again`() throws {
    var session = Self.editing()
    #expect(session.top is EditScreen)
    session.type(.enter, .ctrl("u"), .ctrl("u"))
    session.type("note=a better note")
    session.type(.enter)
    #expect(session.text.contains("1 field edited, not saved") && session.commands.isEmpty)
    session.type("r")

    let edits = [try FieldAssignment(parsing: "note=a better note")]
    #expect(session.commands == [.edit(11, edits, version: try Self.version())])
    var receipt = Receipt(.edit(11, edits, version: try Self.version()))
    receipt.result.changed = [11]
    session.send(.receipt(receipt))
    #expect(!(session.top is EditScreen) && session.app.above.isEmpty)
  }

  @Test func `a value of the wrong type stays in the line, with the reason`() {
    var session = Self.editing()
    session.type("a")
    session.type("total=much")
    session.type(.enter)
    #expect(session.text.contains("total is DOUBLE"))
    session.type(.escape)
    session.type("r")

    #expect(session.commands.isEmpty)
  }

  @Test func `the line offers the type only where no record tells it`() {
    var session = Self.editing()
    session.world.data.fieldTypes = ViewData.Read("Order", ["count": "INT64"])
    session.type(.enter)
    #expect(session.text.contains("note=ours"))
    session.type(.escape)
    session.type("a")
    session.type("count=x")
    session.type(.enter)
    #expect(session.text.contains("count is INT64"))
  }

  @Test func `no key leaves edits that are not saved without a word`() {
    for key in ["q", "1", "6"] {
      var session = Self.editing()
      session.type("a")
      session.type("note=x")
      session.type(.enter)
      session.type(key)
      #expect(session.top is EditScreen && session.app.notice?.isError == true, "\(key)")
    }
  }

  @Test func `edits that are not saved are dropped only by the second Escape`() {
    var session = Self.editing()
    session.type("a")
    session.type("note=x")
    session.type(.enter, .escape)
    #expect(session.top is EditScreen)
    session.type(.escape)
    #expect(!(session.top is EditScreen) && session.commands.isEmpty)
  }

  @Test func `only a failed save is edited`() {
    var session = Session()
    session.type("je")

    #expect(!(session.top is EditScreen) && session.app.notice?.text.hasPrefix("Only a failed change") == true)
  }
}
