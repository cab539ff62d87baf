import CloudKit
import JSONText
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized) struct MergeTests {
  @Test func `what a server spells anew in each answer is nobody's edit`() throws {
    let (own, shared) = (ZoneKey(zone: "notes"), ZoneKey(zone: "notes", owner: "_bob"))
    let asset = WireAsset(fileChecksum: "sum", size: 3)
    var answered = asset
    (answered.downloadURL, answered.receipt) = ("https://elsewhere/1", "r")
    func target(_ zone: String?, _ owner: String? = nil) -> FieldValue {
      .reference(WireReference(recordName: "t", zoneID: zone.map { WireZoneID(zoneName: $0, ownerRecordName: owner) }))
    }

    #expect(FieldValue.asset(answered).canonical(in: own) == .asset(asset))
    #expect(FieldValue.list(.asset, [.asset(answered)]).canonical(in: own) == .list(.asset, [.asset(asset)]))
    #expect(target("notes", "_me").canonical(in: own) == target(nil))
    #expect(target("notes").canonical(in: own) == target(nil))
    #expect(target("other", "_me").canonical(in: own) == target("other"))
    #expect(target("notes", "_bob").canonical(in: shared) == target(nil))
    #expect(target("notes", "_eve").canonical(in: shared) == target("notes", "_eve"))
    #expect(FieldValue.encrypted(.asset(answered)).canonical(in: own) == .encrypted(.asset(asset)))
  }

  /// What became of one field.
  private enum Result: Equatable {
    case nothingToSend, sent, dropped, conflict
  }

  /// What the values alone say, before any policy.
  private enum Cell: Character {
    /// Nothing of ours is left: both agree, or only the server changed it.
    case server = "="
    /// Only we changed it.
    case local = "L"
    /// Both did, differently.
    case both = "C"
  }

  /// Three values of every kind there is.
  static let kinds: [[FieldValue]] = [
    ["a", "b", "ä"].map(FieldValue.string),
    [0, -7, .max].map(FieldValue.int64),
    [0, 0.1, -1e300].map(FieldValue.double),
    [[], [0, 255], [1]].map { FieldValue.bytes(.init($0)) },
    [0, -1, 1_700_000_000_000].map(FieldValue.timestamp),
    [0, 1, -90].map { .location(WireLocation(latitude: $0, longitude: 2)) },
    ["x", "y", "z"].map { .reference(WireReference(recordName: $0)) },
    ["x", "y", "z"].map { .asset(WireAsset(fileChecksum: $0, size: 1)) },
    [[.string("b")], [.string("a")], [.string("a"), .string("a")]].map { FieldValue.list(.string, $0) },
    [1, 2, 3].map { .list(.reference, [.reference(WireReference(recordName: "t\($0)"))]) },
    [1, 2, 3].map { .encrypted(.int64($0)) },
    [.int(1), .null, .object(["a": .null, "b": .int(1)])].map { .other(type: "NEW", $0) },
    // A field may change its kind.
    [.string("1"), .int64(1), .list(.int64, [.int64(1)])],
  ]

  /// Base absent or `a`; local absent, `a`, `b`; server absent, `a`, `b`, `c`: all there is up to renaming.
  private static let table: [(base: Int, local: Int, servers: String)] = [
    (0, 0, "===="), (0, 1, "L=CC"), (0, 2, "LC=C"),
    (1, 0, "=LCC"), (1, 1, "===="), (1, 2, "CL=C"),
  ]

  private func merge(
    _ base: FieldValue?,
    _ local: FieldValue?,
    _ server: FieldValue?,
    _ policy: ConflictPolicy,
    editedAt: Int64 = 1,
    modifiedAt: Int64 = 2
  ) -> Result {
    var changes = FieldChanges()
    changes["field"] = local
    let merge = Merge(
      changes,
      base: base.map { ["field": $0] } ?? [:],
      server: server.map { ["field": $0] } ?? [:],
      policy: policy,
      editedAt: editedAt,
      serverModifiedAt: modifiedAt
    )
    if merge.conflicts == ["field"] { return .conflict }
    if merge.dropped == ["field"] { return .dropped }
    guard merge.remaining.names == ["field"] else { return .nothingToSend }
    #expect(merge.remaining["field"] == local)
    return .sent
  }

  @Test(arguments: ConflictPolicy.allCases, kinds)
  func `all 24 cells of base, local and server with every kind of value`(
    _ policy: ConflictPolicy,
    _ kind: [FieldValue]
  ) throws {
    let values = [nil] + kind
    var cells = 0
    for row in Self.table {
      for (server, letter) in row.servers.enumerated() {
        let cell = try #require(Cell(rawValue: letter))
        let expected: Result =
          switch (cell, policy) {
          case (.server, _): .nothingToSend
          case (.local, _): .sent
          case (.both, .server), (.both, .newest): .dropped
          case (.both, .client): .sent
          case (.both, .manual): .conflict
          }
        let result = merge(values[row.base], values[row.local], values[server], policy)

        #expect(result == expected, "base \(row.base), local \(row.local), server \(server)")
        cells += 1
      }
    }
    #expect(cells == 24)
  }

  @Test func `the later edit wins under newest`() {
    #expect(merge(nil, .int64(1), .int64(2), .newest, editedAt: 3, modifiedAt: 2) == .sent)
    #expect(merge(nil, .int64(1), .int64(2), .newest, editedAt: 2, modifiedAt: 3) == .dropped)
  }

  @Test func `a tie has the same winner on both devices`() {
    let values: [FieldValue?] = [
      nil, .string(""), .string("a"), .string("ä"), .int64(0), .int64(-7), .int64(.max), .double(0.5), .timestamp(0),
      .bytes(.init([0, 255])), .list(.string, [.string("")]), .list(.int64, [.int64(1)]),
      .reference(WireReference(recordName: "x")), .location(WireLocation(latitude: 1, longitude: 2)),
      .asset(WireAsset(fileChecksum: "x", size: 1)), .other(type: "NEW", .object(["a": .null, "b": .int(1)])),
    ]
    let base = FieldValue.string("base")
    for (index, mine) in values.enumerated() {
      for theirs in values[(index + 1)...] {
        // Here `mine` is local; on the other device it came from the server.
        let here = merge(base, mine, theirs, .newest, editedAt: 5, modifiedAt: 5)
        let there = merge(base, theirs, mine, .newest, editedAt: 5, modifiedAt: 5)

        #expect((here == .sent) != (there == .sent), "\(String(describing: mine)), \(String(describing: theirs))")
      }
    }
  }

  @Test func `disjoint edits merge under every policy`() {
    for policy in ConflictPolicy.allCases {
      let merge = Merge(
        FieldChanges(values: ["mine": .int64(2)]),
        base: ["mine": .int64(1), "theirs": .int64(1)],
        server: ["mine": .int64(1), "theirs": .int64(3)],
        policy: policy,
        editedAt: 0,
        serverModifiedAt: 9
      )

      #expect(merge.remaining == FieldChanges(values: ["mine": .int64(2)]))
      #expect(merge.conflicts.isEmpty && merge.dropped.isEmpty)
    }
  }

  @Test func `merging again with the same server changes nothing more`() {
    var random = SplitMix64(seed: 11)
    for _ in 0..<2_000 {
      let (changes, base, server) = (random.changes(), random.fields(), random.fields())
      for policy in ConflictPolicy.allCases {
        let first = Merge(changes, base: base, server: server, policy: policy, editedAt: 5, serverModifiedAt: 5)
        let again = Merge(
          first.remaining,
          base: policy == .manual ? base : server,
          server: server,
          policy: policy,
          editedAt: 5,
          serverModifiedAt: 5
        )

        #expect(again.remaining == first.remaining)
        #expect(again.conflicts == first.conflicts)
      }
    }
  }

  /// Devices with nothing but the merge between them and one record of a server that checks tags.
  private struct Device {
    var fields: [String: FieldValue] = [:]
    var tag = 0
    var pending = FieldChanges()
    var base: [String: FieldValue] = [:]
    var editedAt: Int64 = 0
  }

  @Test(arguments: [ConflictPolicy.server, .client, .newest])
  func `devices that edit, push and pull in any order end equal`(_ policy: ConflictPolicy) {
    for seed in 0..<300 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var server: (fields: [String: FieldValue], tag: Int, at: Int64) = ([:], 0, 0)
      var devices = Array(repeating: Device(), count: 2 + Int(random.next() % 3))
      func pull(_ device: inout Device) {
        guard device.tag != server.tag else { return }
        let merge = Merge(
          device.pending,
          base: device.base,
          server: server.fields,
          policy: policy,
          editedAt: device.editedAt,
          serverModifiedAt: server.at
        )
        device.fields = server.fields
        device.tag = server.tag
        device.pending = merge.remaining
        device.base = server.fields
      }
      func push(_ device: inout Device, at time: Int64) {
        guard !device.pending.isEmpty, device.tag == server.tag else { return }
        server = (device.pending.applied(to: server.fields), server.tag + 1, time)
        device.fields = server.fields
        device.tag = server.tag
        device.pending = FieldChanges()
        device.base = server.fields
      }
      for time in 1...60 as ClosedRange<Int64> {
        let index = Int(random.next() % UInt64(devices.count))
        switch random.next() % 3 {
        case 0:
          devices[index].pending.apply(random.changes())
          devices[index].editedAt = time
        case 1: push(&devices[index], at: time)
        default: pull(&devices[index])
        }
      }
      for time in 61...64 as ClosedRange<Int64> {
        for index in devices.indices {
          pull(&devices[index])
          push(&devices[index], at: time)
        }
      }

      #expect(devices.allSatisfy { $0.fields == server.fields && $0.pending.isEmpty }, "seed \(seed)")
    }
  }
}

extension SplitMix64 {
  fileprivate mutating func value() -> FieldValue {
    switch next() % 3 {
    case 0: .int64(Int64(next() % 3))
    case 1: .string(["x", "y"][Int(next() % 2)])
    default: .list(.int64, [])
    }
  }

  fileprivate mutating func fields() -> [String: FieldValue] {
    var fields: [String: FieldValue] = [:]
    for name in ["a", "b", "c", "d"] where next() % 3 != 0 { fields[name] = value() }
    return fields
  }

  fileprivate mutating func changes() -> FieldChanges {
    var changes = FieldChanges()
    for name in ["a", "b", "c", "d"] where next() % 2 == 0 { changes[name] = next() % 4 == 0 ? nil : value() }
    return changes
  }
}
