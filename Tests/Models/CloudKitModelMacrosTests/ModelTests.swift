import CloudKit
public import CloudKitModelMacros
import Foundation
import Observation
import Testing

/// Real types with the macro: their fields on the wire, and back.
@Suite(.serialized) struct ModelTests {
  @Test func `a model of every shape of property comes back as it was`() throws {
    var kitchen = Kitchen(id: UUID(), a: "1", b: "2", url: URL(string: "https://example.com"), kind: .big)
    kitchen.in = [1, 2]
    kitchen.count = 7
    kitchen.watched = "w"
    kitchen.list = CKRecord.Reference(recordID: CKRecord.ID(recordName: "l"), action: .none)

    let record = try CKRecordEncoder().encode(kitchen)

    #expect(record.recordType == "Kitchen")
    #expect(record.recordID.recordName == kitchen.id.uuidString)
    #expect(Set(record.allKeys()) == ["a", "b", "url", "kind", "amount", "in", "tags", "note", "watched", "list"])
    #expect(record["amount"] as? Int == 7)
    let read = try CKRecordDecoder().decode(Kitchen.self, from: record)
    let copy = try JSONDecoder().decode(Kitchen.self, from: JSONEncoder().encode(kitchen))
    #expect(read == kitchen && copy == kitchen)
    // A model is found in a set before it is saved and after.
    #expect(Set([kitchen]).contains(read) && copy.hashValue == kitchen.hashValue)
  }

  @Test func `the fields are known by their names on the server`() {
    let names: Set = ["a", "b", "url", "kind", "amount", "in", "tags", "note", "untold", "watched", "list"]
    #expect(Set(Kitchen.Fields.allCases.map(\.rawValue)) == names)
    #expect(Kitchen.Fields.count.rawValue == "amount")
    #expect(Kitchen.Fields(rawValue: "in") == .in)
  }

  @Test func `queries know a property by its field or system value`() {
    #expect(Kitchen.queryKey(for: \.count) == "amount")
    #expect(Kitchen.queryKey(for: \.in) == "in")
    #expect(Kitchen.queryKey(for: \.id) == nil)
    #expect(Kitchen.queryKey(for: \.changes) == nil)
    #expect(Kitchen.queryKey(for: \.a.count) == nil)
    #expect(Shelf.queryKey(for: \.text) == "text")
    #expect(Watched.queryKey(for: \.title) == "title")
    #expect(Box<Int>.queryKey(for: \.value) == "value")
    #expect(Outer.Written.queryKey(for: \.text) == "text")
    #expect(Portrait.queryKey(for: \.createdAt) == "creationDate")
    #expect(Portrait.queryKey(for: \.changedAt) == "modificationDate")
    #expect(Portrait.queryKey(for: \.author) == "creatorUserRecordID")
    #expect(Portrait.queryKey(for: \.editor) == "lastModifiedUserRecordID")
    #expect(Portrait.queryKey(for: \.version) == nil)
  }

  @Test func `assets and system values are known by their keys`() throws {
    let record = try CKRecordEncoder().encode(Portrait(recordName: "p", data: Data("d".utf8)))

    #expect(Portrait.assetKeys == ["data"])
    #expect(record["data"] is CKAsset)
    #expect(Portrait.systemKeys.count == 6)
    #expect(Portrait.systemKeys["createdAt"] == .creationDate)
    #expect(Portrait.Fields.allCases == [.data])
    #expect(Kitchen.assetKeys.isEmpty && Kitchen.systemKeys.isEmpty)
    #expect(Drawing.assetKeys == ["Lines"])
  }

  @Test func `a field that an older record lacks has its default, and nil and an empty list stay what they are`() throws
  {
    let record = CKRecord(recordType: "Kitchen", recordID: CKRecord.ID(recordName: UUID().uuidString))
    (record["a"], record["b"], record["kind"]) = ("1", "2", "small")

    let kitchen = try CKRecordDecoder().decode(Kitchen.self, from: record)

    #expect(kitchen.count == 3)
    #expect(kitchen.watched == "")
    #expect(kitchen.tags == [])
    #expect(kitchen.note == nil)
    let missing = CKRecord(recordType: "Kitchen", recordID: record.recordID)
    #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Kitchen.self, from: missing) }
  }

  @Test func `nil is cleared`() throws {
    var kitchen = Kitchen(id: UUID(), a: "1", b: "2", url: URL(string: "https://example.com"), kind: .big)
    let record = try CKRecordEncoder().encode(kitchen)
    kitchen.url = nil
    kitchen.note = nil

    try CKRecordEncoder().encode(kitchen, onto: record)

    #expect(record["url"] == nil)
    #expect(record["note"] == nil)
  }

