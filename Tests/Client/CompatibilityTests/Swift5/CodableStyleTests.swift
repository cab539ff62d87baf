import CloudKit
import Foundation
import Testing
import UniformTypeIdentifiers
import os.log

// Code in the style of an encoder for records: values of any type are asked whether they are record values.

private func recordValue(_ value: Any) -> CKRecordValue? {
  if let url = value as? URL {
    return url.isFileURL ? CKAsset(fileURL: url) : url.absoluteString as CKRecordValue
  } else if let collection = value as? [Any] {
    return (collection as? [CKRecordValue]).map { $0 as NSArray }
  } else if let value = value as? CKRecordValue {
    return value
  }
  os_log("No record value: %{public}@", type: .error, String(describing: type(of: value)))
  return nil
}

private struct Settings: Codable, Equatable {
  static var preferredContentType: UTType { .json }
  var volume: Int
}

/// Compares as XCTest does: with generic optionals.
private func areEqual<T: Equatable>(_ one: T?, _ other: T?) -> Bool { one == other }

@Suite(.serialized) struct CodableStyleTests {
  @Test func `Swift's values and Foundation's are record values`() {
    let values: [Any] = [
      "text", 1, Int8(1), Int16(1), Int32(1), Int64(1), UInt(1), UInt8(1), UInt16(1), UInt32(1), UInt64(1), true, 1.5,
      Float(1.5), Date(), Data([1]), ["a"], [1], "text" as NSString, 1 as NSNumber, Date() as NSDate, Data() as NSData,
      ["a"] as NSArray, URL(string: "https://example.org")!, URL(fileURLWithPath: "/tmp/a"),
      CLLocation(latitude: 1, longitude: 2),
      CKRecord.Reference(recordID: CKRecord.ID(recordName: "n"), action: .none),
    ]

    for value in values { #expect(recordValue(value) != nil, "\(type(of: value))") }
    #expect(recordValue(Settings(volume: 1)) == nil)
    #expect(recordValue([Settings(volume: 1)]) == nil)
  }

  @Test func `stored values cast to every type that they fit`() {
    let record = CKRecord(recordType: "Person")
    let storage: [String: CKRecordValue] = [
      "age": 26, "isDeveloper": true, "name": "Ana", "born": Date(timeIntervalSince1970: 5), "data": Data([1]),
      "tags": ["a", "b"] as NSArray, "half": 0.5, "website": "https://example.org" as CKRecordValue,
    ]
    for (key, value) in storage { record[key] = value }

    #expect(record["age"] as? Int == 26)
    #expect(record["age"] as? Int64 == 26)
    #expect(record["age"] as? Double == 26)
    #expect(record["isDeveloper"] as? Bool == true)
    #expect(record["isDeveloper"] as? Int64 == 1)
    #expect(record["half"] as? Float == 0.5)
    #expect(record["born"] as? Date == Date(timeIntervalSince1970: 5))
    #expect(record["data"] as? Data == Data([1]))
    #expect(record["tags"] as? [String] == ["a", "b"])
    #expect((record["website"] as? String).flatMap(URL.init(string:)) != nil)
    #expect(areEqual(record["name"], "Ana"))
    #expect(areEqual(record["age"], 26))
    #expect(areEqual(record["data"], Data([1])))
    #expect(record["nothing"] == nil)
  }

  @Test func `a zone and a name make an identifier, and system fields carry it`() throws {
    let zoneID = CKRecordZone.ID(zoneName: "ABCDE", ownerName: CKCurrentUserDefaultName)
    let record = CKRecord(recordType: "Person", recordID: CKRecord.ID(recordName: "MY-ID", zoneID: zoneID))
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    let copy = CKRecord(coder: unarchiver)
    unarchiver.finishDecoding()
    let whole = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)

    #expect(copy?.recordID.zoneID == zoneID)
    #expect(CKRecordZone.ID(zoneName: CKRecordZone.ID.defaultZoneName, ownerName: CKCurrentUserDefaultName) == .default)
    #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: whole)?.recordID == record.recordID)
  }

  @Test func `an asset's file names its type by its ending, and the file system does not`() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
    try JSONEncoder().encode(Settings(volume: 3)).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }

    let declared = Settings.preferredContentType
    let type = try file.resourceValues(forKeys: [.contentTypeKey]).contentType ?? declared

    #expect(type.conforms(to: .json) && type.conforms(to: .text) && !type.conforms(to: .propertyList))
    #expect(declared.preferredFilenameExtension == "json" && !declared.isDynamic)
    #expect(UTType.xmlPropertyList.conforms(to: .propertyList))
    #expect(UTType.binaryPropertyList.conforms(to: .propertyList))
    #expect(UTType.binaryPropertyList.identifier == "com.apple.binary-property-list")
    #expect(UTType(filenameExtension: "JPG") == .jpeg)
    #expect(UTType(filenameExtension: "odd")?.isDynamic == true)
  }
}
