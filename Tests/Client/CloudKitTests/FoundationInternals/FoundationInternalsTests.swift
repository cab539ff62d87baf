import Foundation
import Testing

@testable import CloudKit

/// Looks at its unarchiver while it is decoded. At the top level, because archives take no nested classes.
final class UnarchiverObserver: NSObject, NSSecureCoding {
  let contentsAreKnown: Bool

  override init() { contentsAreKnown = false }

  init?(coder: NSCoder) { contentsAreKnown = (coder as? NSKeyedUnarchiver)?.contents != nil }

  func encode(with coder: NSCoder) {}

  static var supportsSecureCoding: Bool { true }
}

/// What this library relies on in Foundation although nothing documents it. A test that fails here says what a new
/// toolchain has changed, and which file depends on it, nearly always one of
/// `Sources/Client/CloudKit/FoundationInternals`.
@Suite(.serialized) struct FoundationInternalsTests {
  private func unarchiver(_ values: [String: Any]) throws -> NSKeyedUnarchiver {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    for (key, value) in values { archiver.encode(value, forKey: key) }
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    return unarchiver
  }

  // MARK: - NSKeyedUnarchiver+Private.swift

  @Test func `the third bit of an unarchiver's private flags says that it has begun to decode`() throws {
    let unarchiver = try unarchiver(["a": NSNull()])

    #expect(unarchiver.hasBegunDecoding == false)
    _ = unarchiver.decodeObject(of: NSNull.self, forKey: "a")
    #expect(unarchiver.hasBegunDecoding == true)
  }

  @Test func `an unarchiver that was asked for a key has begun to decode, too`() throws {
    let unarchiver = try unarchiver(["a": NSNull()])

    #expect(unarchiver.containsValue(forKey: "a"))
    #expect(unarchiver.hasBegunDecoding == true)
  }

  @Test func `the objects of an archive and the keys of its top level stand in private properties`() throws {
    let contents = try #require(try unarchiver(["a": NSString(string: "text"), "b": NSNull()]).contents)

    #expect(contents.objects.contains { $0 as? String == "text" })
    #expect(contents.objects.first as? String == "$null")
    #expect(contents.top.keys.sorted() == ["a", "b"])
  }

  @Test func `while an object is decoded, the properties show that another one is open`() throws {
    let unarchiver = try unarchiver(["a": UnarchiverObserver()])

    #expect(unarchiver.contents != nil)
    #expect(unarchiver.decodeObject(of: UnarchiverObserver.self, forKey: "a")?.contentsAreKnown == false)
    #expect(unarchiver.contents != nil)
  }

  @Test func `a reference in an archive is of a private class, with the index of the object`() throws {
    let contents = try #require(try unarchiver(["a": NSString(string: "text")]).contents)

    let index = try #require(NSKeyedUnarchiver.index(of: contents.top["a"]))
    #expect(contents.objects[index] as? String == "text")
    #expect(NSKeyedUnarchiver.index(of: "text") == nil && NSKeyedUnarchiver.index(of: nil) == nil)
  }

  // MARK: - ArchiveCheck.swift

  /// The archived form of an object that has a class.
  private func archivedForm(_ object: Any) throws -> (form: [String: Any], className: String?) {
    let contents = try #require(try unarchiver(["a": object]).contents)
    let index = try #require(NSKeyedUnarchiver.index(of: contents.top["a"]))
    let form = try #require(contents.objects[index] as? [String: Any])
    let type = NSKeyedUnarchiver.index(of: form["$class"]).flatMap { contents.objects[$0] as? [String: Any] }
    return (form, type?["$classname"] as? String)
  }