  @Test func `classes, generic, nested and half models code`() throws {
    let shelf = Shelf()
    shelf.title = "Books"
    shelf.text = " a "
    let box = Box(recordName: "b", value: Kitchen.Kind.big)

    let record = try CKRecordEncoder().encode(shelf)
    #expect(record.recordType == "Rack")
    let read = try CKRecordDecoder().decode(Shelf.self, from: record)
    #expect(read.title == "Books" && read.text == "a" && read.id == shelf.id)
    #expect(try CKRecordDecoder().decode(Box<Kitchen.Kind>.self, from: CKRecordEncoder().encode(box)).value == .big)
    #expect(try CKRecordEncoder().encode(Outer.Written(id: 1, text: "t")).recordID.recordName == "1")
    #expect(!(Outer.Written.self is any Decodable.Type))
    let watched = Watched()
    watched.title = "Seen"
    #expect(try CKRecordDecoder().decode(Watched.self, from: CKRecordEncoder().encode(watched)).title == "Seen")
    let place = Place(country: "CH", code: "BE")
    #expect(try CKRecordEncoder().encode(place).recordID.recordName == "CH-BE")
    #expect(try CKRecordDecoder().decode(Place.self, from: CKRecordEncoder().encode(place)) == place)
  }

  @Test func `a type can name its record type in capitals`() throws {
    let record = try CKRecordEncoder().encode(Capital(id: "c", title: "t"))
    #expect(Capital.recordType == "Town" && record.recordType == "Town")
    #expect(try CKRecordDecoder().decode(Capital.self, from: record).title == "t")
    #expect(try Query<Capital>().query().recordType == "Town")
  }

  @Test func `coding keys of the type's own choose and name the fields`() throws {
    let own = Own(id: "u", heading: "h", draft: "d")

    let record = try CKRecordEncoder().encode(own)

    #expect(record.recordID.recordName == "u")
    #expect(record.allKeys() == ["Title"])
    #expect(try CKRecordDecoder().decode(Own.self, from: record).draft == "")
    #expect(Own.Fields.allCases.map(\.rawValue) == ["Title"])
  }
}

/// A property of every shape.
@CKModel
public struct Kitchen: Hashable, Sendable {
  /// A plain enum with a raw value.
  public enum Kind: String, Codable, Sendable { case small, big }

  static let shared = 1
  /// Computed, of the type.
  public static var all: [Self] { [] }
  /// The identity.
  public let id: UUID
  /// Two at once.
  let a, b: String
  var url: URL?
  var kind: Kind
  @CKField("amount") var count = 3
  var `in`: [Int] = []
  var tags = ["none"]
  var note: String? = "n"
  var untold = Int?.none
  var watched: String = "" { didSet { changes += watched == oldValue ? 0 : 1 } }
  var list: CKRecord.Reference?
  var changes: Int {
    get { 0 }
    set {}
  }
}

@CKModel(recordType: "Rack")
final class Shelf {
  var id = UUID()
  var title = ""
  @Trimmed var text = ""
  lazy var upper = title.uppercased()
}

@Observable
@CKModel
final class Watched {
  private(set) var id = UUID()
  var title = ""
}

@propertyWrapper
struct Trimmed {
  private var text: String
  var wrappedValue: String {
    get { text }
    set { text = newValue.trimmingCharacters(in: .whitespaces) }
  }

  init(wrappedValue: String) { text = wrappedValue.trimmingCharacters(in: .whitespaces) }
}

@CKModel
struct Box<Value: Codable> {
  var recordName: String
  var value: Value
}

enum Outer {}

extension Outer {
  @CKModel
  struct Written: Encodable {
    let id: Int
    var text: String
  }
}

@CKModel
private struct Place: Equatable {
  var country: String
  var code: String
  var recordName: String { "\(country)-\(code)" }
}

@CKModel
struct Portrait {
  var recordName: String
  @CKField(asset: true) var data: Data?
  @CKSystem(.creationDate) var createdAt: Date?
  @CKSystem(.modificationDate) var changedAt: Date?
  @CKSystem(.creatorUserRecordName) var author: String?
  @CKSystem(.lastModifiedUserRecordName) var editor: String?
  @CKSystem(.changeTag) var version: String?
  @CKSystem(.parent) var album: CKRecord.Reference?
}

@CKModel
struct Drawing {
  var id: String
  @CKField(asset: true) var lines: Data

  private enum CodingKeys: String, CodingKey { case id, lines = "Lines" }
}

@CKModel
struct Own {
  var id: String
  var heading: String
  var draft = ""

  private enum CodingKeys: String, CodingKey { case id = "uid", heading = "Title" }
}

@CKModel
private struct Capital {
  static let RecordType = "Town"
  let id: String
  var title: String
}
