import CloudKit
import CloudService
import CloudSync
import TerminalUI
import Testing

@testable import Dashboard

/// The conflict view where the record goes on changing, and where there is little room.
struct ConflictViewTests {
  private typealias Session = AppTests.Session

  private static func world(_ size: Size, _ conflict: Conflict = Sample.conflict(1)) -> World {
    Sample.world(size) { world in
      world.data.conflicts = Window(total: 1, offset: 0, rows: [conflict])
      world.data.status?.queue.conflicts = 1
    }
  }

  /// The conflict with a new value for one of its fields.
  private static func changed(_ change: (inout Conflict) -> Void) -> Conflict {
    var conflict = Sample.conflict(1)
    change(&conflict)
    return conflict
  }

  private static let changes: [(Conflict, String)] = [
    (changed { $0.fields[0].local = .string("ours again") }, "note changed here; choose again"),
    (Sample.conflict(1, theirs: "theirs again"), "note changed on the server; choose again"),
    (
      changed { conflict in
        conflict.fields[0].local = .string("ours again")
        conflict.fields[1].server = .double(16)
      }, "note changed here, total changed on the server; choose again"
    ),
  ]

  @Test(arguments: changes)
  func `a side whose value changed is dropped with a notice until it is chosen again`(_ now: Conflict, _ notice: String)
  {
    var session = Session(Self.world(Size(width: 120, height: 24)))
    session.type("cll")
    #expect(!session.text.contains("choose"))
    session.world = Self.world(session.world.size, now)
    session.send(.changed)
    #expect(session.text.contains(notice))
    session.type(.enter)
    #expect(session.commands.isEmpty && session.app.notice?.text == notice.prefix(1).uppercased() + notice.dropFirst())

    session.type("L")
    #expect(!session.text.contains("choose again"))
    session.type(.enter)
    #expect(session.commands.count == 1)
  }

  @Test func `the footer begins with the key that resolves, once every field has a side`() {
    var session = Session(Self.world(Size(width: 80, height: 24)))
    session.type("c")
    #expect(session.app.hints(session.world).first?.label != "resolve")
    session.type("S")
    #expect(session.text.contains("\n Enter resolve  ") || session.text.contains("| Enter resolve  "))
  }

  @Test func `at 80 columns the footer has the key that resolves all alike, where there are others`() {
    func footer(_ conflicts: [Conflict], _ keys: String) -> Substring {
      var session = Session(
        Sample.world { $0.data.conflicts = Window(total: conflicts.count, offset: 0, rows: conflicts) }
      )
      session.type(keys)
      return session.text.split(separator: "\n").last ?? ""
    }
    var other = Sample.conflict(3)
    other.type = "Photo"
    let alike = [Sample.conflict(1), Sample.conflict(2), other]

    #expect(footer(alike, "cS").hasPrefix(" Enter resolve  : more  ? help  A apply to similar  l local"))
    #expect(!footer(alike, "c").contains("A apply"))
    #expect(!footer([Sample.conflict(1), other], "cS").contains("A apply"))
  }

  @Test(arguments: [40, 60, 80, 100, 120])
  func `the hint about long values is not cut`(_ width: Int) {
    var session = Session(Self.world(Size(width: width, height: 24)))
    session.type("c")
    let words = session.text.split { $0 == "\n" || $0 == "│" || $0 == "|" }.joined(separator: " ")
    #expect(words.contains("w shows"))
    #expect(words.split(separator: " ").joined(separator: " ").contains("the whole values."), "\(words)")
  }

  @Test func `an undo shows the conflict that it opened again, and no other`() {
    func data(_ ids: [Int64]) -> ViewData {
      var data = Sample.data()
      data.conflicts = Window(total: ids.count, offset: 0, rows: ids.map { Sample.conflict($0) })
      return data
    }
    func shown(_ session: Session) -> Int64? { (session.top as? ConflictsScreen)?.conflictID }
    var session = Session(Sample.world { $0.data = data([2, 5, 9]) })
    session.type("c")
    var receipt = Receipt(.undo([3]))
    receipt.result.restored = [3: CommandResult.Restored(7, .conflict)]

    session.send(.receipt(receipt))
    #expect(shown(session) == 2)
    session.show(data([2, 5, 7, 9]))
    #expect(shown(session) == 7)

    receipt.result.restored = [4: CommandResult.Restored(4, .pending)]
    session.send(.receipt(receipt))
    session.show(data([2, 5, 7, 9, 11]))
    #expect(shown(session) == 7)
  }
}
