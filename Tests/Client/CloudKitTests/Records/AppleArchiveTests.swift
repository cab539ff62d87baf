import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// Archives with Apple's class names and layout.
@Suite(.serialized) struct AppleArchiveTests {
  private typealias Value = AppleArchive.Value

  private static let created = Date(timeIntervalSinceReferenceDate: 500_000_000.25)
  private static let modified = Date(timeIntervalSinceReferenceDate: 500_000_100.5)
  private static let zone = Value.object(
    "CKRecordZoneID",
    ["ZoneName": .string("notes"), "ownerName": .string("__defaultOwner__"), "databaseScopeKey": .int(0)]
  )

  private static func id(_ name: String) -> Value {
    .object("CKRecordID", ["RecordName": .string(name), "ZoneID": zone])
  }

  private static func reference(_ name: String, action: Int) -> Value {
    .object("CKReference", ["recordID": id(name), "referenceAction": .int(action)])
  }

  private static var systemFields: [String: Value] {
    [
      "RecordType": .string("Note"), "RecordID": id("n"), "ETag": .string("2f"), "RecordCtime": .date(created),
      "RecordMtime": .date(modified), "CreatorUserRecordID": id("_a"), "LastModifiedUserRecordID": id("_b"),
      "ModifiedByDevice": .string("iPhone"), "Permission": .int(1), "KnownToServer": .bool(true),
      "ParentReference": reference("list", action: 0), "ShareReference": .none, "ZoneProtectionDataEtag": .none,
    ]
  }

  static var wholeRecord: [String: AppleArchive.Value] {
    let values: [String: Value] = [
      "title": .string("Milk"), "done": .int(1), "price": .double(1.5), "when": .date(created),
      "data": .data(Data([1, 2])), "tags": .array([.string("a"), .string("b")]),
      "friend": reference("f", action: 1),
      "photo": .object(
        "CKAsset",
        [
          "AssetFileURL": .url(URL(fileURLWithPath: "/tmp/photo.jpg")), "AssetSignature": .data(Data([9])),
          "AssetSize": .int(7),
        ]
      ),
      "place": .object(
        "CLLocation",
        [
          "kCLLocationCodingKeyCoordinateLatitude": .double(1.25),
          "kCLLocationCodingKeyCoordinateLongitude": .double(2),
        ]
      ),
    ]
    let store = Value.object(
      "CKRecordValueStore",
      [
        "RecordValues": .dictionary(values), "OriginalValues": .dictionary(["title": .string("Tea")]),
        "ChangedKeys": .set([.string("title")]),
      ]
    )
    return systemFields.merging(["ValueStore": store, "EncryptedValueStore": .none]) { $1 }
  }

  @Test func `system fields that Apple's framework wrote are read`() throws {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: AppleArchive.data(Self.systemFields))
    unarchiver.requiresSecureCoding = true

    let record = try #require(CKRecord(coder: unarchiver))

