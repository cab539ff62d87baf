import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import CloudSyncModels
import Foundation
import Testing

/// A model with every system value.
struct Page: Codable, Equatable, Identifiable, CKRecordModel {
  var id = "p1"
  var title = "Milk"
  var createdAt: Date?
  var modifiedAt: Date?
  var createdBy: String?
  var modifiedBy: String?
  var tag: String?
  var parent: CKRecord.Reference?
  var share: CKRecord.Reference?

  static let systemKeys: [String: CKSystemValue] = [
    "createdAt": .creationDate, "modifiedAt": .modificationDate, "createdBy": .creatorUserRecordName,
    "modifiedBy": .lastModifiedUserRecordName, "tag": .changeTag, "parent": .parent, "share": .share,
  ]
}

/// A model that keeps the archive of its system fields.
struct Kept: Codable, Equatable, Identifiable, CKRecordModel {
  var id = "k1"
  var title = "Milk"
  var cloudKitSystemFields: Data?

  static let systemKeys: [String: CKSystemValue] = ["cloudKitSystemFields": .archive]
}

/// System values of models.
@Suite(.serialized) struct SystemValueTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  @Test func `a saved model has the system values of its record, and none of them is a field`() async throws {
    let saved = try await database.save(Page())
    let record = try await database.record(for: CKRecord.ID(recordName: "p1", zoneID: database.zoneIDForModels))

    #expect(saved.createdAt == record.creationDate && saved.createdAt != nil)
    #expect(saved.modifiedAt == record.modificationDate && saved.modifiedAt != nil)
    #expect(saved.createdBy == record.creatorUserRecordID?.recordName && saved.createdBy != nil)
    #expect(saved.modifiedBy == record.lastModifiedUserRecordID?.recordName && saved.modifiedBy != nil)
    #expect(saved.tag == record.recordChangeTag && saved.tag != nil)
    #expect(record.allKeys() == ["title"])
  }

  @Test func `a model that knows its version is saved without a fetch, and not over a newer version`() async throws {
    var first = try await database.save(Page())
    let other = first
    first.title = "Oats"
    let second = try await database.save(first)

    #expect(second.title == "Oats" && second.tag != first.tag)
    #expect(cloud.requests.bodies("records/lookup").isEmpty)
    let error = await #expect(throws: CKError.self) { try await database.save(other) }
    #expect(error?.code == .serverRecordChanged)
    #expect(try await database.load(Page.self, named: "p1")?.title == "Oats")
  }

  @Test func `an archive makes a save an update, in the zone it was read from`() async throws {
    let notes = CKRecordZone.ID(zoneName: "notes")
    try await database.save(CKRecordZone(zoneID: notes))
    var kept = try await database.save(Kept(), in: notes)
    kept.title = "Oats"
    let again = try await database.save(kept)

    #expect(cloud.onServer("k1", zone: "notes")?["title"] == .string("Oats"))
    #expect(again.cloudKitSystemFields != kept.cloudKitSystemFields)
    #expect(cloud.requests.bodies("records/lookup").isEmpty)
  }

  @Test func `an archive of another record, and bytes that are none, are errors`() async throws {
    var kept = try await database.save(Kept())
    kept.id = "k2"
    #expect(throws: (any Error).self) { try CKRecordEncoder().encode(kept) }
    for bytes in [Data(), Data("x".utf8), Data([0x62, 0x70, 0x6C, 0x69, 0x73, 0x74, 0x30, 0x30])] {
      #expect(throws: (any Error).self) { try CKRecordEncoder().encode(Kept(cloudKitSystemFields: bytes)) }
    }
  }

  @Test func `a parent of a model is set, kept and removed`() async throws {
    let zone = database.zoneIDForModels
    try await database.save(Kept(id: "root"))
    let root = CKRecord.Reference(recordID: CKRecord.ID(recordName: "root", zoneID: zone), action: .none)
    var page = try await database.save(Page(parent: root))
    #expect(try await database.load(Page.self, named: "p1")?.parent == root)
    page.parent = nil
    page = try await database.save(page)
    #expect(try #require(try await database.load(Page.self, named: "p1")).parent == nil)
  }

  @Test func `the local copy knows the system values, and a parent goes through the queue`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let zone = database.zoneIDForModels
    let root = CKRecord.Reference(recordID: CKRecord.ID(recordName: "root", zoneID: zone), action: .none)
    try await phone.store.save(Kept(id: "root"))
    try await phone.store.save(Page(parent: root))
    _ = try await phone.sync()
    _ = try await tablet.sync()

    var page = try #require(try await tablet.store.load(Page.self, named: "p1"))
    let server = try #require(try await database.load(Page.self, named: "p1"))
    #expect(page == server)
    page.parent = nil
    try await tablet.store.save(page)
    _ = try await tablet.sync()
    #expect(try #require(try await database.load(Page.self, named: "p1")).parent == nil)
  }

  @Test func `a model is deleted in the zone that its archive names, from a database and from a store`() async throws {
    let notes = CKRecordZone.ID(zoneName: "notes")
    try await database.save(CKRecordZone(zoneID: notes))
    let kept = try await database.save(Kept(), in: notes)
    try await database.save(Kept(id: "k2"), in: notes)
    try await database.delete(kept)
    #expect(try await database.all(Kept.self, in: notes).map(\.id) == ["k2"])

    let phone = try cloud.device("phone")
    _ = try await phone.sync()
    let other = try #require(try await phone.store.load(Kept.self, named: "k2", in: notes))
    try await phone.store.delete(other)
    #expect(try await phone.store.load(Kept.self, named: "k2", in: notes) == nil)
  }

  @Test func `an upsert creates a record that was deleted since it was read, and a save does not`() async throws {
    let kept = try await database.save(Kept())
    try await database.delete(kept)
    let error = await #expect(throws: CKError.self) { try await database.save(kept) }
    #expect(error?.code == .unknownItem)
    #expect(try await database.upsert(kept).title == "Milk")
    #expect(try await database.all(Kept.self).count == 1)
  }

  @Test func `an archive in the default zone is not taken for no zone`() async throws {
    let kept = try await database.save(Kept(), in: .default)
    let phone = try cloud.device("phone")
    try await phone.store.save(kept)
    try await phone.store.delete(try await database.save(Kept(id: "k2"), in: .default))
    #expect(try phone.store.operations().rows.map(\.key.zoneKey.zone) == ["_defaultZone", "_defaultZone"])
  }

  @Test func `a model whose values cannot be stored can be deleted`() async throws {
    struct Odd: Codable, Identifiable, CKRecordModel {
      var id = "odd"
      var number = 1.0
      var cloudKitSystemFields: Data?
      static let systemKeys: [String: CKSystemValue] = ["cloudKitSystemFields": .archive]
    }
    var odd = try await database.save(Odd())
    odd.number = .nan
    try await database.delete(odd)
    #expect(try await database.all(Odd.self).isEmpty)
  }

  @Test func `a change tag of another type is an error, not a save over any version`() throws {
    struct Wrong: Codable, Identifiable, CKRecordModel {
      var id = "w"
      var title = "Milk"
      var tag = 7
      static let systemKeys: [String: CKSystemValue] = ["tag": .changeTag]
    }
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Wrong()) }
  }
}
