import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Quitting while this dashboard is the one that syncs.
struct QuitTests {
  private typealias Session = AppTests.Session

  private static func syncing(_ change: (inout World) -> Void = { _ in }) -> Session {
    Session(
      Sample.world { world in
        world.syncing = .always
        world.data.status?.syncingProcess?.pid = world.pid
        change(&world)
      }
    )
  }

  @Test func `q asks while this dashboard is the one that syncs and changes are unsent`() {
    var session = Self.syncing()
    session.type("q")
    #expect(
      (session.top as? Question)?.text(session.world)
        == "Stop syncing and quit? 3 changes are unsent and no other process syncs."
    )
    session.type(.enter)
    #expect(session.effects.isEmpty && !session.app.hasEnded)
    session.type("qy")

    #expect(session.effects == [.quit(.quit)])
  }

  @Test func `q ends at once where nothing is lost by that, and Ctrl-C always`() {
    var sessions = [
      Self.syncing { $0.data = Sample.data([]) }, Self.syncing { $0.syncing = .off },
      Self.syncing { $0.data.status?.syncingProcess?.pid = 4711 },
      Self.syncing { $0.faults = [DemoHint(key: "n", label: "network")] },
    ]
    for index in sessions.indices {
      sessions[index].type("q")
      #expect(sessions[index].effects == [.quit(.quit)])
    }
    var session = Self.syncing()
    session.type(.ctrl("c"))
    #expect(session.app.hasEnded)
  }
}
