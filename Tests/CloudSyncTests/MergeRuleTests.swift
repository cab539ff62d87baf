import CloudKit
import Foundation
import Testing

@testable import CloudSync

@Suite(.serialized) struct MergeRuleTests {
  private func merge(
    _ rule: MergeRule,
    _ base: FieldValue?,
    _ local: FieldValue?,
    _ server: FieldValue?,
    policy: ConflictPolicy = .manual
  ) -> Merge {
    var changes = FieldChanges()
    changes.merge("field", local, rule)
    return Merge(
      changes,
      base: base.map { ["field": $0] } ?? [:],
      server: server.map { ["field": $0] } ?? [:],
      policy: policy,
      editedAt: 1,
      serverModifiedAt: 1
    )
  }

  /// What the field is once what remains has been sent.
  private func outcome(
    _ rule: MergeRule,
    _ base: FieldValue?,
    _ local: FieldValue?,
    _ server: FieldValue?
  ) -> FieldValue? {
    let merge = merge(rule, base, local, server)
    #expect(merge.conflicts.isEmpty && merge.dropped.isEmpty)
    return merge.remaining.applied(to: server.map { ["field": $0] } ?? [:])["field"]
  }

  private static func words(_ text: String) -> FieldValue {
    .list(.string, text.map { .string(String($0)) })
  }

  @Test(
    arguments: [
      (10, 12, 15, 17), (10, 7, 15, 12), (nil, 3, 3, 6), (10, 12, 12, 14), (10, 10, 15, 15), (10, 12, 10, 12),
      (10, nil, 12, 2), (10, 12, nil, 2), (.max, .min, .max, .min), (0, .max, .max, .max), (0, .min, .min, .min),
      (.max, .min, .min, .min), (.min, .max, .max, .max),
    ] as [(Int64?, Int64?, Int64?, Int64?)]
  )
  func `a counter takes both differences and stays within its type`(
    _ base: Int64?,
    _ local: Int64?,
    _ server: Int64?,
    _ expected: Int64?
  ) {
    let values = [base, local, server, expected].map { $0.map(FieldValue.int64) }

    #expect(outcome(.counter, values[0], values[1], values[2]) == values[3])
    #expect(outcome(.counter, values[0], values[2], values[1]) == values[3])
  }

  @Test(
    arguments: [
      (1, 1.5, 3, 3.5), (1, -1, 0.5, -1.5), (nil, 0.25, 0.25, 0.5), (1, 0, 0, -1),
      (0, .greatestFiniteMagnitude, .greatestFiniteMagnitude, .greatestFiniteMagnitude),
      (0, -.greatestFiniteMagnitude, -.greatestFiniteMagnitude, -.greatestFiniteMagnitude),
      (.greatestFiniteMagnitude, -.greatestFiniteMagnitude, -.greatestFiniteMagnitude, -.greatestFiniteMagnitude),
    ] as [(Double?, Double?, Double?, Double?)]
  )
  func `a broken number counts like a whole one`(
    _ base: Double?,
    _ local: Double?,
    _ server: Double?,
    _ expected: Double?
  ) {
    let values = [base, local, server, expected].map { $0.map(FieldValue.double) }

    #expect(outcome(.counter, values[0], values[1], values[2]) == values[3])
    #expect(outcome(.counter, values[0], values[2], values[1]) == values[3])
  }

  @Test(arguments: [
    ("ab", "abx", "aby", "abxy"), ("ab", "b", "aby", "by"), ("ab", "b", "a", ""), ("", "x", "y", "xy"),
    ("ab", "ba", "abz", "abz"), ("abc", "cb", "acz", "cz"), ("a", "ax", "ax", "ax"), ("a", "axx", "ayx", "axy"),
    ("ab", "", "abz", "z"), ("ab", "abx", "", "x"),
  ])
  func `a list of elements takes what both added and loses what either removed`(
    _ base: String,
    _ local: String,
    _ server: String,
    _ expected: String
  ) {
    func list(_ text: String) -> FieldValue? { text.isEmpty ? nil : Self.words(text) }

    #expect(outcome(.elements, list(base), list(local), list(server)) == list(expected))
    if local != server, list(server) != list(base), list(local) != list(base) {
      #expect(outcome(.elements, list(base), list(server), list(local)) == list(expected))
    }
  }

