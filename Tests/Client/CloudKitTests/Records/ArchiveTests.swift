import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct ArchiveTests {
  private let zone = CKRecordZone.ID(zoneName: "notes", ownerName: "_owner")

  private func record() -> CKRecord {
    var wire = WireRecord(recordName: "n", recordType: "Note", recordChangeTag: "2f")
    wire.fields = [
      "title": .string("Milk"), "gone": .string("soon"), "none": .list(.timestamp, []),
      "unknown": .other(type: "FUTURE", .array([.int(1)])),
      "friend": .reference(WireReference(recordName: "f", action: "VALIDATE")),
    ]
    wire.created = WireStamp(timestamp: 1001, userRecordName: "_a")
    wire.modified = WireStamp(timestamp: 2002, userRecordName: "_b")
    wire.parent = WireRecordName(recordName: "list")
    return CKRecord(wire: wire, zoneID: zone)
  }

  private func archived<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)
  }

  @Test func `a record with edits comes back whole`() throws {
    let record = record()
    record["place"] = CLLocation(latitude: 1, longitude: 2)
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
    record["numbers"] = [1.5, 2]
    record["flag"] = true
    record["when"] = Date(timeIntervalSinceReferenceDate: 5.123_456_789)
    record.encryptedValues["secret"] = Date(timeIntervalSinceReferenceDate: 6.123_456_789)
    record["data"] = Data([1])
    record["other"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "o"), action: .deleteSelf)
    record["odd"] = Double.nan
    record["gone"] = nil

    let copy = try #require(try archived(record))

    #expect(copy.recordType == "Note")
    #expect(copy.recordID == record.recordID)
    #expect(copy.allKeys() == record.allKeys())
    #expect(copy.changedKeys() == record.changedKeys())
    #expect((copy["place"] as? CLLocation)?.coordinate == CLLocationCoordinate2D(latitude: 1, longitude: 2))
    #expect((copy["file"] as? CKAsset)?.fileURL?.path == "/tmp/file")
    #expect(copy["numbers"] as? [Double] == [1.5, 2])
    #expect(copy["flag"] as? Bool == true)
    #expect(copy["when"] as? Date == Date(timeIntervalSinceReferenceDate: 5.123_456_789))
    #expect(copy.encryptedValues["secret"] as? Date == Date(timeIntervalSinceReferenceDate: 6.123_456_789))
    #expect(copy["data"] as? Data == Data([1]))
    #expect(copy["other"] as? CKRecord.Reference == record["other"] as? CKRecord.Reference)
    copy["file"] = nil
    copy["odd"] = nil
    record["file"] = nil
    record["odd"] = nil
    #expect(try copy.wireFields() == record.wireFields())
    #expect(copy.parent == record.parent)
  }

  @Test func `system fields alone make a record that can be saved as the next version`() throws {
    let record = record()
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()

    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    let copy = try #require(CKRecord(coder: unarchiver))

    #expect(copy.recordID == record.recordID)
    #expect(copy.recordChangeTag == "2f")
    #expect(copy.creationDate == record.creationDate)
    #expect(copy.modificationDate == record.modificationDate)
    #expect(copy.creatorUserRecordID == record.creatorUserRecordID)
    #expect(copy.lastModifiedUserRecordID == record.lastModifiedUserRecordID)
    #expect(copy.parent == record.parent)
    #expect(copy.allKeys().isEmpty)
  }

  @Test func `the system fields of a record always give the same bytes`() throws {
    func archives(_ record: CKRecord) -> Set<Data> {
      Set(
        (0..<50).map { _ in
          let archiver = NSKeyedArchiver(requiringSecureCoding: true)
          record.encodeSystemFields(with: archiver)
          archiver.finishEncoding()
          return archiver.encodedData
        }
      )
    }
    let record = record()
    record.setParent(CKRecord.ID(recordName: "other", zoneID: zone))
    let share = CKShare(rootRecord: record)
    share.publicPermission = .readOnly

    #expect(archives(record).count == 1)
    #expect(archives(share).count == 1)
    let system = try #require(archives(record).first)
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: system)
    let copy = try #require(CKRecord(coder: unarchiver))
    #expect(copy.recordID == record.recordID)
    #expect(copy.parent == record.parent)
    #expect(copy.share == record.share)
    #expect(archives(copy) == [system])
  }

  @Test func `an archive without a record gives nil, not a crash`() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("nothing" as NSString, forKey: "Other")
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)

    #expect(CKRecord(coder: unarchiver) == nil)
  }

  @Test func `identifiers, zones, references and tokens come back equal`() throws {
    let id = CKRecord.ID(recordName: "n", zoneID: zone)
    let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
    let token = CKServerChangeToken(wire: "AQ==")

    #expect(try archived(id) == id)
    #expect(try archived(zone) == zone)
    #expect(try archived(reference) == reference)
    #expect(try archived(token) == token)
    #expect(try archived(CKRecordZone(zoneID: zone))?.zoneID == zone)
  }

  @Test func `a copy is a record of its own`() throws {
    let record = record()
    let copy = try #require(record.copy() as? CKRecord)

    copy["title"] = "Tea"

    #expect(record["title"] as? String == "Milk")
    #expect(copy.recordChangeTag == "2f")
  }
}
