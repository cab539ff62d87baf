import CloudService
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The cards of the demo's tour.
struct TourTests {
  private typealias Session = AppTests.Session

  private static let faults = [DemoHint(key: "x", label: "bad record"), DemoHint(key: "n", label: "network off or on")]

  private static func world(_ change: (inout World) -> Void = { _ in }) -> World {
    Sample.world(Size(width: 120, height: 36)) { world in
      world.faults = faults
      change(&world)
    }
  }

  @Test func `a card goes on when it was done, and the key skips it`() {
    // Few changes are left, and one has failed: the first two cards are done.
    var session = Session(Self.world())
    session.send(.changed)
    #expect(session.app.tour.place == 2 && session.text.contains("Try 3/\(Tour.count)"))
    session.type("!")
    #expect(session.app.tour.place == 3)
    session.type(.ctrl("n"))
    // The card after it waits for a conflict, and there is one.
    #expect(session.app.tour.place == 5)
  }

  @Test func `every card fits into 80 columns`() {
    var tour = Tour()
    for _ in 0..<Tour.count {
      #expect((tour.text(.standard) ?? "").count <= 56, "\(tour.text(.standard) ?? "")")
      tour.skip()
    }
  }

  @Test func `what was done before its card does not count`() {
    var session = Session(Self.world { $0.data.status?.queue.total = 600 })
    session.type("!!?")
    session.type(.escape)
    #expect(session.app.tour.place == 0)
  }

  @Test func `a command that failed is not done`() {
    var tour = Tour()
    for _ in 0..<3 { tour.skip() }
    tour.record(
      Receipt(.edit(1, [], version: SyncStore.EditedVersion(operation: "")), failure: CommandRefusal.readOnly)
    )
    tour.follow(Sample.status())
    #expect(tour.place == 3)
    tour.record(Receipt(.edit(1, [], version: SyncStore.EditedVersion(operation: ""))))
    // It was rejected again.
    tour.follow(Sample.status())
    #expect(tour.place == 3)
    tour.follow(Sample.status([]))
    #expect(tour.place == 4)
  }

  @Test func `the last card is followed by none, and only the demo has cards`() {
    var tour = Tour()
    for _ in 0..<Tour.count { tour.skip() }
    #expect(tour.text(.standard) == nil)
    tour.follow(Sample.status())
    #expect(tour.place == Tour.count)
    #expect(!Session(Sample.world()).text.contains("Try "))
  }

  @Test func `the palette injects the faults of the demo`() {
    var session = Session(Self.world())
    session.type(":")
    session.type("fault: bad")
    session.type(.enter)
    #expect(session.effects.contains(.injectFault("x")))
  }

  @Test(
    arguments: [
      Size(width: 40, height: 12), Size(width: 60, height: 15), Size(width: 80, height: 24),
      Size(width: 200, height: 60),
    ]
  )
  func `the card is shown whole at every usable size`(_ size: Size) {
    var session = Session(Self.world { $0.size = size })
    while let text = session.app.tour.text(.standard) {
      let words = session.text.split { $0 == "\n" || $0 == " " }.joined(separator: " ")
      #expect(words.contains("Try \(session.app.tour.place + 1)/\(Tour.count) \(text)"), "\(session.text)")
      session.type(.ctrl("n"))
    }
  }
}
