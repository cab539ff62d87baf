import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// Pausing everything, and the list of all that is paused.
struct PauseViewTests {
  private typealias Session = AppTests.Session

  private static func pauses(_ rules: PauseRule...) -> [Pause] {
    rules.map { Pause(rule: $0, at: Sample.now - 86_400_000, actor: "root") }
  }

  @Test func `p asks before it pauses everything, with the number of changes, and Enter is the safe answer`() {
    var session = Session()
    session.type("p")
    // Three of the five would be sent by themselves.
    #expect(session.text.contains("Pause everything?") && session.text.contains("3 changes wait"))
    session.type(.enter)
    #expect(session.commands.isEmpty && session.app.stack.count == 1)
    session.type("py")

    #expect(session.commands == [.pause([.everything])])
  }

  @Test func `p does what the question said, though somebody else was faster`() {
    var session = Session()
    session.type("p")
    session.world.data.status?.pauses = Self.pauses(.everything)
    session.send(.changed)
    session.type("y")

    #expect(session.commands == [.pause([.everything])])
  }

  @Test func `p resumes without a question where everything is paused, and the footer says so`() {
    var session = Session(
      Sample.world(Size(width: 160, height: 30)) { $0.data.status?.pauses = Self.pauses(.everything) }
    )
    #expect(session.text.contains("p resume"))
    session.type("p")

    #expect(session.commands == [.resume([.everything])])
  }

  @Test func `the pauses and the queue name the owner of a zone where two users have one of that name`() {
    let zones = ["_ana", "_ben"].map { ZoneKey(zone: "lists", owner: $0) }
    let session = Session(
      Sample.world(Size(width: 200, height: 30)) { world in
        world.data.status?.pauses = Self.pauses(.zone(zones[1]))
        world.data.status?.queue.parts = zones.map { zone in
          QueuePart(state: .pending, zone: zone, type: "Item", count: 1, bytes: 1)
        }
      }
    )

    #expect(zones.map(session.world.queuedZone) == ["lists of _ana", "lists of _ben"])
    #expect(session.world.queuedZone(ZoneKey(zone: "notes", owner: "_ana")) == "notes")
    let list = RowList<PauseKind>()
    let cells = PauseKind.cells(Self.pauses(.zone(zones[1]))[0], list, 200, session.world).cells
    #expect(cells.first?.plain == "zone lists of _ben")
  }

  @Test func `a pause of a zone does not make p resume everything`() {
    var session = Session(Sample.world { $0.data.status?.pauses = Self.pauses(.zone(Sample.zone)) })
    session.type("py")

    #expect(session.commands == [.pause([.everything])])
  }

  @Test(arguments: [(OperationState.paused, QueueVerb.resume), (.failed, .retry), (.pending, .pause)])
  func `P pauses or resumes a change by the state that is shown`(_ state: OperationState, _ verb: QueueVerb) {
    let row = Sample.operation(4, state, "order-4")
    var session = Session(Sample.world { $0.data = Sample.data([row]) })
    session.type("P")

    #expect(session.commands == (verb == .retry ? [] : [.perform(verb, .ids([4]))]))
  }

  @Test func `every pause is listed with who and when, and the selected one is lifted`() {
    var session = Session(
      Sample.world(Size(width: 120, height: 24)) { world in
        world.data.status?.pauses = Self.pauses(.everything, .zone(Sample.zone), .type("Order"))
      }
    )
    session.type("9")
    #expect(session.text.contains(/everything +Jan 01 03:04 +root +3/))
    #expect(session.text.contains("type Order"))
    session.type("jjp")
    session.type("k")
    session.type(.enter)
    session.type("p")

    #expect(session.commands == [.resume([.type("Order")]), .resume([.zone(Sample.zone)])])
  }

  /// The command has been carried out: the receipt has these rules and operations.
  private static func done(_ command: ServiceCommand, _ rules: [PauseRule] = [], _ changed: [Int64] = []) -> Receipt {
    var receipt = Receipt(command)
    (receipt.result.rules, receipt.result.changed) = (rules, changed)
    receipt.changed = rules.count + changed.count
    return receipt
  }

  private static let rules = ["a", "b"].map { PauseRule.zone(ZoneKey(zone: $0)) }

  private static let undoings: [(Receipt, ServiceCommand?)] =
    [
      // Of two zones one was paused already.
      (done(.pause(rules), [rules[1]]), .resume([rules[1]])), (done(.pause([.everything]), []), nil),
      (done(.pause([.everything]), [.everything]), .resume([.everything])),
      (done(.perform(.pause, .ids([3, 4])), [], [4]), .perform(.resume, .ids([4]))),
      (done(.perform(.discard, .ids([3])), [], [3]), .undo([3])), (done(.resume(rules), rules), nil),
    ]

  @Test(arguments: undoings)
  func `u undoes what was paused here, and nothing that was so before`(_ receipt: Receipt, _ undoing: ServiceCommand?) {
    for view in ["", "7", "9"] {
      var session = Session()
      session.send(.receipt(receipt))
      session.type("\(view)u")
      #expect(session.commands == [undoing].compactMap(\.self))
      session.type("u")
      #expect(session.commands.count <= 1)
    }
  }

  @Test func `u does not resume what was resumed by itself, and tries again what failed`() {
    var session = Session()
    session.send(.receipt(Self.done(.pause(Self.rules), Self.rules)))
    session.send(.receipt(Self.done(.resume([Self.rules[0]]), [Self.rules[0]])))
    session.type("7u")
    #expect(session.commands == [.resume([Self.rules[1]])])

    session.send(.receipt(Receipt(.undo([3]), failure: StoreError(.diskFull, "the disk is full"))))
    session.type("u")
    #expect(session.commands.last == .undo([3]))
  }

  @Test func `without a rule the list says so, and counts the changes that were paused one by one`() {
    var session = Session(
      Sample.world(Size(width: 120, height: 24)) {
        $0.data = Sample.data([Sample.operation(1, .paused, "order-1") { $0.cause = .paused(by: "root") }])
      }
    )
    session.type("9")
    #expect(session.text.contains("No pause rule is set") && session.text.contains("1 change paused one by one"))
    session.type("p")
    #expect(session.commands.isEmpty && session.app.notice?.text == "No pause is selected")
  }
}
