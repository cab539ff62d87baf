import CloudKit
import CloudKitModels
import Foundation
import TestSupport
import Testing

/// Models whose shape is no record's: each throws, none traps.
@Suite(.serialized) struct ShapeTests {
  private class Parent: Codable {
    var inherited = 1
    init() {}
  }

  private final class Child: Parent, CKRecordModel {
    var recordName: String { "child" }
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try super.encode(to: container.superEncoder())
    }
  }

  private enum Key: String, CodingKey { case a, recordName }

  private struct Whole: Codable, CKRecordModel {
    var recordName: String { "whole" }
    var encodes: @Sendable (any Encoder) throws -> Void
    init(_ encodes: @escaping @Sendable (any Encoder) throws -> Void) { self.encodes = encodes }
    init(from decoder: any Decoder) throws {
      if var list = try? decoder.unkeyedContainer() { _ = try list.decode(Int.self) }
      encodes = { _ in }
      _ = try decoder.singleValueContainer().decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws { try encodes(encoder) }
  }

  @Test func `a list, a single value and nested containers are refused at the top`() {
    let shapes: [@Sendable (any Encoder) throws -> Void] = [
      { _ = $0.unkeyedContainer() },
      { encoder in
        var list = encoder.unkeyedContainer()
        try? list.encode(1)
      },
      { encoder in
        var single = encoder.singleValueContainer()
        try single.encodeNil()
      },
      { encoder in
        var keyed = encoder.container(keyedBy: Key.self)
        _ = keyed.nestedContainer(keyedBy: Key.self, forKey: .a)
      },
      { encoder in
        var keyed = encoder.container(keyedBy: Key.self)
        var list = keyed.nestedUnkeyedContainer(forKey: .a)
        try list.encode(1)
      },
      { encoder in
        var keyed = encoder.container(keyedBy: Key.self)
        _ = keyed.superEncoder(forKey: .a).container(keyedBy: Key.self)
      },
    ]
    for shape in shapes {
      #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Whole(shape)) }
    }
    let record = CKRecord.fetched("Whole", "whole", [:])
    #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Whole.self, from: record) }
  }

  @Test func `a super encoder and a super decoder are refused`() {
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Child()) }
    let record = CKRecord.fetched("Child", "child", ["inherited": .int64(1)])
    #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Child.self, from: record) }
  }

  @Test func `an identity that is no name is refused`() {
    struct Dated: Codable, Identifiable, CKRecordModel {
      var id = Date()
      var recordName: String { "dated" }
    }
    struct Both: Codable, Identifiable, CKRecordModel {
      var id = UUID()
      var recordName = "both"
    }
    struct Unnamed: Codable, CKRecordModel { var recordName = "" }

    func error(_ model: some CKRecordModel & Encodable) -> [String]? {
      path(of: #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(model) })
    }
    #expect(error(Dated()) == ["id"])
    #expect(error(Both()) == ["id"])
    #expect(error(Unnamed()) == [])
    let dated = CKRecord.fetched("Dated", "dated", [:])
    #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Dated.self, from: dated) }
  }

  @Test func `a list whose elements change type is refused`() {
    enum Either: Encodable {
      case number(Int)
      case text(String)
      case place(Place)
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .place(let place): try container.encode(place)
        }
      }
    }

    for list in [[Either.number(1), .text("a")], [.place(Place()), .number(1)], [.text("a"), .place(Place())]] {
      let error = #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: list)) }
      #expect(path(of: error) == ["value", "Index 1"])
    }
  }

  @Test func `a model that only encodes and one that only decodes are models`() throws {
    struct Written: Encodable, CKRecordModel {
      static let recordType = "Half"
      var recordName = "half"
      var a = 1
    }
    struct Read: Decodable, CKRecordModel {
      static let recordType = "Half"
      var recordName: String
      var a: Int
    }

    #expect(try CKRecordDecoder().decode(Read.self, from: CKRecordEncoder().encode(Written())).a == 1)
  }

  @Test func `a thousand random shapes are stored or refused, and none traps`() throws {
    var random = SplitMix64(seed: 7)
    var stored = 0
    for _ in 0..<1000 {
      let shape = Shape.random(depth: 4, using: &random)
      do {
        let record = try CKRecordEncoder().encode(Box(value: shape))
        stored += 1
        _ = try? CKRecordDecoder().decode(Box<[String: [Int]]>.self, from: record)
      } catch {
        #expect(error.model == "Box<Shape>")
      }
    }
    #expect(stored > 100 && stored < 1000)
  }
}

/// A value that encodes itself in one of the ways that `Encoder` permits.
private indirect enum Shape: Encodable {
  case number(Double)
  case text(String)
  case null
  case nothing
  case wrapper(Shape)
  case list([Shape])
  case nestedList(Shape)
  case keyed(Shape)
  case nestedKeyed(Shape)
  case parent(Shape)
  case failure

  enum Key: String, CodingKey { case a, b }
  struct Failure: Error {}

  static func random(depth: Int, using random: inout SplitMix64) -> Shape {
    func inner() -> Shape { Shape.random(depth: depth - 1, using: &random) }
    let kinds = depth == 0 ? 4 : 11
    switch Int.random(in: 0..<kinds, using: &random) {
    case 0: return .number([1, 2.5, .nan, .infinity].randomElement(using: &random) ?? 0)
    case 1: return .text("t")
    case 2: return .null
    case 3: return .nothing
    case 4: return .wrapper(inner())
    case 5: return .list((0..<Int.random(in: 0...3, using: &random)).map { _ in inner() })
    case 6: return .nestedList(inner())
    case 7: return .keyed(inner())
    case 8: return .nestedKeyed(inner())
    case 9: return .parent(inner())
    default: return .failure
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .number(let number):
      var single = encoder.singleValueContainer()
      try single.encode(number)
    case .text(let text):
      var single = encoder.singleValueContainer()
      try single.encode(text)
    case .null:
      var single = encoder.singleValueContainer()
      try single.encodeNil()
    case .nothing: break
    case .wrapper(let shape):
      var single = encoder.singleValueContainer()
      try single.encode(shape)
    case .list(let shapes): try shapes.encode(to: encoder)
    case .nestedList(let shape):
      var list = encoder.unkeyedContainer()
      try list.encodeNil()
      var inner = list.nestedUnkeyedContainer()
      try inner.encode(shape)
    case .keyed(let shape):
      var keyed = encoder.container(keyedBy: Key.self)
      try keyed.encode(shape, forKey: .a)
      try keyed.encodeNil(forKey: .b)
    case .nestedKeyed(let shape):
      var keyed = encoder.container(keyedBy: Key.self)
      var inner = keyed.nestedContainer(keyedBy: Key.self, forKey: .a)
      try inner.encode(shape, forKey: .b)
    case .parent(let shape):
      var keyed = encoder.container(keyedBy: Key.self)
      try shape.encode(to: keyed.superEncoder())
    case .failure: throw Failure()
    }
  }
}
