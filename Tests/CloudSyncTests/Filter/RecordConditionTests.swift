import CloudKit
import Foundation
import Testing

@testable import CloudSync

/// Values of a record beside what a person compares them with.
struct RecordConditionTests {
  private static let record = MirrorRecord(
    key: RecordKey(zone: "notes", owner: "", name: "n1"),
    type: "Note",
    changeTag: "t",
    fields: [
      "count": .int64(5), "ratio": .double(0.5), "title": .string("Buy Milk"), "name": .string("other"),
      "list": .reference(WireReference(recordName: "L1", action: "NONE")), "data": .bytes(Data([1, 2])),
      "tags": .list(.string, [.string("a"), .string("Bee")]), "secret": .encrypted(.string("x")),
      "due": .timestamp(1_767_225_600_000),
    ],
    modifiedAt: 1_767_225_600_000
  )

  private func isTrue(_ text: String) throws -> Bool {
    RecordCondition(try ListFilter.parse(text, of: .records).get()).isTrue(of: Self.record)
  }

  @Test(arguments: [
    "count = 5", "count = 5.0", "count in (4, 5)", "count != 6", "COUNT >= 5", "ratio < 1", "ratio = 0.5",
    "title = 'buy milk'", "title like 'buy%'", "title like '%m_lk'", "title like %", "title != milk",
    "name = n1", "name = other", "type = note", "list = L1", "list like L%", "tags = bee", "tags like B%",
    "secret = X", "due = 2026-01", "due >= 2026-01-01", "changed = 2026-01-01", "changed < 2026-01-02",
    "none is null", "none != 1", "count is not null", "not none = 1", "count = 1 or count = 5",
    "(count = 1 or count = 5) and title like buy%",
  ])
  func `a comparison holds by the type of the value`(text: String) throws { #expect(try isTrue(text)) }

  @Test(arguments: [
    "count = 6", "count = five", "count > five", "title = milk", "title like milk", "title like 'buy_'", "none = 1",
    "none > 1", "name = n2", "list = L", "tags = c", "due = 2027", "data > 1", "created is not null", "count is null",
    "count = 5 and title = x", "not count = 5",
  ])
  func `a comparison does not hold otherwise`(text: String) throws { #expect(try !isTrue(text)) }
}
