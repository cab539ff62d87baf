import CloudKit
import Facts
import Testing

@testable import CloudSync

/// The actions and zones of references: what is shown, and what a change keeps that names a record alone.
@Suite(.serialized) struct ReferenceActionTests {
  private static let away = WireZoneID(zoneName: "away")

  private static func link(_ name: String, _ action: String?, _ zone: WireZoneID? = nil) -> FieldValue {
    .reference(WireReference(recordName: name, zoneID: zone, action: action))
  }

  private static func links(_ elements: FieldValue...) -> FieldValue { .list(.reference, elements) }

  private static let completions: [(written: FieldValue, present: FieldValue?, result: FieldValue)] = [
    (link("b", nil), nil, link("b", "NONE")),
    (link("b", nil), .string("x"), link("b", "NONE")),
    (link("b", nil), link("a", "VALIDATE"), link("b", "VALIDATE")),
    (link("b", nil), link("a", "DELETE_SELF", away), link("b", "DELETE_SELF")),
    (link("b", nil), link("b", "DELETE_SELF", away), link("b", "DELETE_SELF", away)),
    (links(link("c", nil)), links(link("a", "VALIDATE", away)), links(link("c", "VALIDATE"))),
    (link("b", "NONE"), link("b", "VALIDATE", away), link("b", "NONE")),
    (
      link("b", nil, WireZoneID(zoneName: "z")), link("a", "VALIDATE", away),
      link("b", "VALIDATE", .init(zoneName: "z"))
    ),
    (
      links(link("b", nil), link("c", nil), link("d", "NONE")),
      links(link("a", "VALIDATE"), link("b", "DELETE_SELF", away)),
      links(link("b", "DELETE_SELF", away), link("c", "NONE"), link("d", "NONE"))
    ),
    (
      links(link("b", nil), link("c", nil)), links(link("a", "VALIDATE"), link("b", "VALIDATE", away)),
      links(link("b", "VALIDATE", away), link("c", "VALIDATE"))
    ),
    (links(link("c", nil)), links(), links(link("c", "NONE"))),
    (.int64(1), link("a", "VALIDATE"), .int64(1)),
  ]

  @Test(arguments: completions)
  func `a reference that says no action keeps that of its field`(
    _ written: FieldValue,
    _ present: FieldValue?,
    _ result: FieldValue
  ) {
    #expect(written.completed(from: present) == result)
  }

  @Test(arguments: [
    (link("b", "NONE"), "→ b"), (link("b", nil), "→ b"), (link("b", "VALIDATE"), "→ b (VALIDATE)"),
    (link("b", "NONE", away), "→ b (zone away)"),
    (
      links(link("b", "DELETE_SELF", WireZoneID(zoneName: "z", ownerRecordName: "_ana")), link("c", "NONE")),
      "[→ b (DELETE_SELF, zone z of _ana), → c]"
    ),
  ])
  func `a reference is shown with its action and zone, unless they are the usual ones`(
    _ value: FieldValue,
    _ text: String
  ) {
    #expect(value.text(Format()) == text)
  }

  @Test func `a name written to a field keeps the action that the field has, and for the same record the zone`()
    async throws
  {
    let world = try World()
    let device = try world.device("store")
    let id = try device.store.accept(world.put("a", ["to": Self.link("b", "DELETE_SELF", Self.away)]))

    #expect(try device.store.enqueue([world.put("a", ["to": Self.link("b", nil)])]) == [.unchanged])
    try device.store.accept(world.put("a", ["to": Self.link("c", nil)]))

    #expect(try device.store.operation(id).changes["to"] == Self.link("c", "DELETE_SELF"))
    #expect(try device.store.enqueue([world.put("a", ["to": Self.link("c", nil)])]) == [.unchanged])
    // In the record's own zone, said in full.
    let own = WireZoneID(zoneName: world.key("a").zone)
    try device.store.accept(world.put("a", ["to": Self.link("d", "VALIDATE", own)]))
    #expect(try device.store.record(world.key("a"))?.fields["to"] == Self.link("d", "VALIDATE"))
  }
}
