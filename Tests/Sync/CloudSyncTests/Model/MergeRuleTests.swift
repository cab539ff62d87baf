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
    #expect(
      outcome(.elements, nil, .encrypted(Self.words("b")), .encrypted(Self.words("a"))) == .encrypted(Self.words("ab"))
    )
    // What is encrypted on one side only is a change of kind, not of elements.
    #expect(merge(.elements, nil, Self.words("b"), .encrypted(Self.words("a"))).conflicts == ["field"])
  }

  @Test(arguments: [
    (MergeRule.elements, FieldValue.int64(2)), (.elements, .list(.int64, [.int64(2)])), (.elements, .string("b")),
    (.value, .int64(2)),
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
      changes.merge("list", Self.words("ab"), own)
      return Merge(
        changes,
        base: ["list": Self.words("a")],
        server: ["list": Self.words("ac")],
        policy: .client,
        rules: engines.map { ["list": $0] } ?? [:],
        editedAt: 1,
        serverModifiedAt: 1
      ).remaining["list"]
    }

    #expect(remaining(nil, .elements) == Self.words("abc"))
    #expect(remaining(.elements, nil) == Self.words("abc"))
    #expect(remaining(.value, .elements) == Self.words("ab"))
    #expect(remaining(.elements, .value) == Self.words("abc"))
  }

  @Test func `rules stay with the changes they came with, in the file too`() throws {
    var changes = FieldChanges(
      values: ["n": .int64(1), "list": Self.words("a"), "plain": .int64(1)],
      cleared: ["gone"],
      rules: ["n": .value, "list": .elements, "gone": .elements, "stranger": .elements]
    )
    #expect(changes.rules == ["n": .value, "list": .elements, "gone": .elements])
    #expect(try JSONColumn.value(JSONColumn.text(changes), as: FieldChanges.self) == changes)

    changes.apply(FieldChanges(values: ["n": .int64(2), "plain": .int64(3)], rules: ["plain": .value]))
    changes.forget("list")
    #expect(changes.rules == ["n": .value, "gone": .elements, "plain": .value])
    #expect(try JSONColumn.text(FieldChanges(values: ["n": .int64(1)])).contains("rules") == false)
  }

  @Test func `a value that was taken back is sent while the request with another one may still arrive`() {
    let merge = Merge(
      FieldChanges(values: ["n": .int64(10)]),
      base: ["n": .int64(10)],
      contested: ["n"],
      server: ["n": .int64(10)],
      policy: .server,
      editedAt: 2,
      serverModifiedAt: 1
    )

    #expect(merge.remaining["n"] == .int64(10))
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
