import CloudKit
import CloudKitModels
import Foundation
import Testing

private final class Node: Codable {
  var name: String
  var next: Node?
  var others: [Node] = []

  init(_ name: String) { self.name = name }
}

private struct Holder<Value: Codable>: Codable { var held: Value }

@Suite(.serialized) struct NestingTests {
  private func error(_ value: some Encodable) -> [String]? {
    path(of: #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: value)) })
  }

  private func readError<Value: Decodable>(_ type: Value.Type, _ json: String) -> [String]? {
    let record = CKRecord.fetched("Box", "box", ["value": .bytes(Data(json.utf8))])
    return path(of: #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Value>.self, from: record) })
  }

  @Test func `a model is not inside a nested value`() {
    #expect(error([[Note()]]) == ["value", "Index 0", "Index 0"])
    #expect(error(Holder(held: Note())) == ["value", "held"])
    #expect(error(["a": [Note()]]) == ["value", "a", "Index 0"])
    #expect(readError(Note.self, "{}") == ["value"])
    #expect(readError(Note?.self, "{}") == ["value"])
    #expect(readError([Note].self, "[]") == ["value"])
  }

  private struct Listed: CKFormattedContent, Equatable {
    static let contentFormat = CKContentFormat.xmlPropertyList
    var text = "a"
    var numbers = [1, 2]
  }

  private struct Packed: CKFormattedContent, Equatable {
    static let contentFormat = CKContentFormat.binaryPropertyList
    var text = "a"
    var made = Date(timeIntervalSince1970: 5)
  }

  private struct Plain: CKFormattedContent, Equatable {
    static let contentFormat = CKContentFormat.json
    var text = "a"
  }

  private func bytes<Value: Codable>(_ value: Value) throws -> Data? {
    let record = try CKRecordEncoder().encode(Box(value: value))
    return record["value"] as? Data
  }

  private func read<Value: Codable>(_ type: Value.Type, _ data: Data?) throws -> Value {
    let record = CKRecord.fetched("Box", "box", ["value": .bytes(data ?? Data())])
    return try CKRecordDecoder().decode(Box<Value>.self, from: record).value
  }

  @Test func `a nested value is stored in the format that its type chooses, and read in any`() throws {
    #expect(try bytes(Listed())?.starts(with: "<?xml".utf8) == true)
    #expect(try bytes(Packed())?.starts(with: "bplist".utf8) == true)
    #expect(try bytes(Plain()) == Data(#"{"text":"a"}"#.utf8))
    #expect(try bytes(Listed?.some(Listed())) == bytes(Listed()) && bytes(Packed()) == bytes(Packed()))
    for data in [try bytes(Listed()), Data(#"{"text":"a","numbers":[1,2]}"#.utf8)] {
      #expect(try read(Listed.self, data) == Listed())
    }
    #expect(try read(Packed.self, bytes(Packed())) == Packed() && read(Plain.self, bytes(Plain())) == Plain())
    #expect(try read(Plain.self, bytes(Listed())) == Plain())

    struct Filed: Codable, Equatable, Identifiable, CKRecordModel {
      static let assetKeys: Set<String> = ["content"]
      var id = "f"
      var content = Packed()
    }
    let record = try CKRecordEncoder().encode(Filed())
    let file = try #require((record["content"] as CKAsset?)?.fileURL)
    #expect(try Data(contentsOf: file).starts(with: "bplist".utf8))
    #expect(try CKRecordDecoder().decode(Filed.self, from: record) == Filed())
  }

  @Test func `objects that contain each other are an error that names the field`() {
    let (first, second) = (Node("a"), Node("b"))
    first.next = second
    second.others = [Node("c"), first]
    defer { second.others = [] }

    #expect(error(first) == ["value", "next", "others", "Index 1"])
    #expect(error([first]) == ["value", "Index 0", "next", "others", "Index 1"])
    #expect(error(Holder(held: first)) == ["value", "held", "next", "others", "Index 1"])
  }

  @Test func `an object that occurs twice without a cycle is encoded`() throws {
    let (first, shared) = (Node("a"), Node("b"))
    first.next = shared
    first.others = [shared, shared]

    let record = try CKRecordEncoder().encode(Box(value: first))

    let read = try CKRecordDecoder().decode(Box<Node>.self, from: record).value
    #expect(read.next?.name == "b")
    #expect(read.others.map(\.name) == ["b", "b"])
  }

  @Test func `what is nested deeper than can be decoded is not encoded`() throws {
    func chain(_ length: Int) -> Node {
      (1..<length).reduce(into: Node("0")) { node, index in
        let outer = Node("\(index)")
        outer.next = node
        node = outer
      }
    }

    let record = try CKRecordEncoder().encode(Box(value: chain(500)))
    #expect(try CKRecordDecoder().decode(Box<Node>.self, from: record).value.name == "499")
    #expect(error(chain(600))?.first == "value")
  }

  @Test func `an asset and a file are not inside nested values`() throws {
    let asset = try CKAsset(contents: Data("a".utf8))

    #expect(error(["a": asset]) == ["value", "a"])
    #expect(error(Holder(held: [asset])) == ["value", "held", "Index 0"])
    #expect(error(["a": URL(fileURLWithPath: "/a")]) == ["value", "a"])
    #expect(readError([String: CKAsset].self, #"{"a":{}}"#) == ["value", "a"])
  }

  @Test func `a location inside a nested value is readable JSON`() throws {
    let location = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 46.95, longitude: 7.44),
      altitude: 540,
      horizontalAccuracy: 5,
      verticalAccuracy: 3,
      course: 90,
      speed: 1.5,
      timestamp: Date(timeIntervalSinceReferenceDate: 700)
    )

    let record = try CKRecordEncoder().encode(Box(value: ["at": location]))

    let json = """
      {"at":{"altitude":540,"course":90,"horizontalAccuracy":5,"latitude":46.95,"longitude":7.44,"speed":1.5,\
      "timestamp":700,"verticalAccuracy":3}}
      """
    #expect(try record.wireFields()["value"] == .bytes(Data(json.utf8)))
    let again = try CKRecordEncoder().encode(CKRecordDecoder().decode(Box<[String: CLLocation]>.self, from: record))
    #expect(try again.wireFields() == record.wireFields())
    let short = CKRecord.fetched("Box", "box", ["value": .bytes(Data(#"{"latitude":1,"longitude":2}"#.utf8))])
    let place = try CKRecordDecoder().decode(Box<Holder<CLLocation>?>.self, from: .fetched("Box", "box", [:])).value
    #expect(place == nil)
    #expect(
      try CKRecordDecoder().decode(Box<Coordinates>.self, from: short).value == Coordinates(latitude: 1, longitude: 2)
    )
  }

  private struct Coordinates: Codable, Equatable { var latitude, longitude: Double }
}
