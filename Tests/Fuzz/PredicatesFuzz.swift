// Sources: Predicates/*.swift FoundationInternals/*.swift Queries/CKQuery.swift Errors/*.swift ../CloudKitWebServices/Wire/*.swift Records/CKRecordID.swift
// Sources: Records/CKRecordValue.swift Records/CKRecordZoneID.swift Records/CKReference.swift Records/CKServerChangeToken.swift
// Sources: Records/CLLocation.swift Records/NSCoder+Optional.swift Records/StoredField*.swift
// Sources: Records/CKNativeField.swift
// Without: FoundationInternals/ArchiveNames.swift
// Links: CloudKitSchema

// Exported, as the module itself exports it.
@_exported public import Foundation
internal import Synchronization

// Bytes become arguments and a format; the predicate is read, written, read again, translated, evaluated and archived.
// The first byte says how many arguments; each takes a kind byte and what it needs; the rest is the format.

// These stand for records, assets and the database, which would bring the whole client with them.

/// A record's fields, and nothing that happens to them.
public class CKRecord: NSObject, NSCoding, @unchecked Sendable {
  /// A record's identity.
  public typealias ID = CKRecordID
  /// The name of a record type.
  public typealias RecordType = String
  /// The name of a field.
  public typealias FieldKey = String

  let recordID = CKRecordID()
  let state = Mutex(RecordState())

  override init() {}

  /// Reads nothing.
  public required init?(coder: NSCoder) { nil }

  /// Writes nothing.
  public func encode(with coder: NSCoder) {}

  subscript(key: String) -> (any CKRecordValue)? {
    get { state.withLock { $0.fields[key]?.value } }
    set { state.withLock { $0.fields[key] = newValue.map { StoredField($0) } } }
  }
}

struct RecordState: Sendable {
  var fields: [String: StoredField] = [:]
  var created: WireStamp?
  var modified: WireStamp?
  var parent: CKReference?
  var share: CKReference?
}

/// A file that a field may hold.
public final class CKAsset: NSObject, NSCoding, CKRecordValue, Sendable {
  let wire: WireAsset?
  let fileURL: URL?
  var localFile: URL? { fileURL }

  init(wire: WireAsset) { (self.wire, fileURL) = (wire, nil) }
  init(fileURL: URL) { (wire, self.fileURL) = (nil, fileURL) }

  /// Reads nothing.
  public init?(coder: NSCoder) { nil }

  /// Writes nothing.
  public func encode(with coder: NSCoder) {}
}

/// Identifiers of zones ask for its scope.
public enum CKDatabase {
  /// The scopes that there are.
  public enum Scope { case `public`, `private`, shared }
}

/// A class that archives may contain.
public class Archived: NSObject, NSCoding {
  override init() {}

  /// Reads nothing.
  public required init?(coder: NSCoder) { nil }

  /// Writes nothing.
  public func encode(with coder: NSCoder) {}
}

class CKShare: CKRecord, @unchecked Sendable { var isReadable: Bool { false } }
final class CKAllowedSharingOptions: Archived {}
final class CKNotificationInfo: Archived {}
final class CKOperationGroup: Archived {}
final class CKQueryCursor: Archived {}
final class CKRecordValueStore: Archived {}
final class CKRecordZone: Archived { typealias ID = CKRecordZoneID }
final class CKShareMetadata: Archived {}
final class CKShareParticipant: Archived {}
final class CKSubscription: Archived {}
final class CKUserIdentity: Archived {}
final class CKUserIdentityLookupInfo: Archived {}

private struct Input {
  var bytes: ArraySlice<UInt8>

  mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

  mutating func number() -> UInt64 { (0..<8).reduce(0) { number, _ in number << 8 | UInt64(byte()) } }

  mutating func text() -> String {
    let taken = bytes.prefix(Int(byte() % 16))
    bytes = bytes.dropFirst(taken.count)
    return String(decoding: taken, as: UTF8.self)
  }

  mutating func argument(_ depth: Int = 0) -> Any {
    switch byte() % 18 {
    case 0, 1: text()
    case 2: ["a", "in", "tags", "title", "place", "recordID", "creationDate"][Int(byte() % 7)]
    case 3: Int64(bitPattern: number())
    case 4: number()
    case 5: Double(bitPattern: number())
    case 6: Date(timeIntervalSince1970: Double(bitPattern: number()))
    case 7: Date(timeIntervalSince1970: Double(Int32(truncatingIfNeeded: number())) / 1000)
    case 8: Data(text().utf8)
    case 9: CKRecordID(recordName: text())
    case 10: CKReference(recordID: CKRecordID(recordName: text()), action: .deleteSelf)
    case 11: CLLocation(latitude: Double(byte()), longitude: Double(bitPattern: number()))
    case 12: NSNull()
    case 13: NSObject()
    case 14: NSNumber(value: Int8(bitPattern: byte()))
    case 15: byte() % 2 == 0
    case 16 where depth < 3: (0..<Int(byte() % 4)).map { _ in argument(depth + 1) }
    default: Optional<Any>.some(Optional<String>.none as Any) as Any
    }
  }
}

private let records: [CKRecord] = {
  let (full, sparse) = (CKRecord(), CKRecord())
  full["a"] = 1
  full["in"] = "The Red Fox"
  full["title"] = "Café"
  full["tags"] = ["red", "blue"]
  full["place"] = CLLocation(latitude: 1, longitude: 2)
  full["b"] = Data([1])
  full["d"] = 2.5
  full["date"] = Date(timeIntervalSince1970: 0)
  full["owner"] = CKReference(recordID: CKRecordID(recordName: "ana"), action: .none)
  sparse["a"] = "aaaaaaaa"
  return [full, sparse, CKRecord()]
}()

private func require(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fatalError(message()) }
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = Input(bytes: ArraySlice(UnsafeBufferPointer(start: start, count: count)))
  let arguments = (0..<Int(input.byte() % 5)).map { _ in input.argument() }
  let format = String(decoding: input.bytes, as: UTF8.self)
  let predicate = NSPredicate(format: format, argumentArray: arguments)
  let node = predicate.node
  _ = predicate.description
  for record in records {
    let holds = predicate.evaluate(with: record)
    let isDenied = NSCompoundPredicate(notPredicateWithSubpredicate: predicate).evaluate(with: record)
    require(!(holds && isDenied), "both a predicate and its denial hold")
    require(node.isReadable || !holds, "a malformed predicate holds")
    let simplified = node.simplified.holds(for: RecordValues(record))
    require(simplified == node.holds(for: RecordValues(record)), "simplified, it says something else")
  }
  let query = CKQuery(recordType: "Note", predicate: predicate)
  do throws(CKError) {
    _ = try query.wire(zoneID: .default)
  } catch {
    require(error.code == .invalidArguments, "a refusal of another kind")
  }
  guard node.isReadable else { return 0 }

  let shown = node.text(showingValues: true)
  let read = PredicateParser.node(format: shown, arguments: [])
  if read.isReadable { require(read.text(showingValues: true) == shown, "\(shown) is written otherwise") }

  let archiver = NSKeyedArchiver(requiringSecureCoding: true)
  archiver.encode(node, forKey: "predicate")
  archiver.finishEncoding()
  if let coder = try? NSKeyedUnarchiver(forReadingFrom: archiver.encodedData) {
    require(coder.predicate(forKey: "predicate")?.node == node, "\(shown) does not survive its archive")
  }
  return 0
}