    let zone = CKRecordZone.ID(zoneName: "notes", ownerName: CKCurrentUserDefaultName)
    #expect(record.recordType == "Note")
    #expect(record.recordID == CKRecord.ID(recordName: "n", zoneID: zone))
    #expect(record.recordChangeTag == "2f")
    #expect(record.creationDate == Self.created)
    #expect(record.modificationDate == Self.modified)
    #expect(record.creatorUserRecordID?.recordName == "_a")
    #expect(record.lastModifiedUserRecordID?.recordName == "_b")
    #expect(record.parent?.recordID == CKRecord.ID(recordName: "list", zoneID: zone))
    #expect(record.share == nil)
    #expect(record.allKeys().isEmpty && record.changedKeys().isEmpty)
  }

  @Test func `an archive from an Apple device is read`() throws {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: AppleArchive.systemFieldsOfFramework)
    unarchiver.requiresSecureCoding = true

    let record = try #require(CKRecord(coder: unarchiver))

    #expect(record.recordType == "ActivitySegment")
    #expect(record.recordID.recordName == "766767600.0")
    #expect(record.recordID.zoneID.zoneName == "9C1BCF02-8C65-4B05-B613-DB2881592AAE_Weekly")
    #expect(record.recordID.zoneID.ownerName == CKCurrentUserDefaultName)
    #expect(record.recordChangeTag == "m9ws656p")
    let dates = [record.creationDate, record.modificationDate].map { $0?.timeIntervalSinceReferenceDate ?? 0 }
    #expect(zip(dates, [767_277_684.72, 767_349_035.861]).allSatisfy { abs($0 - $1) < 0.000_5 })
    #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    #expect(record.parent == nil && record.share == nil && record.allKeys().isEmpty)
  }

  @Test func `a whole record that Apple's framework wrote is read with its edits`() throws {
    let data = AppleArchive.data(["root": .object("CKRecord", Self.wholeRecord)])

    let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))

    #expect(
      record.allKeys() == ["data", "done", "friend", "photo", "place", "price", "tags", "title", "when"]
    )
    #expect(record["title"] as? String == "Milk")
    #expect(record["done"] as? Bool == true)
    #expect(record["done"] as? Int64 == 1)
    #expect(record["price"] as? Double == 1.5)
    #expect(record["when"] as? Date == Self.created)
    #expect(record["data"] as? Data == Data([1, 2]))
    #expect(record["tags"] as? [String] == ["a", "b"])
    #expect((record["friend"] as? CKRecord.Reference)?.recordID.recordName == "f")
    #expect((record["friend"] as? CKRecord.Reference)?.action == .deleteSelf)
    #expect((record["photo"] as? CKAsset)?.fileURL?.path == "/tmp/photo.jpg")
    #expect((record["place"] as? CLLocation)?.coordinate.latitude == 1.25)
    #expect(record.changedKeys() == ["title"])
  }

  @Test func `identifiers and zones that Apple's framework wrote are read`() throws {
    let id = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: CKRecord.ID.self,
      from: AppleArchive.data(["root": Self.id("n")])
    )
    let zone = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: CKRecordZone.ID.self,
      from: AppleArchive.data(["root": Self.zone])
    )

    #expect(id?.recordName == "n")
    #expect(id?.zoneID == zone)
    #expect(zone?.zoneName == "notes")
  }

  @Test func `what no field can hold is left out, and an asset that was never downloaded stays an asset`() throws {
    let values: [String: Value] = [
      "odd": .set([.string("a")]), "nested": .array([.array([])]), "title": .string("Milk"),
      "photo": .object("CKAsset", ["AssetFileURL": .none, "AssetSize": .int(7)]),
    ]
    let store = Value.object("CKRecordValueStore", ["RecordValues": .dictionary(values)])
    let data = AppleArchive.data([
      "root": .object("CKRecord", Self.systemFields.merging(["ValueStore": store]) { $1 })
    ])

    let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))

    #expect(record.allKeys() == ["photo", "title"])
    #expect((record["photo"] as? CKAsset)?.fileURL == nil)
  }

  @Test func `a parent that was set and not saved is still to be sent`() throws {
    let fields = Self.systemFields.merging(["HasUpdatedParentReference": .bool(true)]) { $1 }
    let changed = try NSKeyedUnarchiver(forReadingFrom: AppleArchive.data(fields))
    let saved = try NSKeyedUnarchiver(
      forReadingFrom: AppleArchive.data(Self.systemFields.merging(["HasUpdatedParentReference": .bool(false)]) { $1 })
    )

    #expect(CKRecord(coder: changed)?.state.withLock(\.parentChanged) == true)
    #expect(CKRecord(coder: saved)?.state.withLock(\.parentChanged) == false)
  }

  @Test func `fields that an early version of Apple's framework put beside the system fields are read`() throws {
    let early: [String: Value] = [
      "RecordValues": .dictionary(["title": .string("Milk")]), "OriginalValues": .dictionary([:]),
      "ChangedKeys": .set([.string("title")]),
    ]
    let fields = Self.systemFields.merging(early) { $1 }
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: AppleArchive.data(fields))

    let record = try #require(CKRecord(coder: unarchiver))

    #expect(record["title"] as? String == "Milk")
    #expect(record.changedKeys() == ["title"])
  }

  @Test func `a change token that Apple's framework wrote is spelled as Web Services do`() throws {
    let token = Value.object("CKServerChangeToken", ["ChangeTokenData": .data(Data([1, 0, 255]))])

    let read = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: CKServerChangeToken.self,
      from: AppleArchive.data(["root": token])
    )

    #expect(read?.wire == "AQD/")
  }

  @Test func `what no public source tells the layout of is an error, and never ends the process`() {
    for name in ["CKQuerySubscription", "CKQueryCursor", "CKShareMetadata", "CKNotificationInfo", "CKOperationGroup"] {
      let data = AppleArchive.data(["root": .object(name, ["Unknown": .string("x")])])
      #expect(throws: (any Error).self, "\(name)") {
        let classes = [
          CKSubscription.self, CKQueryOperation.Cursor.self, CKShare.Metadata.self,
          CKSubscription.NotificationInfo.self,
          CKOperationGroup.self,
        ]
        let object = try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)
        _ = try #require(object as? NSObject)
      }
    }
  }
}
