import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Questions before a retry that creates a deleted zone again.
struct RecreatedZoneTests {
  private typealias Session = AppTests.Session

  private static func failed(_ id: Int64, inGoneZone: Bool) -> QueueRow {
    Sample.operation(id, .failed, "order-\(id)") { row in
      row.cause = .failed(.zoneDeleted(zone: "Shop", code: "ZONE_NOT_FOUND"))
      row.recreatesZone = inGoneZone
    }
  }

  private static let warning = "This creates zone Shop again on the server."

  /// The question on the screen.
  private func question(_ session: Session) -> String {
    (session.top as? Question)?.text(session.world) ?? "none"
  }

  @Test func `R says that it creates a deleted zone again, where the list has such changes`() {
    var data = Sample.data([Self.failed(1, inGoneZone: true)])
    data.queue?.recreated = ["Shop"]
    var session = Session(Sample.world { $0.data = data })
    session.type("R")
    #expect(question(session) == "Retry 1 failed or retrying change? \(Self.warning)")

    session = Session()
    session.type("R")
    #expect(question(session) == "Retry 2 failed or retrying changes?")
  }

  @Test func `r asks first where it creates a deleted zone again, and only there`() {
    let rows = [Self.failed(1, inGoneZone: true), Self.failed(2, inGoneZone: false), Self.failed(3, inGoneZone: false)]
    var session = Session(Sample.world { $0.data = Sample.data(rows) })
    session.type("r")
    #expect(session.commands.isEmpty && question(session) == "Retry this change? \(Self.warning)")
    session.type("y")
    #expect(session.commands == [.perform(.retry, .ids([1]))])

    session.type("  r")
    #expect(question(session) == "Retry 2 changes? \(Self.warning)")
    session.type("n")
    #expect(session.text.contains("2 marked"))
    session.type("ry")
    session.send(.receipt(Receipt(session.commands[1])))
    #expect(session.commands.last == .perform(.retry, .ids([1, 2])) && !session.text.contains("2 marked"))

    session.type("r")
    #expect(session.commands.last == .perform(.retry, .ids([3])))
  }

  @Test func `an operation in full asks as well, and so does a cause`() {
    var detail = Sample.detail
    detail.recreatesZone = true
    var session = Session(Sample.world { $0.data.operation = ViewData.Read(11, detail) })
    session.type(.enter)
    session.type("r")
    #expect(question(session).hasSuffix(Self.warning) && session.commands.isEmpty)

    var cause = QueueCause(
      state: .failed,
      code: "ZONE_NOT_FOUND",
      message: "gone",
      cause: .ready,
      count: 2,
      first: 1,
      oldestAt: Sample.now,
      nextAttemptAt: nil
    )
    cause.recreated = ["Shop"]
    session = Session(Sample.world { $0.data.causes = [cause] })
    session.type("Cr")
    #expect(question(session).hasSuffix(Self.warning))
  }
}
