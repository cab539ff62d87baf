import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Values that are longer than a line.
struct WholeValueTests {
  private typealias Session = AppTests.Session

  @Test func `w shows a value of 10 kB in a record and in an operation, and scrolls to its end`() {
    let long = String(repeating: "0123456789 ", count: 1000) + "the end\u{1B}[31m"
    var (detail, record) = (Sample.detail, Sample.recordDetail)
    detail.operation?.changes["note"] = .string(long)
    record.row?.record.fields["note"] = .string(long)
    let world = Sample.world { world in
      world.data.operation = ViewData.Read(11, detail)
      world.data.record = ViewData.Read(RecordKey(Sample.zone, "order-1"), record)
    }
    for keys in ["\n", "\n\n"] {
      var session = Session(world)
      for key in keys { session.type(key == "\n" ? .enter : .character(key)) }
      session.type("w")
      #expect((session.top as? ValueScreen)?.heading == "All fields")
      #expect((session.top as? ValueScreen)?.parts.contains { $0.text == long } == true)
      for _ in 0..<60 { session.type(.pageDown) }
      session.type(.pageUp)
      session.type(.end)
      for _ in 0..<60 where !session.text.contains("the end") { session.type(.pageUp) }
      #expect(session.text.contains("the end␛[31m"))
    }
  }

  @Test func `w shows the selected field alone`() {
    var session = Session(Sample.world { $0.data.operation = ViewData.Read(11, Sample.detail) })
    session.type(.enter)
    for _ in 0..<20 where (session.top as? ValueScreen) == nil {
      session.type("jw")
      if (session.top as? ValueScreen)?.heading == "All fields" { session.type(.escape) }
    }

    #expect((session.top as? ValueScreen)?.heading == "note")
    session.type("?")
    #expect(session.top is HelpScreen && session.text.contains("Keys of the window"))
  }
}
