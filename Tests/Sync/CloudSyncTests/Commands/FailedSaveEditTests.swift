import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Editing a failed save, and sending it again.
@Suite(.serialized) struct FailedSaveEditTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  /// A save of record `b` that the server rejected, because `n` is INT64 there.
  private func failed() async throws -> QueueRow {
    try store.accept(world.put("a", ["n": .int64(1)]))
    try await device.sync()
    try store.accept(world.put("b", ["n": .string("yes"), "note": .string("here")]))
    try await device.sync()
    return try #require(try store.operations().rows.first)
  }

  private func edit(_ row: QueueRow, _ texts: String..., version: String? = nil) throws {
    let assignments = try texts.map { try FieldAssignment(parsing: $0) }
    let version = SyncStore.EditedVersion(operation: version ?? row.version)
    let outcome = try store.edit(row.id, assignments, ifVersion: version, actor: "ana")
    guard outcome == .queued || outcome == .discarded else { throw Refused(outcome: outcome) }
  }

  private struct Refused: Error, Equatable { var outcome: SyncStore.EditOutcome }

  @Test func `an edited field takes the type that the server's records have, and the change is sent`() async throws {
    let row = try await failed()
    #expect(row.state == .failed)

    try edit(row, "n=1", "note=")
    let pending = try #require(try store.operations().rows.first)
    #expect(pending.id == row.id && pending.state == .pending && pending.attempts == 0)
    try await device.sync()

    #expect(world.onServer("b") == ["n": .int64(1)])
    #expect(try store.queue() == [])
    let events = try store.events().map(\.event)
    #expect(events.contains(.command(.edit(operation: row.id, fields: ["n", "note"]), count: 1)))
  }

  @Test func `a value of the wrong type is refused, and nothing is changed`() async throws {
    let row = try await failed()

    #expect(throws: StoreError.self) { try edit(row, "note=there", "n=maybe") }
    #expect(throws: StoreError.self) { try edit(row, "note=there", "n=-9223372036854775809") }
    #expect(throws: StoreError.self) { try edit(row, "twin:REFERENCE=São Paulo") }

    #expect(try store.operations().rows == [row])
    #expect(try store.detail(of: row.id)?.operation?.changes["note"] == .string("here"))
  }

  @Test func `a date and a reference stay what they are in the failed change, where no record shows their types`()
    async throws
  {
    let time = FieldValue.timestamp(1_767_323_045_000)
    try store.accept(
      world.put("b", ["due": time, "to": .reference(WireReference(recordName: "x", action: "VALIDATE"))])
    )
    try store.execute("UPDATE operations SET state = 'failed'")
    let row = try #require(try store.operations().rows.first)

    try edit(row, "due=2026-01-31T12:01:00Z", "to=y")

    let changes = try #require(try store.detail(of: row.id)?.operation?.changes)
    #expect(changes["due"] == .timestamp(1_769_860_860_000))
    #expect(changes["to"] == .reference(WireReference(recordName: "y", action: "VALIDATE")))
  }

  @Test func `a secret in a failed change does not become plain text`() async throws {
    try store.accept(world.put("b", ["pin": .encrypted(.string("1"))]))
    try store.execute("UPDATE operations SET state = 'failed'")
    let row = try #require(try store.operations().rows.first)

    #expect(throws: StoreError.self) { try edit(row, "pin:STRING=2") }
    try edit(row, "pin=2")

    #expect(try store.detail(of: row.id)?.operation?.changes["pin"] == .encrypted(.string("2")))
  }

  @Test func `a cleared field of a type stays encrypted until the change that set it is discarded`() throws {
    let id = try store.accept(world.put("a", ["pin": .encrypted(.string("1"))]))
    try store.accept(Change(world.key("a"), .save(type: "Note", FieldChanges(cleared: ["pin"]))))

    #expect(try store.knownFieldTypes(of: "Note") == ["pin": "ENCRYPTED_STRING"])
    for name in ["a", "b"] { #expect(try isRefused(world.put(name, ["pin": .string("2")]))) }
    #expect(try !isRefused(world.put("c", ["pin": .encrypted(.string("2"))])))
    #expect(try !isRefused(world.put("other", type: "Other", ["pin": .string("2")])))

    // The change of c still has the field.
    _ = try store.perform(.discard, on: .ids([id]), actor: "ana")
    #expect(try isRefused(world.put("b", ["pin": .string("2")])))
    let last = try #require(try store.operations().rows.first { $0.key.name == "c" })
    _ = try store.perform(.discard, on: .ids([last.id]), actor: "ana")
    #expect(try !isRefused(world.put("b", ["pin": .string("2")])))
  }

  @Test func `a field that was cleared on the server stays encrypted`() async throws {
    try store.accept(world.put("a", ["pin": .encrypted(.string("1"))]))
    try await device.sync()
    try store.accept(Change(world.key("a"), .save(type: "Note", FieldChanges(cleared: ["pin"]))))
    try await device.sync()

    #expect(try store.mirror("a") == [:])
    #expect(try store.fieldTypesBySource(of: "Note").fetched == ["pin": "ENCRYPTED_STRING"])
    #expect(try isRefused(world.put("a", ["pin": .string("2")])))
  }

  @Test func `plain and encrypted values of one field are not accepted together`() throws {
    let changes = [world.put("a", ["pin": .encrypted(.string("1"))]), world.put("b", ["pin": .string("2")])]

    let accepted = try store.enqueue(changes)

    guard case .enqueued? = accepted.first, case .refused? = accepted.last else {
      Issue.record("\(accepted)")
      return
    }
  }

  private func isRefused(_ change: Change) throws -> Bool {
    if case .refused? = try store.enqueue([change]).first { true } else { false }
  }

  @Test func `only a failed save in the version that was shown is edited`() async throws {
    let row = try await failed()
    try edit(row, "n=1")

    // It is pending by now.
    #expect(throws: Refused(outcome: .notFailed)) { try edit(row, "n=2") }
    let deletion = try store.accept(world.delete("a"))
    let delete = try #require(try store.operations().rows.first { $0.id == deletion })
    #expect(throws: Refused(outcome: .notFailed)) { try edit(delete, "n=2") }
    #expect(try store.edit(99, [FieldAssignment(parsing: "n=1")], actor: "ana") == .notFailed)
    #expect(try store.detail(of: row.id)?.operation?.changes["n"] == .int64(1))
  }

  @Test func `another edit of the change meanwhile refuses this one`() async throws {
    let row = try await failed()
    try store.accept(world.put("b", ["note": .string("newer")]))
    try await device.sync()
    #expect(try store.operations().rows.map(\.state) == [.failed])

    #expect(throws: Refused(outcome: .moved)) { try edit(row, "n=1") }

    #expect(try store.detail(of: row.id)?.operation?.changes["note"] == .string("newer"))
  }

  @Test func `an edit that leaves nothing to send ends the change`() async throws {
    try store.accept(world.put("a", ["n": .int64(1)]))
    try await device.sync()
    try store.accept(world.put("a", ["n": .string("yes")]))
    try await device.sync()
    let row = try #require(try store.operations().rows.first)

    try edit(row, "n=1")

    #expect(try store.queue() == [])
    #expect(try store.detail(of: row.id)?.history?.ending == .discarded)
    #expect(try store.dropped().map(\.changes) == [FieldChanges(values: ["n": .string("yes")])])
  }

  @Test func `an edit beside a server record that was not shown is refused`() async throws {
    let row = try await failed()
    let shown = SyncStore.EditedVersion(operation: row.version, serverTag: .some("another"))

    let outcome = try store.edit(row.id, [FieldAssignment(parsing: "n=1")], ifVersion: shown, actor: "ana")

    #expect(outcome == .moved)
    #expect(try store.operations().rows == [row])
  }

  private static let high: FieldValue = {
    var place = WireLocation(latitude: 1, longitude: 2)
    place.altitude = 3
    return .location(place)
  }()

  /// Where people read local times.
  private static let format = Format(timeZone: TimeZone(secondsFromGMT: -12_600) ?? .gmt)

  /// Values that people may type again as they are shown.
  private static let values: [FieldValue] = [
    .string("text"), .string(""), .string("null"), .string("\"quoted\""), .string("42"), .string("[1"), .int64(-7),
    .double(2.5), .timestamp(1_700_000_000_250), .bytes(Data([1, 2, 3])), .reference(WireReference(recordName: "a")),
    .location(WireLocation(latitude: 52.52, longitude: 13.4)), .list(.string, [.string("a, \"b\""), .string("]")]),
    .reference(WireReference(recordName: "a", action: "DELETE_SELF")),
    .list(.reference, [.reference(WireReference(recordName: "a", action: "VALIDATE"))]),
    high, .list(.int64, [.int64(1), .int64(2)]),
    .list(.timestamp, [.timestamp(1_700_000_000_000)]),
  ]

  @Test(arguments: values)
  func `a value written as an assignment reads back the same`(_ value: FieldValue) throws {
    let text = try #require(value.assigned(Self.format))
    let assignment = try FieldAssignment(parsing: "a=\(text)")

    #expect(try assignment.value(knownType: value.wireType)?.completed(from: value) == value)
    #expect(assignment.written == "a=\(text)")
  }
}