  @Test func `encrypted values are joined inside and stay encrypted`() {
    let values = [1, 2, 5, 6].map { FieldValue.encrypted(.int64($0)) }

    #expect(outcome(.counter, values[0], values[1], values[2]) == values[3])
    #expect(
      outcome(.elements, nil, .encrypted(Self.words("b")), .encrypted(Self.words("a"))) == .encrypted(Self.words("ab"))
    )
    // What is encrypted on one side only is a change of kind, not of number.
    #expect(merge(.counter, values[0], .int64(2), values[2]).conflicts == ["field"])
  }

  @Test(arguments: [
    (MergeRule.counter, FieldValue.string("b")), (.counter, .double(2)), (.counter, .timestamp(2)),
    (.elements, .int64(2)), (.elements, .list(.int64, [.int64(2)])), (.elements, .string("b")), (.value, .int64(2)),
  ])
  func `a rule that does not fit leaves the field to the policy`(_ rule: MergeRule, _ local: FieldValue) {
    let base: FieldValue = rule == .elements ? Self.words("a") : .int64(1)
    let server: FieldValue = rule == .elements ? Self.words("as") : .int64(3)

    #expect(merge(rule, base, local, server, policy: .server).dropped == ["field"])
    #expect(merge(rule, base, local, server, policy: .client).remaining["field"] == local)
    #expect(merge(rule, base, local, server, policy: .manual).conflicts == ["field"])
  }

  @Test func `lists of assets, whose bytes are known by their places, stay whole`() {
    let lists = ["x", "y", "z"].map { FieldValue.list(.asset, [.asset(WireAsset(fileChecksum: $0, size: 1))]) }

    #expect(merge(.elements, lists[0], lists[1], lists[2]).conflicts == ["field"])
  }

  @Test func `the rule that a change brings goes before the engine's`() {
    func remaining(_ own: MergeRule?, _ engines: MergeRule?) -> FieldValue? {
      var changes = FieldChanges()
      changes.merge("n", .int64(2), own)
      return Merge(
        changes,
        base: ["n": .int64(1)],
        server: ["n": .int64(5)],
        policy: .client,
        rules: engines.map { ["n": $0] } ?? [:],
        editedAt: 1,
        serverModifiedAt: 1
      ).remaining["n"]
    }

    #expect(remaining(nil, .counter) == .int64(6))
    #expect(remaining(.counter, nil) == .int64(6))
    #expect(remaining(.value, .counter) == .int64(2))
    #expect(remaining(.counter, .value) == .int64(6))
  }

  @Test func `rules stay with the changes they came with, in the file too`() throws {
    var changes = FieldChanges(
      values: ["n": .int64(1), "list": Self.words("a"), "plain": .int64(1)],
      cleared: ["gone"],
      rules: ["n": .counter, "list": .elements, "gone": .elements, "stranger": .counter]
    )
    #expect(changes.rules == ["n": .counter, "list": .elements, "gone": .elements])
    #expect(try JSONColumn.value(JSONColumn.text(changes), as: FieldChanges.self) == changes)

    changes.apply(FieldChanges(values: ["n": .int64(2), "plain": .int64(3)], rules: ["plain": .counter]))
    changes.forget("list")
    #expect(changes.rules == ["n": .counter, "gone": .elements, "plain": .counter])
    #expect(try JSONColumn.text(FieldChanges(values: ["n": .int64(1)])).contains("rules") == false)
  }

  @Test func `a clear that was made without knowing the record is meant`() {
    func merge(_ policy: ConflictPolicy, isBaseKnown: Bool) -> Merge {
      Merge(
        FieldChanges(cleared: ["field"]),
        base: [:],
        isBaseKnown: isBaseKnown,
        server: ["field": .int64(1)],
        policy: policy,
        editedAt: 2,
        serverModifiedAt: 1
      )
    }

    #expect(merge(.client, isBaseKnown: false).remaining == FieldChanges(cleared: ["field"]))
    #expect(merge(.newest, isBaseKnown: false).remaining == FieldChanges(cleared: ["field"]))
    #expect(merge(.server, isBaseKnown: false).dropped == ["field"])
    #expect(merge(.manual, isBaseKnown: false).conflicts == ["field"])
    #expect(merge(.client, isBaseKnown: true).remaining.isEmpty)
  }
}