  @Test func `an object is archived with the name of its class, by which NSClassFromString finds it`() throws {
    for object: NSObject in [
      NSDictionary(), NSArray(), NSSet(), NSDate(), NSUUID(), NSURL(fileURLWithPath: "/"), CKRecordZone.ID(),
      UnarchiverObserver(),
    ] {
      let name = try #require(try archivedForm(object).className)
      let type: AnyClass? = NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name)
      #expect(type.map { object.isKind(of: $0) } == true, "\(name)")
    }
  }

  @Test func `collections, URLs and UUIDs are archived under the keys that are checked`() throws {
    let dictionary = try archivedForm(NSDictionary(object: NSNumber(value: 1), forKey: NSString(string: "a"))).form
    #expect((dictionary["NS.keys"] as? [Any])?.count == 1 && (dictionary["NS.objects"] as? [Any])?.count == 1)
    for list: NSObject in [NSArray(object: NSNull()), NSSet(object: NSNull())] {
      #expect((try archivedForm(list).form["NS.objects"] as? [Any])?.count == 1)
    }
    #expect((try archivedForm(NSUUID()).form["NS.uuidbytes"] as? Data)?.count == 16)
    let url = try archivedForm(try #require(NSURL(string: "b", relativeTo: URL(fileURLWithPath: "/a")))).form
    #expect(
      NSKeyedUnarchiver.index(of: url["NS.relative"]) != nil && NSKeyedUnarchiver.index(of: url["NS.base"]) != nil
    )
  }

  @Test func `a binary property list ends with the width, the number and the table of its objects' offsets`() throws {
    let list: [String: Any] = ["a": ["b", 1, 1.5, true, Data([1]), Date()] as [Any]]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    #expect(ArchiveCheck.canBeRead(data))

    var damaged = data
    // The marker of the first object, a set instead of a dictionary.
    damaged[8] = 0xC1
    #expect(!ArchiveCheck.canBeRead(damaged))
    #expect(!ArchiveCheck.canBeRead(data.prefix(20)))
  }

  // MARK: - ArchiveNames.swift

  @Test func `the class names in Apple's archives are registered before the program's first statement`() {
    for (name, type): (String, AnyClass) in [
      ("CKRecord", CKRecord.self), ("CKRecordID", CKRecordID.self), ("CKShare", CKShare.self),
      ("CLLocation", CLLocation.self), ("CKServerChangeToken", CKServerChangeToken.self),
    ] {
      #expect(NSKeyedUnarchiver.class(forClassName: name) == type, "\(name)")
    }
  }

  // MARK: - CVarArg+Objects.swift

  @Test func `formats take objects and collections by _CVarArgObject, and write their descriptions`() {
    #expect(String(format: "%@ %@ %@", NSNumber(value: 3), ["a"], "b") == #"3 ["a"] b"#)
    #expect(String(format: "%@", NSNull() as any CVarArg) == "<null>")
  }

  // MARK: - NSPredicate+Constant.swift

  @Test func `constant predicates are equal by value, and no predicate of a block or compound equals one`() {
    #expect(NSPredicate(value: true).constant == true && NSPredicate(value: false).constant == false)
    #expect(NSPredicate { _, _ in true }.constant == nil)
  }

  @Test func `a compound predicate asks its parts through the method that a subclass overrides`() {
    let record = CKRecord(recordType: "Note")
    record["a"] = 1
    let parts = [NSPredicate(format: "a == 1"), NSPredicate(value: true)]

    #expect(NSCompoundPredicate(andPredicateWithSubpredicates: parts).evaluate(with: record as Any?))
    #expect(NSArray(array: [record]).filtered(using: parts[0]).count == 1)
  }

  // MARK: - NSSortDescriptor+Key.swift

  @Test func `a sort descriptor returns the comparator and the key path it was made with, reversed too`() throws {
    let descriptor = NSSortDescriptor(key: "title", ascending: true)
    let reversed = try #require(descriptor.reversedSortDescriptor as? NSSortDescriptor)

    #expect(descriptor.key == "title" && descriptor.keyPath == \CKRecord.itself)
    #expect(reversed.key == "title" && !reversed.ascending)
    #expect(NSSortDescriptor(keyPath: \CKRecord.recordType, ascending: true).key == nil)
  }

  // MARK: - CKError+Bridging.swift

  @Test func `a cast from NSError asks _ObjectiveCBridgeable`() {
    let error: any Error = NSError(domain: CKErrorDomain, code: CKError.Code.zoneBusy.rawValue)

    #expect((error as? CKError)?.code == .zoneBusy)
    #expect((NSError(domain: "other", code: 1) as any Error) as? CKError == nil)
  }

  // MARK: - StoredField+Wire.swift

  @Test func `a number's type encoding says which kind of number it was made from`() {
    let numbers: [(NSNumber, Character)] = [
      (1.5, "d"), (NSNumber(value: Float(1.5)), "f"), (NSNumber(value: UInt64.max), "Q"),
      (NSNumber(value: Int64.max), "q"),
    ]
    for (number, encoding) in numbers {
      #expect(Character(Unicode.Scalar(UInt8(bitPattern: number.objCType.pointee))) == encoding, "\(number)")
    }
    #expect(
      !["d", "f", "Q"].contains(Character(Unicode.Scalar(UInt8(bitPattern: NSNumber(value: true).objCType.pointee))))
    )
  }
}
