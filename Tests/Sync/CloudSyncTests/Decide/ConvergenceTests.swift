import CloudKit
import Foundation
import JSONText
import TestSupport
import Testing

@testable import CloudSync

/// Devices with nothing but the merge between them and one record of a server that checks tags: whoever comes first, all
/// end with the same bytes.
@Suite(.serialized) struct ConvergenceTests {
  /// An edit of one device at its own time.
  private struct Edit {
    var device: Int
    var changes: FieldChanges
    var at: Int64
  }

  private struct Server {
    var fields: [String: FieldValue]
    var tag = 0
    var at: Int64 = 0
  }

  private struct Device {
    var fields: [String: FieldValue]
    var tag = 0
    var pending = FieldChanges()
    var base: [String: FieldValue]
    var editedAt: Int64 = 0

    mutating func make(_ edit: Edit) {
      let before = pending.applied(to: base)
      pending.apply(edit.changes.effective(on: before))
      editedAt = edit.at
    }

    mutating func pull(_ server: Server, _ policy: ConflictPolicy) {
      guard tag != server.tag else { return }
      let merge = Merge(
        pending,
        base: base,
        server: server.fields,
        policy: policy,
        editedAt: editedAt,
        serverModifiedAt: server.at
      )
      (fields, base, tag, pending) = (server.fields, server.fields, server.tag, merge.remaining)
    }

    mutating func push(_ server: inout Server) {
      guard !pending.isEmpty else { return }
      // The server keeps when the change was made, so that what was edited later is known as such.
      server = Server(fields: pending.applied(to: server.fields), tag: server.tag + 1, at: max(server.at, editedAt))
      (fields, base, tag, pending) = (server.fields, server.fields, server.tag, FieldChanges())
    }
  }

  /// All edits are made before anybody hears of another; then the devices come in that order.
  private func run(
    _ edits: [Edit],
    devices count: Int,
    order: [Int],
    base: [String: FieldValue],
    _ policy: ConflictPolicy
  )
    throws -> Data
  {
    var server = Server(fields: base)
    var devices = Array(repeating: Device(fields: base, base: base), count: count)
    for edit in edits { devices[edit.device].make(edit) }
    for index in order.map({ edits[$0].device }) {
      devices[index].pull(server, policy)
      devices[index].push(&server)
    }
    for index in devices.indices {
      devices[index].pull(server, policy)
      #expect(devices[index].pending.isEmpty)
    }
    let bytes = try server.fields.json()
    for device in devices { #expect(try device.fields.json() == bytes) }
    return bytes
  }

  private static func orders(_ count: Int) -> [[Int]] {
    guard count > 1 else { return [Array(0..<count)] }
    return orders(count - 1).flatMap { order in
      (0...order.count).map { place in Array(order[..<place]) + [count - 1] + Array(order[place...]) }
    }
  }

  private static let kinds: [FieldValue] = MergeTests.kinds.map { $0[1] }

  private static let base: [String: FieldValue] = [
    "tags": .list(.string, [.string("a"), .string("b")]),
    "plain": .int64(0), "untouched": .other(type: "NEW", .object(["a": .null, "b": .int(1)])),
  ]

  /// A change of a list and, unless told otherwise, of what only one can win.
  private static func changes(_ random: inout SplitMix64, isContested: Bool) -> FieldChanges {
    var changes = FieldChanges()
    if random.next() % 4 != 0 {
      let words = ["a", "b", "c", "d"].filter { _ in random.next() % 2 == 0 }.map(FieldValue.string)
      changes.merge("tags", words.isEmpty ? nil : .list(.string, words), .elements)
    }
    if isContested, random.next() % 3 != 0 {
      changes["plain"] = random.next() % 5 == 0 ? nil : kinds[Int(random.next() % UInt64(kinds.count))]
    }
    return changes
  }

  @Test(arguments: [ConflictPolicy.server, .client, .newest])
  func `every order of up to four concurrent edits ends in equal bytes everywhere`(_ policy: ConflictPolicy) throws {
    for seed in 0..<150 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      for count in 1...4 {
        let devices = max(2, count)
        let edits = (0..<count).map { index in
          Edit(
            device: index % devices,
            changes: Self.changes(&random, isContested: true),
            // Equal times are as likely as different ones.
            at: Int64(1 + random.next() % 3)
          )
        }
        for order in Self.orders(count) {
          _ = try run(edits, devices: devices, order: order, base: Self.base, policy)
        }
      }
    }
  }

  @Test func `lists of elements come out alike whoever comes first`() throws {
    for seed in 1_000..<1_200 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      for count in 2...4 {
        let edits = (0..<count).map { Edit(device: $0, changes: Self.changes(&random, isContested: false), at: 1) }
        // One edit alone keeps the order that its list has.
        let isAlone = edits.filter { $0.changes.names.contains("tags") }.count < 2
        let outcomes = try Self.orders(count).map { order in
          try run(edits, devices: count, order: order, base: Self.base, .server)
        }
        #expect(isAlone || Set(outcomes).count == 1, "seed \(seed), \(count) edits")
      }
    }
  }

  @Test func `under newest the same edit wins whoever comes first`() throws {
    for seed in 2_000..<2_200 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      for count in 2...4 {
        // Different values: one that is there already is not written again, so that its time stays the first one's.
        let values = Self.kinds.shuffled(using: &random)
        let edits = (0..<count).map { index in
          Edit(device: index, changes: FieldChanges(values: ["plain": values[index]]), at: Int64(1 + random.next() % 2))
        }
        let outcomes = try Self.orders(count).map { order in
          try run(edits, devices: count, order: order, base: Self.base, .newest)
        }
        #expect(Set(outcomes).count == 1, "seed \(seed), \(count) edits")
      }
    }
  }

  @Test func `several edits of one device are one change to the others`() throws {
    for seed in 3_000..<3_100 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let edits = (0..<4).map { index in
        Edit(device: index % 2, changes: Self.changes(&random, isContested: false), at: Int64(index))
      }
      let first = try run(edits, devices: 3, order: [0, 1], base: Self.base, .server)
      let second = try run(edits, devices: 3, order: [1, 0], base: Self.base, .server)

      #expect(first == second, "seed \(seed)")
    }
  }
}
