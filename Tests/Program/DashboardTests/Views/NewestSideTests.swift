import CloudKit
import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Conflicts that the side resolves which was edited last.
struct NewestSideTests {
  private typealias Session = AppTests.Session

  private static func conflict(_ id: Int64, serverAt: Int64) -> Conflict {
    let operation = Sample.queued(id)
    let server = MirrorRecord(
      key: operation.key,
      type: "Order",
      changeTag: "1b",
      fields: ["total": .double(15), "note": .string("theirs")],
      modifiedAt: serverAt
    )
    return Conflict(operation, server: server)
  }

  private static func onConflicts(_ conflicts: [Conflict]) -> Session {
    var session = Session(
      Sample.world(Size(width: 120, height: 24)) { world in
        world.data.conflicts = Window(total: conflicts.count, offset: 0, rows: conflicts)
        world.data.status?.queue.conflicts = conflicts.count
      }
    )
    session.type("c")
    return session
  }

  @Test(arguments: [
    (Sample.now - 6_000, "Server 03:03, newer", "nothing; the server's record is kept"),
    (Sample.now - 600_000, "Local 03:02, newer", "note = ours,  total = 20.0"),
  ])
  func `M takes the side that was edited last, which the header names, and shows what is saved`(
    _ serverAt: Int64,
    _ header: String,
    _ saved: String
  ) {
    let conflict = Self.conflict(1, serverAt: serverAt)
    var session = Self.onConflicts([conflict])
    #expect(session.text.contains(header))
    session.type("M")
    #expect(session.text.contains("Will be saved:  \(saved)"), "\(session.text)")
    session.type(.enter)

    guard case .resolve(1, let take, let fields, _, _)? = session.commands.first else {
      Issue.record("the conflict is resolved")
      return
    }
    #expect(conflict.resolution(take, fields) == conflict.resolution(.newest))
  }

  @Test func `after M, A takes the newer side of each conflict`() {
    let conflicts = [Self.conflict(1, serverAt: Sample.now - 6_000), Self.conflict(2, serverAt: Sample.now - 600_000)]
    var session = Self.onConflicts(conflicts)
    session.type("MA")
    #expect(session.text.contains("note: newest, total: newest"))
    session.type("y")

    guard case .resolveAll(let versions, let take, let fields, _)? = session.commands.first else {
      Issue.record("the conflicts are resolved")
      return
    }
    #expect(versions.keys.sorted() == [1, 2])
    for conflict in conflicts { #expect(conflict.resolution(take, fields) == conflict.resolution(.newest)) }
  }
}
