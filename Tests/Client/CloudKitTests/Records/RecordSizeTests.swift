import CloudKit
import Foundation
import Testing

struct RecordSizeTests {
  @Test(
    arguments: [
      (.string("é"), 2), (.bytes(Data(count: 300)), 300), (.int64(.max), 8), (.double(0), 8), (.timestamp(0), 8),
      (.reference(WireReference(recordName: "abc")), 3), (.asset(WireAsset(size: 1_000_000)), 8),
      (.list(.string, []), 0), (.list(.string, [.string("ab"), .string("c")]), 3), (.encrypted(.string("ab")), 2),
    ] as [(FieldValue, Int)]
  )
  func `a value has the bytes that it holds, and an asset none of its file`(_ value: FieldValue, _ bytes: Int) {
    #expect(RecordSize.bytes(of: value) == bytes)
    #expect(RecordSize.bytes(of: ["a": value, "bc": value]) == 3 + 2 * bytes)
  }
}
