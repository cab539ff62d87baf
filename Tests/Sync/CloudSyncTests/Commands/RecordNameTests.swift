import CloudKit
import GRDB
import Testing

@testable import CloudSync

/// Names that no server accepts are refused where they are given.
@Suite(.serialized) struct RecordNameTests {
  private static let long = String(repeating: "x", count: 256)

  /// A name, and whether it may name a record, a zone, and a record or zone where names beyond ASCII are accepted.
  private static let names: [(name: String, record: Bool, zone: Bool, unicodeRecord: Bool, unicodeZone: Bool)] = [
    ("Oslo", true, true, true, true), ("a b~!\"'", true, true, true, true), ("a_", true, true, true, true),
    (String(repeating: "x", count: 255), true, true, true, true), (long, false, false, false, false),
    ("", false, false, false, false), ("_x", false, false, false, false), ("_\u{301}", false, false, false, false),
    ("_defaultZone", false, true, false, true), ("a\u{7}", false, false, false, false),
    ("a\nb", false, false, false, false), ("\0", false, false, false, false), ("\u{7F}", false, false, false, false),
    ("\u{85}", false, false, false, false), ("São Paulo", false, false, true, true),
    ("Sa\u{303}o", false, false, true, true), ("🙂", false, false, true, true),
    (String(repeating: "ã", count: 255), false, false, true, true),
    (String(repeating: "ã", count: 256), false, false, false, false),
  ]

  @Test(arguments: names.indices) func `a name follows the rule`(index: Int) {
    let row = Self.names[index]
    let (ascii, unicode) = (NameRule(), NameRule(isASCIIOnly: false))

    #expect((ascii.recordNameProblem(row.name) == nil) == row.record)
    #expect((ascii.zoneNameProblem(row.name) == nil) == row.zone)
    #expect((unicode.recordNameProblem(row.name) == nil) == row.unicodeRecord)
    #expect((unicode.zoneNameProblem(row.name) == nil) == row.unicodeZone)
  }

  private func isRefused(_ change: Change, _ store: SyncStore) throws -> Bool {
    if case .refused? = try store.enqueue([change]).first { true } else { false }
  }

  @Test(arguments: names.indices) func `the store refuses a record or zone that no server takes`(index: Int) throws {
    let row = Self.names[index]
    for (acceptsUnicode, record, zone) in [
      (false, row.record, row.zone), (true, row.unicodeRecord, row.unicodeZone),
    ] {
      let store = try World().open("mine")
      store.acceptsUnicodeNames = acceptsUnicode
      let change = Change(RecordKey(ZoneKey(zone: "notes"), row.name), .save(type: "Note", FieldChanges()))
      let inZone = Change(RecordKey(ZoneKey(zone: row.name), "a"), .save(type: "Note", FieldChanges()))

      #expect(try isRefused(change, store) == !record)
      #expect(try isRefused(inZone, store) == !zone)
      let accepted = try World().open("other").enqueueZone(ZoneKey(zone: row.name))
      if case .refused = accepted { #expect(!row.zone || row.name == "_defaultZone") } else { #expect(row.zone) }
      if !record { #expect(try store.operations().rows.allSatisfy { $0.key.name == "a" }) }
    }
  }

  @Test func `a reference says that its name is wrong, unless it refers to a user`() throws {
    let world = try World()
    let store = try world.open("mine")
    func link(_ name: String, zone: String? = nil) -> FieldValue {
      .reference(WireReference(recordName: name, zoneID: zone.map { WireZoneID(zoneName: $0) }))
    }

    for (value, isRight) in [
      (link("oslo"), true), (link("_4f3a"), true), (link("__defaultOwner__"), true), (link("São Paulo"), false),
      (link(""), false), (link(Self.long), false), (link("a\u{1}"), false), (link("a", zone: "_z"), false),
      (link("a", zone: "_defaultZone"), true), (.list(.reference, [link("a"), link("ã")]), false),
    ] {
      for field in ["city", FieldChanges.parent] {
        let accepted = try store.enqueue([world.put("a", [field: value])]).first
        if case .refused(let reason)? = accepted {
          #expect(!isRight && reason.hasPrefix("\(FieldChanges.displayName(field)) refers to no record: "))
        } else {
          #expect(isRight)
        }
      }
    }
  }

  @Test func `what the server has stays editable, whatever its name`() throws {
    let world = try World()
    let store = try world.open("mine")
    let zone = world.key("").zone
    for (name, type) in [("São Paulo", "Note"), ("_4f3a", "Users")] {
      try store.execute(
        "INSERT INTO records(zone, name, type, changeTag, fields) VALUES (?, ?, ?, '1', '{}')",
        [zone, name, type]
      )
    }
    try store.execute("INSERT INTO zones(zone, state) VALUES ('Zürich', 'ready')")

    try store.accept(world.put("São Paulo", ["x": .int64(1)]))
    try store.accept(world.put("_4f3a", type: "Users", ["x": .int64(1)]))
    try store.accept(world.put("city", ["twin": .reference(WireReference(recordName: "São Paulo"))]))
    try store.accept(world.put("a", zone: "Zürich", ["x": .int64(1)]))
    try store.accept(world.delete("São Paulo"))
    #expect(try store.enqueueZone(ZoneKey(zone: "Zürich")) == .unchanged)
    #expect(try isRefused(world.put("Zürich", ["x": .int64(1)]), store))
    // An unconfirmed zone of this name exists here alone.
    try store.execute("INSERT INTO zones(zone, state) VALUES ('Genève', 'unconfirmed')")
    #expect(try isRefused(world.put("a", zone: "Genève", ["x": .int64(1)]), store))
  }
}
