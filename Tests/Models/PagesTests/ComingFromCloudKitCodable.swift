import CloudKit
import CloudKitModels
import CloudSupport
import Foundation
import Testing

/// The code of the page.
enum CodablePage {
  // snippet.model
  struct Person: Codable, CKRecordModel {
    static let systemKeys: [String: CKSystemValue] = ["cloudKitSystemFields": .archive]
    var recordName = UUID().uuidString
    var cloudKitSystemFields: Data?
    let name: String
    let age: Int
    let website: URL
    let avatar: URL
    let isDeveloper: Bool
  }
  // snippet.end

  // snippet.type
  struct Metadata: CKFormattedContent {
    static let contentFormat = CKContentFormat.binaryPropertyList
    var camera: String
  }

  struct Photo: Encodable, Identifiable, CKRecordModel {
    static let recordType = "Picture"
    static let assetKeys: Set<String> = ["metadata"]
    let id: UUID
    var title: String
    var metadata: Metadata
  }
  // snippet.end

  // snippet.enums
  enum Mood: String, CKFallbackCase, CaseIterable { case unknown, happy, sad }

  enum Level: Int, CKFallbackCase {
    static let fallbackCase = Level.low
    case low = 1
    case high = 2
  }
  // snippet.end

  // snippet.json
  struct JSONField<Value: Codable>: Codable {
    var value: Value

    init(_ value: Value) { self.value = value }

    init(from decoder: any Decoder) throws {
      value = try JSONDecoder().decode(Value.self, from: decoder.singleValueContainer().decode(Data.self))
    }

    func encode(to encoder: any Encoder) throws {
      var field = encoder.singleValueContainer()
      try field.encode(JSONEncoder().encode(value))
    }
  }

  struct Visit: Codable, Identifiable, CKRecordModel {
    var id = UUID()
    var place: JSONField<UUID>
  }
  // snippet.end

  struct Diary: Codable, Identifiable, CKRecordModel {
    var id = UUID()
    var mood: Mood
    var level: Level
  }

  static func encode(_ picture: URL, _ website: URL) throws -> (Person, CKRecord) {
    // snippet.encode
    let rambo = Person(name: "Guilherme Rambo", age: 26, website: website, avatar: picture, isDeveloper: true)
    let record = try CKRecordEncoder().encode(rambo)
    // snippet.end
    return (rambo, record)
  }

  static func decode(_ record: CKRecord) throws -> Person {
    // snippet.decode
    let person = try CKRecordDecoder().decode(Person.self, from: record)
    // snippet.end
    return person
  }

  static func zone(_ zoneID: CKRecordZone.ID, _ person: Person) throws -> CKRecord {
    // snippet.zone
    let record = try CKRecordEncoder(zoneID: zoneID).encode(person)
    // snippet.end
    return record
  }

  static func database(_ database: CKDatabase, _ name: String) async throws -> Person? {
    // snippet.database
    let person = try await database.load(Person.self, named: name, in: .default)
    if let person { try await database.save(person) }
    // snippet.end
    return person
  }

  static func edit(_ person: Person, onto record: CKRecord) throws {
    // snippet.onto
    try CKRecordEncoder().encode(person, onto: record)
    // snippet.end
  }

  static func errors(_ person: Person) throws {
    // snippet.errors
    do {
      _ = try CKRecordEncoder().encode(person)
    } catch {
      switch error.cause {
      case .tooLarge: print("\(error.model) is larger than 1 MB.")
      default: print("\(error.model), field \(error.field ?? "none"): \(error.failureReason ?? "")")
      }
    }
    // snippet.end
  }
}

@Suite(.serialized) struct ComingFromCloudKitCodable {
  private let cloud: Cloud
  private let picture: URL

  init() throws {
    cloud = try Cloud()
    picture = URL(filePath: cloud.path("avatar.png"))
    try Data("png".utf8).write(to: picture)
  }

  @Test func `a person is encoded, saved, loaded from the default zone, and saved there again`() async throws {
    let site = try #require(URL(string: "https://example.org"))
    let (rambo, record) = try CodablePage.encode(picture, site)
    #expect(record.recordType == "Person" && record["website"] as? String == "https://example.org")
    #expect(record["avatar"] is CKAsset && record["age"] as? Int == 26)
    #expect(try CodablePage.zone(CKRecordZone.ID(zoneName: "people"), rambo).recordID.zoneID.zoneName == "people")

    let database = cloud.container.privateCloudDatabase
    let saved = try await database.save(record)
    let decoded = try CodablePage.decode(saved)
    #expect(decoded.name == rambo.name && decoded.cloudKitSystemFields != nil)

    let loaded = try #require(try await CodablePage.database(database, rambo.recordName))
    #expect(loaded.isDeveloper && loaded.recordName == rambo.recordName)
    #expect(try Data(contentsOf: loaded.avatar) == Data("png".utf8))
    #expect(try await database.all(CodablePage.Person.self).isEmpty)
    #expect(try await database.all(CodablePage.Person.self, in: .default).count == 1)
    try CodablePage.edit(loaded, onto: saved)
    try CodablePage.errors(loaded)
  }

  @Test func `unknown raw values are decoded as the fallback`() throws {
    let record = CKRecord(recordType: "Diary", recordID: CKRecord.ID(recordName: UUID().uuidString))
    (record["mood"], record["level"]) = ("bored", 3)
    let diary = try CKRecordDecoder().decode(CodablePage.Diary.self, from: record)
    #expect(diary.mood == .unknown && diary.level == .low)
  }

  @Test func `a record type, an asset of a nested value, and a field with JSON are declared`() throws {
    let metadata = CodablePage.Metadata(camera: "c")
    let photo = try CKRecordEncoder().encode(CodablePage.Photo(id: UUID(), title: "t", metadata: metadata))
    let file = try #require((photo["metadata"] as CKAsset?)?.fileURL)
    #expect(photo.recordType == "Picture")
    #expect(try Data(contentsOf: file).starts(with: "bplist".utf8))

    let visit = CodablePage.Visit(place: CodablePage.JSONField(UUID()))
    let record = try CKRecordEncoder().encode(visit)
    #expect(record["place"] as? Data == Data("\"\(visit.place.value)\"".utf8))
    #expect(try CKRecordDecoder().decode(CodablePage.Visit.self, from: record).place.value == visit.place.value)
  }
}
