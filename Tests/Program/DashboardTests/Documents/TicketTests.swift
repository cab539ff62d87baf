import CloudKit
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// What `y` copies of a change, for a ticket.
struct TicketTests {
  private static func ticket(_ detail: OperationDetail) -> String {
    let scope = Sample.world().scope
    return Ticket(detail: detail, scope: scope, host: "mail", now: Sample.now, format: Sample.format).text ?? ""
  }

  @Test func `a ticket says what failed, where, why and when, with every attempt and the server's request`() throws {
    var detail = Sample.detail
    detail.operation?.enqueuedBy = ProgramID(name: "importer", pid: 3321)
    detail.attempts[0].response = #"{"serverErrorCode":"BAD_REQUEST","uuid" : "aa-11","reason":"cut off he"#
    let operation = try #require(detail.operation)
    let row = QueueRow(operation, serverTag: detail.server?.changeTag)

    #expect(
      Self.ticket(detail) == """
        Save Order order-1 in zone Shop
        Time              2026-01-02 03:04:05Z
        cktop             \(Words.version)
        Host              mail
        Container         iCloud.org.example.shop, development, private database
        State             failed: the server rejected it: invalid attempt to set value type STRING for field 'total' (BAD_REQUEST)
        Attempts          1 of 8 used
        Enqueued          2026-01-02 03:02:35Z (1 min ago) by importer, PID 3321, \(Format.bytes(row.bytes))
        Edited            2026-01-02 03:02:45Z
        Operation         11
        Version           \(row.version)
          1  2026-01-02 03:02:45Z  0.2 s  invalid attempt to set value type STRING for field 'total' (BAD_REQUEST), request aa-11
        """
    )
  }

  @Test func `the ticket of a conflict says when each side was edited, and has no values`() {
    var operation = Sample.queued(13)
    operation.cause = .conflict(.fields(["note", "total"]))
    var detail = OperationDetail(operation: operation, server: Sample.detail.server, attempts: [])
    let text = Self.ticket(detail)
    #expect(text.contains("State             conflict: both sides changed note, total"))
    #expect(text.contains("Local             2026-01-02 03:02:45Z"))
    #expect(text.contains("Server            2026-01-02 03:03:59Z by _ab00"))
    for value in ["ours", "theirs", "12.5", "20", "15"].filter({ !"2026-01-02 03".contains($0) }) {
      #expect(!text.contains(value), "\(value)")
    }
    detail.server = nil
    #expect(Self.ticket(detail).contains("Server            deleted"))
  }

  @Test func `no control character reaches a ticket`() {
    var detail = Sample.detail
    detail.operation?.key = RecordKey(Sample.zone, "a\u{1B}[31m\nb")
    let text = Self.ticket(detail)

    #expect(text.split(separator: "\n").count == 12)
    #expect(!text.contains("\u{1B}"))
  }

  @Test func `an operation that has ended has a ticket, and an unknown one has none`() {
    let entry = HistoryEntry(
      id: 4,
      kind: .save,
      key: RecordKey(Sample.zone, "order-4"),
      type: "Order",
      ending: .discarded,
      cause: .discarded(by: "ana"),
      enqueuedAt: Sample.now - 1000,
      endedAt: Sample.now
    )
    let ended = OperationDetail(operation: nil, server: nil, attempts: [], history: entry)
    #expect(Self.ticket(ended).contains("State             discarded 2026-01-02 03:04:05Z: discarded by ana"))
    #expect(Self.ticket(OperationDetail(operation: nil, server: nil, attempts: [])) == "")
  }

  @Test(
    arguments: [
      (#"{"uuid":"0a1b-2c"}"#, "0a1b-2c"), (#"{"fields":{"uuid":{"value":"x"}}}"#, nil), (#"{"uuid":"a b"}"#, nil),
      ("X-Apple-Request-UUID: 0a1b-2c", "0a1b-2c"), ("X-Apple-Request-UUID: 0a1b-2c\n<html>", "0a1b-2c"),
      ("<p>X-Apple-Request-UUID: 0a1b-2c", nil), (nil, nil),
    ] as [(String?, String?)]
  )
  func `the request's identifier is found in the stored reply`(_ response: String?, _ id: String?) {
    let attempt = Attempt(number: 1, at: 0, seconds: 0, code: nil, message: nil, response: response)
    #expect(attempt.requestID == id)
  }

  @Test func `of an item that failed alone the request's identifier is kept, and no reply is shown`() {
    var error = WebServicesError(.badRequest, "no")
    error.uuid = "0a1b-2c"
    func attempt(_ response: String?) -> Attempt {
      error.response = response
      let kept = Attempt.kept(of: error)
      return Attempt(number: 1, at: 0, seconds: 0, code: nil, message: nil, response: kept)
    }
    for body in [nil, "<html>", #"{"uuid":"0a1b-2c"}"#] {
      #expect(attempt(body).requestID == "0a1b-2c" && attempt(body).reply == body)
    }
    error.uuid = nil
    #expect(attempt("<html>").requestID == nil && attempt("<html>").reply == "<html>")
  }

  @Test func `one selected change is copied as a ticket, several as lines`() {
    var session = AppTests.Session()
    session.type("y")
    session.type("  y")
    session.type("cy")

    guard case .copy(let text)? = session.effects.dropFirst().first else {
      Issue.record("two marked rows are copied as lines")
      return
    }
    #expect(text.split(separator: "\n").count == 2)
    #expect(session.effects.first == .copyTicket(11) && session.effects.last == .copyTicket(13))
  }
}
