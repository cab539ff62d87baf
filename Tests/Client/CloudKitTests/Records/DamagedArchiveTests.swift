import CloudKit
import Foundation
import TestSupport
import Testing

/// A class of an app, whose objects refer to each other.
final class AppState: NSObject, NSSecureCoding {
  let due: NSDateComponents
  var other: AppState?

  init(due: NSDateComponents) { self.due = due }

  init?(coder: NSCoder) {
    guard let due = coder.decodeObject(of: NSDateComponents.self, forKey: "due") else { return nil }
    self.due = due
    other = coder.decodeObject(of: AppState.self, forKey: "other")
  }

  func encode(with coder: NSCoder) {
    coder.encode(due, forKey: "due")
    coder.encode(other, forKey: "other")
  }

  static var supportsSecureCoding: Bool { true }
}

/// Archives whose bytes or objects are not what they should be.
@Suite(.serialized) struct DamagedArchiveTests {
  private static func archive() throws -> [String: Any] {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    record["title"] = "Milk"
    record["tags"] = ["a", "b"]
    record["when"] = Date(timeIntervalSince1970: 5)
    record["place"] = CLLocation(latitude: 1, longitude: 2)
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
    record["friend"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "f"), action: .deleteSelf)
    record.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p"), action: .none)
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encode(with: archiver)
    archiver.finishEncoding()
    let list = try PropertyListSerialization.propertyList(from: archiver.encodedData, format: nil)
    return try #require(list as? [String: Any])
  }

  private static func read(
    _ archive: [String: Any],
    _ format: PropertyListSerialization.PropertyListFormat = .binary
  ) throws -> CKRecord? {
    let data = try PropertyListSerialization.data(fromPropertyList: archive, format: format, options: 0)
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true
    return CKRecord(coder: unarchiver)
  }

  private static func isClass(_ object: Any) -> Bool { (object as? [String: Any])?["$classname"] != nil }

  @Test func `an archive that is taken apart and put together again is still read`() throws {
    let record = try #require(try Self.read(try Self.archive()))

    #expect(record["tags"] as? [String] == ["a", "b"])
    #expect(record.changedKeys().count == 6)
  }

  @Test func `an object replaced by anything else never ends the process`() throws {
    let archive = try Self.archive()
    let objects = try #require(archive["$objects"] as? [Any])

    for index in objects.indices.dropFirst() where !Self.isClass(objects[index]) {
      for substitute: Any in ["$null", "x", 7, 1.5, true, Data([1]), [Any](), [String: Any](), objects[1]] {
        var damaged = archive
        var changed = objects
        changed[index] = substitute
        damaged["$objects"] = changed
        _ = try Self.read(damaged)
      }
    }
  }

  @Test func `a key that is missing, or refers to another object, never ends the process`() throws {
    let archive = try Self.archive()
    let objects = try #require(archive["$objects"] as? [Any])
    let top = try #require(archive["$top"] as? [String: Any])
    let references = objects.compactMap { $0 as? [String: Any] }.flatMap(\.values) + Array(top.values)

    for key in top.keys {
      for substitute in [nil] + references.map(Optional.some) {
        var damaged = archive
        var changed = top
        changed[key] = substitute
        damaged["$top"] = changed
        _ = try Self.read(damaged)
      }
    }
    for (index, object) in objects.enumerated() {
      guard let object = object as? [String: Any] else { continue }
      for key in object.keys where !key.hasPrefix("$class") {
        for substitute in [nil] + references.map(Optional.some) {
          var damaged = archive
          var changed = object
          changed[key] = substitute
          var all = objects
          all[index] = changed
          damaged["$objects"] = all
          _ = try Self.read(damaged)
        }
      }
    }
  }

  @Test func `an object of another class than it should be never ends the process`() throws {
    let archive = try Self.archive()
    let objects = try #require(archive["$objects"] as? [Any])
    let classes = objects.filter(Self.isClass)

    for index in objects.indices where Self.isClass(objects[index]) {
      for substitute in classes + [["$classname": "Unknown"]] {
        var damaged = archive
        var changed = objects
        changed[index] = substitute
        damaged["$objects"] = changed
        _ = try Self.read(damaged)
      }
    }
  }

  @Test func `an unarchiver that has begun to decode is left as it is`() throws {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("first" as NSString, forKey: "Own")
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()

    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    let own = unarchiver.decodeObject(of: NSString.self, forKey: "Own")
    let copy = CKRecord(coder: unarchiver)

    #expect(own == "first")
    #expect(copy?.recordID == record.recordID)
    #expect(unarchiver.decodingFailurePolicy == .raiseException)
  }

  private static func due() -> NSDateComponents {
    let due = NSDateComponents()
    due.year = 2001
    return due
  }

  @Test func `an intact archive of an app's own classes is read`() throws {
    let (state, other) = (AppState(due: Self.due()), AppState(due: Self.due()))
    state.other = other
    let data = try NSKeyedArchiver.archivedData(withRootObject: state, requiringSecureCoding: true)
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true

    let copy = try unarchiver.decodeTopLevelObject(of: AppState.self, forKey: NSKeyedArchiveRootObjectKey)

    #expect(copy?.due.year == 2001 && copy?.other?.due.year == 2001)
    let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: AppState.self, from: data)
    #expect(again?.due.year == 2001)
  }

  @Test func `a record is read beside an app's own objects`() throws {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.encode(Self.due(), forKey: "Due")
    archiver.encode(AppState(due: Self.due()), forKey: "State")
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true

    #expect(CKRecord(coder: unarchiver)?.recordID == record.recordID)
    #expect(unarchiver.decodeObject(of: NSDateComponents.self, forKey: "Due")?.year == 2001)
    #expect(try unarchiver.decodeTopLevelObject(of: AppState.self, forKey: "State")?.due.year == 2001)
  }

  @Test func `a key of a record that refers to an app's object is an error`() throws {
    for key in ["RecordType", "RecordID", "ETag", "ParentReference", "EditedField.a", "RecordValues", "Sharing", "URL"]
    {
      let archiver = NSKeyedArchiver(requiringSecureCoding: true)
      CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n")).encodeSystemFields(with: archiver)
      archiver.encode(Self.due(), forKey: key)
      archiver.finishEncoding()
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
      unarchiver.requiresSecureCoding = true
      #expect(CKRecord(coder: unarchiver) == nil, "\(key)")
    }
  }

  @Test func `an object of a class that was not asked for is an error`() throws {
    let zone = CKRecordZone.ID(zoneName: "z")
    let data = try NSKeyedArchiver.archivedData(withRootObject: zone, requiringSecureCoding: true)
    #expect(throws: CocoaError(.coderReadCorrupt)) {
      try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: data)
    }
    for classes in [[CKRecord.ID.self], [CKRecord.self, CKShare.self]] as [[AnyClass]] {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = true
      #expect(throws: CocoaError(.coderReadCorrupt)) {
        try unarchiver.decodeTopLevelObject(of: classes, forKey: NSKeyedArchiveRootObjectKey)
      }
    }
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    let read = try unarchiver.decodeTopLevelObject(
      of: [CKRecord.self, CKRecordZone.ID.self],
      forKey: NSKeyedArchiveRootObjectKey
    )
    #expect(read as? CKRecordZone.ID == zone)
  }

  @Test func `a record read first makes damage an error of the unarchiver`() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("Note" as NSString, forKey: "RecordType")
    archiver.encode(CKRecordZone.ID(zoneName: "z"), forKey: "RecordID")
    archiver.finishEncoding()

    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true

    #expect(CKRecord(coder: unarchiver) == nil)
    #expect(unarchiver.decodingFailurePolicy == .setErrorAndReturn)
  }

  /// Archives of system fields, and of whole objects under the root key. Whole records of Apple's framework are not among
  /// them: a value of their dictionary that fails halfway still ends the process inside Foundation.
  private static func samples() throws -> [(data: Data, read: (Data) throws -> Any?)] {
    func root<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> (data: Data, read: (Data) throws -> Any?) {
      (
        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true),
        { try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: $0) }
      )
    }
    func systemFields(_ data: Data) -> Any? { NSKeyedUnarchiver.reading(data).flatMap { CKRecord(coder: $0) } }
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    record["friend"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "f"), action: .deleteSelf)
    record["tags"] = ["a", "b"]
    record.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p"), action: .none)
    let own = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: own)
    own.finishEncoding()
    return [
      (AppleArchive.systemFieldsOfFramework, systemFields), (own.encodedData, systemFields), try root(record),
      try root(CKShare(rootRecord: record)), try root(CKServerChangeToken(wire: "token")),
      try root(CKQuery(recordType: "Note", predicate: NSPredicate(format: "title == 'Milk'"))),
    ]
  }

  @Test func `flipped bits and a cut end are errors or change a value, and never end the process`() throws {
    var random = SplitMix64(seed: 7)
    for (data, read) in try Self.samples() {
      #expect(try read(data) != nil)
      for length in stride(from: 0, to: data.count, by: 5) { _ = try? read(data.prefix(length)) }
      for _ in 0..<400 {
        var damaged = data
        for _ in 0...Int.random(in: 0...2, using: &random) {
          damaged[Int.random(in: 0..<data.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        _ = try? read(damaged)
      }
    }
  }

  @Test func `an object that contains itself, and a class that is no class, are errors`() throws {
    let archive = try Self.archive()
    let objects = try #require(archive["$objects"] as? [Any])
    let top = try #require(archive["$top"] as? [String: Any])
    let id = try #require(top["RecordID"])
    let index = try #require(objects.firstIndex { ($0 as? [String: Any])?["RecordName"] != nil })

    for key in ["ZoneID", "RecordName", "$class"] {
      var damaged = archive
      var changed = objects
      var object = try #require(objects[index] as? [String: Any])
      object[key] = id
      changed[index] = object
      damaged["$objects"] = changed
      #expect(try Self.read(damaged) == nil)
      #expect(try Self.read(damaged, .xml) == nil)
    }
  }
}
