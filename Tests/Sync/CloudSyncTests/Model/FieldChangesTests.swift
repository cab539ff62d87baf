import CloudKit
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// Changes of fields: how they merge, apply and count.
@Suite(.serialized) struct FieldChangesTests {
  @Test func `a later change wins field by field`() {
    var changes = FieldChanges(values: ["a": .int64(1), "b": .int64(1)], cleared: ["c"])

    changes.apply(FieldChanges(values: ["b": .int64(2), "c": .int64(2)], cleared: ["a"]))

    #expect(changes == FieldChanges(values: ["b": .int64(2), "c": .int64(2)], cleared: ["a"]))
  }

  @Test func `a field is set or cleared, never both`() {
    let changes = FieldChanges(values: ["a": .int64(1)], cleared: ["a", "b"])

    #expect(changes.cleared == ["b"])
    #expect(changes.names == ["a", "b"])
  }

  @Test func `forgetting leaves a field alone`() {
    var changes = FieldChanges(values: ["a": .int64(1)], cleared: ["b"])

    changes.forget("a")
    changes.forget("b")

    #expect(changes.isEmpty)
  }

  @Test func `applying and taking what is effective are inverse`() {
    var random = SplitMix64(seed: 3)
    for _ in 0..<500 {
      var before: [String: FieldValue] = [:]
      var changes = FieldChanges()
      for name in ["a", "b", "c"] {
        if random.next() % 2 == 0 { before[name] = .int64(Int64(random.next() % 2)) }
        if random.next() % 2 == 0 { changes[name] = random.next() % 3 == 0 ? nil : .int64(Int64(random.next() % 2)) }
      }
      let after = changes.applied(to: before)
      let effective = changes.effective(on: before)

      #expect(effective.applied(to: before) == after)
      #expect(effective.isEmpty == (after == before))
      #expect(changes.effective(on: after).isEmpty)
    }
  }

  @Test func `bytes grow with the text`() {
    let short = FieldChanges(values: ["a": .string("x")]).requestBytes
    let long = FieldChanges(values: ["a": .string(String(repeating: "x", count: 1001))]).requestBytes

    #expect(long == short + 1000)
    #expect(FieldValue.bytes(Data(count: 300)).byteCount == 400)
    #expect(FieldValue.list(.string, [.string("ab"), .string("c")]).byteCount == 11)
  }
}
