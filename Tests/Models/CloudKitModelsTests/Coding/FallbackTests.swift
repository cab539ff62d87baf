import CloudKit
import CloudKitModels
import Foundation
import Testing

private enum Mood: String, CKFallbackCase, CaseIterable { case unknown, glad, sad }
private enum Size: Int, CKFallbackCase {
  case small = 1
  case large
  static var fallbackCase: Size { .large }
}
private enum Weight: UInt8, CKFallbackCase, CaseIterable { case light, heavy }

private struct Room: Codable, Equatable {
  var mood: Mood
  var sizes: [Size]
}

@Suite(.serialized) struct FallbackTests {
  private func read<Value: Decodable>(_ type: Value.Type, _ field: FieldValue?) throws -> Value {
    let fields = field.map { ["value": $0] } ?? [:]
    return try CKRecordDecoder().decode(Box<Value>.self, from: .fetched("Box", "box", fields)).value
  }

  @Test func `an unknown raw value is the fallback case, which is the first one unless it is declared`() throws {
    #expect(try read(Mood.self, .string("angry")) == .unknown)
    #expect(try read(Size.self, .int64(9)) == .large)
    #expect(try read(Weight.self, .int64(9)) == .light)
  }

  @Test func `a known raw value is its case`() throws {
    for mood in Mood.allCases {
      let record = try CKRecordEncoder().encode(Box(value: mood))
      #expect(record["value"] == mood.rawValue)
      #expect(try CKRecordDecoder().decode(Box<Mood>.self, from: record).value == mood)
    }
    #expect(try read(Size.self, .int64(1)) == .small)
  }

  @Test func `optionals, lists and nested values have the fallback too`() throws {
    #expect(try read(Mood?.self, .string("angry")) == .unknown)
    #expect(try read(Mood?.self, nil) == nil)
    #expect(try read([Mood].self, .list(.string, [.string("sad"), .string("angry")])) == [.sad, .unknown])
    let json = Data(#"{"mood":"angry","sizes":[1,9]}"#.utf8)
    #expect(try read(Room.self, .bytes(json)) == Room(mood: .unknown, sizes: [.small, .large]))
  }

  @Test func `a value of another type and a missing one are errors`() {
    for field: FieldValue? in [.int64(1), nil, .list(.string, [])] {
      #expect(path(of: #expect(throws: CKModelError.self) { try read(Mood.self, field) }) == ["value"])
    }
    #expect(throws: CKModelError.self) { try read(Weight.self, .int64(300)) }
  }
}
