import CloudKit
import CloudKitModels
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct ModelTests {
  private let name = "8B0B5C0E-6E2D-4B43-9F2B-0D6E5B3D7A11"

  @Test func `a new record has the type's name, the model's identity and the encoder's zone`() throws {
    let zoneID = CKRecordZone.ID(zoneName: "notes")

    let record = try CKRecordEncoder(zoneID: zoneID).encode(Note())

    #expect(record.recordType == "Note")
    #expect(record.recordID == CKRecord.ID(recordName: name, zoneID: zoneID))
    #expect(try record.wireFields() == ["title": .string("Milk"), "isDone": .int64(0)])
  }

  @Test func `encoding twice gives the same identity`() throws {
    let encoder = CKRecordEncoder()

    #expect(try encoder.encode(Note()).recordID == encoder.encode(Note()).recordID)
  }

  @Test func `the identity comes from the record's name and not from a field`() throws {
    struct Numbered: Codable, Identifiable, CKRecordModel { var id: Int }
    struct Named: Codable, CKRecordModel { var recordName: String }

    let note = try CKRecordDecoder().decode(
      Note.self,
      from: .fetched("Note", name, ["title": .string("Oats"), "isDone": .int64(1), "id": .string("other")])
    )

    #expect(note == Note(title: "Oats", isDone: true))
    #expect(try CKRecordDecoder().decode(Numbered.self, from: .fetched("Numbered", "42", [:])).id == 42)
    #expect(try CKRecordEncoder().encode(Numbered(id: 42)).recordID.recordName == "42")
    #expect(try CKRecordDecoder().decode(Named.self, from: .fetched("Named", "n", [:])).recordName == "n")
    #expect(try CKRecordEncoder().encode(Named(recordName: "n")).allKeys() == [])
  }

  @Test func `a key of another name can hold the identity`() throws {
    struct Renamed: Codable, Identifiable, CKRecordModel {
      static let recordType = "Old"
      static let recordNameKey = "uid"
      var id: String
      enum CodingKeys: String, CodingKey { case id = "uid" }
    }

    let record = try CKRecordEncoder().encode(Renamed(id: "a"))

    #expect(record.recordType == "Old")
    #expect(record.allKeys() == [])
    #expect(try CKRecordDecoder().decode(Renamed.self, from: record).id == "a")
  }

  @Test(arguments: ["not a UUID", "8b0b5c0e-6e2d-4b43-9f2b-0d6e5b3d7a11"])
  func `a name that the identity would not give back throws`(name: String) {
    let record = CKRecord.fetched("Note", name, ["title": .string("Oats"), "isDone": .int64(1)])

    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Note.self, from: record) }

    #expect(path(of: error) == ["id"])
  }

  @Test func `a value set to nil is cleared and so is a list that became empty`() throws {
    let record = CKRecord.fetched(
      "Note",
      name,
      [
        "title": .string("Milk"), "isDone": .int64(0), "priority": .string("low"), "due": .timestamp(1),
        "tags": .list(.string, [.string("a")]), "place": .bytes(Data("{}".utf8)),
      ]
    )

    try CKRecordEncoder().encode(Note(), onto: record)

    let changes = try record.changedFields()
    #expect(changes.set.isEmpty)
    #expect(changes.cleared == ["priority", "due", "tags", "place"])
  }

  @Test func `nil of every type clears its field, and counts as cleared on a new record`() throws {
    struct Sparse: Codable, CKRecordModel {
      var recordName = "n"
      var bool: Bool?
      var string: String?
      var double: Double?
      var float: Float?
      var int: Int?
      var int8: Int8?
      var int16: Int16?
      var int32: Int32?
      var int64: Int64?
      var uint: UInt?
      var uint8: UInt8?
      var uint16: UInt16?
      var uint32: UInt32?
      var uint64: UInt64?
      var date: Date?
      var data: Data?
      var reference: CKRecord.Reference?
    }
    let target = CKRecord.ID(recordName: "t")
    let full = Sparse(
      bool: true,
      string: "a",
      double: 1.5,
      float: 2.5,
      int: 1,
      int8: 2,
      int16: 3,
      int32: 4,
      int64: 5,
      uint: 6,
      uint8: 7,
      uint16: 8,
      uint32: 9,
      uint64: 10,
      date: Date(timeIntervalSince1970: 1),
      data: Data("d".utf8),
      reference: CKRecord.Reference(recordID: target, action: .none)
    )
    let record = CKRecord.fetched("Sparse", "n", try CKRecordEncoder().encode(full).wireFields())
    #expect(record.allKeys().count == 17 && record.changedKeys() == [])

    try CKRecordEncoder().encode(Sparse(), onto: record)

    let changes = try record.changedFields()
    #expect(changes.set.isEmpty && changes.cleared.count == 17)
    #expect(record.allKeys() == [])

    let new = try CKRecordEncoder().encode(Sparse())
    #expect(new.changedKeys().count == 17)
    #expect(new.allKeys() == [])
  }

  @Test func `only what differs changes and fields that the model does not know stay`() throws {
    let place = Place()
    let record = CKRecord.fetched(
      "Note",
      name,
      [
        "title": .string("Milk"), "isDone": .int64(1), "due": .timestamp(1500), "future": .other(type: "FUTURE", .null),
        "tags": .list(.string, [.string("a"), .string("b")]), "note": .string("by another app"),
        "place": .bytes(Data(#"{"city":"Bern","floors":[1,2],"street":"A/B"}"#.utf8)),
      ]
    )
    var note = try CKRecordDecoder().decode(Note.self, from: record)
    try CKRecordEncoder().encode(note, onto: record)
    #expect(record.changedKeys() == [])
    #expect(note == Note(isDone: true, due: Date(timeIntervalSince1970: 1.5), tags: ["a", "b"], place: place))

    note.title = "Oats"
    note.due = Date(timeIntervalSince1970: 1.500_4)
    try CKRecordEncoder().encode(note, onto: record)

    #expect(try record.changedFields().set == ["title": .string("Oats")])
    #expect(record.changedKeys() == ["title"])
    #expect(record["note"] == "by another app")
    #expect(try record.wireFields()["future"] == .other(type: "FUTURE", .null))
  }

  @Test func `an error leaves the record untouched`() throws {
    let record = CKRecord.fetched("Box", "box", ["value": .double(1), "other": .bytes(Data(count: 999_900))])

    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: Double.nan), onto: record) }
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: Data(count: 100)), onto: record) }

    #expect(record.changedKeys() == [])
  }

  @Test func `a record of another type or name is refused both ways`() throws {
    let otherType = CKRecord.fetched("Task", name, [:])
    let otherName = CKRecord.fetched("Note", "other", [:])

    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Note(), onto: otherType) }
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Note(), onto: otherName) }
    #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Note.self, from: otherType) }
  }

  @Test func `a missing field throws with its name`() {
    let record = CKRecord.fetched("Note", name, ["isDone": .int64(1)])

    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Note.self, from: record) }

    #expect(path(of: error) == ["title"])
  }

  @Test func `a hundred tasks share one encoder and one decoder`() async throws {
    let encoder = CKRecordEncoder()
    let decoder = CKRecordDecoder()

    let notes = try await withThrowingTaskGroup(of: Note.self) { group in
      for index in 0..<100 {
        group.addTask {
          let note = Note(title: "\(index)", tags: ["\(index)"], place: Place(street: "\(index)"))
          return try decoder.decode(Note.self, from: encoder.encode(note))
        }
      }
      return try await group.reduce(into: Set<String>()) { titles, note in
        if note.tags == [note.title], note.place?.street == note.title { titles.insert(note.title) }
      }
    }

    #expect(notes.count == 100)
  }

  @Test func `a field of a record is read as a Swift type, and what does not fit is named`() throws {
    let record = CKRecord(recordType: "Note")
    record["title"] = "Milk"
    record["level"] = 2

    #expect(try record.decode(String.self, for: "title") == "Milk")
    #expect(try record.decode(Level.self, for: "level") == .second)
    #expect(try record.decodeIfPresent(String.self, for: "other") == nil)
    let missing = #expect(throws: CKModelError.self) { try record.decode(String.self, for: "other") }
    let wrong = #expect(throws: CKModelError.self) { try record.decodeIfPresent(Int.self, for: "title") }
    #expect(missing?.field == "other" && missing?.model == "Note")
    #expect(wrong?.field == "title" && wrong?.expected == "Int")
  }
}
