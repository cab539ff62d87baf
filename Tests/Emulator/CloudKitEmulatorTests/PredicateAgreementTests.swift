import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import TestSupport
import Testing

/// Random records and predicates: `evaluate(with:)` on this machine against the server's answer to the same predicate.
@Suite(.serialized) struct PredicateAgreementTests {
  @Test(arguments: 0..<UInt64(40)) func `evaluating here and asking the server agree`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let fixture = try Fixture()
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: EmulatorTransport(fixture.emulator, now: { fixture.now }, sleep: { _ in })
    )
    let database = container.privateCloudDatabase
    let zoneID = CKRecordZone.ID(zoneName: "notes")
    _ = try await database.save(CKRecordZone(zoneID: zoneID))
    let sent = (0..<60).map { RandomNote.record($0, in: zoneID, whole: $0 == 0, &random) }
    let (results, _) = try await database.modifyRecords(saving: sent, deleting: [])
    let records = try results.values.map { try $0.get() }
    #expect(records.count == sent.count)

    var found = 0
    for _ in 0..<60 {
      let predicate = RandomNote.predicate(in: zoneID, &random)
      let query = CKQuery(recordType: "Note", predicate: predicate)
      let (matches, _) = try await database.records(matching: query, inZoneWith: zoneID)
      let here = records.filter { predicate.evaluate(with: $0) }.map(\.recordID.recordName).sorted()
      #expect(here == matches.map(\.0.recordName).sorted(), "seed \(seed): \(query.debugDescription)")
      found += here.isEmpty ? 0 : 1
    }
    #expect(found > 15, "the predicates should find something now and then")
  }
}

extension PredicateAgreementTests {
  @Test(arguments: [
    ("d > 1", ["c"]), ("d == 1", ["b"]), ("d IN {1, 2}", ["b"]), ("d BETWEEN {0, 1}", ["a", "b"]),
    ("ANY 'red' = tags", ["b"]), ("NONE 'red' = tags", ["a", "c"]), ("ANY {'a', 'b'} = s", ["a", "b"]),
    ("at < now()", ["a"]), ("now() < at", ["b", "c"]), ("NONE now() = days", ["a"]),
    ("FALSEPREDICATE", []), ("d > 1 AND FALSEPREDICATE", []),
  ])
  func `the forms of Apple's documentation match the same records here and on the server`(
    format: String,
    expected: [String]
  ) async throws {
    let fixture = try Fixture()
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: EmulatorTransport(fixture.emulator, now: { fixture.now }, sleep: { _ in })
    )
    let records = ["a": 0.5, "b": 1, "c": 2.5].map { name, number in
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
      record["s"] = name
      record["d"] = number
      record["at"] = name == "a" ? Date(timeIntervalSince1970: 0) : Date(timeIntervalSince1970: 32_000_000_000)
      record["days"] = name == "a" ? [Date(timeIntervalSince1970: 0)] : nil
      record["tags"] = name == "b" ? ["red", "blue"] : ["green"]
      return record
    }
    let database = container.privateCloudDatabase
    _ = try await database.modifyRecords(saving: records, deleting: [])
    let predicate = NSPredicate(format: format)

    let found = try await database.records(matching: CKQuery(recordType: "Note", predicate: predicate)).matchResults

    #expect(found.map(\.0.recordName).sorted() == expected)
    #expect(records.filter { predicate.evaluate(with: $0) }.map(\.recordID.recordName).sorted() == expected)
  }
}

private enum RandomNote {
  static let texts = [
    "", "a", "ab", "A", "Ab c", "abc", "b", "é", "e\u{301}", "E", "ß", "SS", "日本 語", "🦊 fox", "red FOX", "Fóx-red",
    "\"'\\",
    "a OR b", "\u{0}", "z\u{10FFFF}", "\u{FF5E}", "\u{1F600}", "TRUEPREDICATE", "İ i", "1 2",
  ]
  static let doubles = [-1.5, -0.0, 0, 0.1, 1, 1e300, .leastNonzeroMagnitude, 2.5]
  static let integers = [Int.min, -1, 0, 1, 2, 1 << 53 + 1, Int.max]
  static let names = ["ana", "bo", "Ana", "note-1"]

  static func record(_ number: Int, in zoneID: CKRecordZone.ID, whole: Bool, _ random: inout SplitMix64) -> CKRecord {
    let record = CKRecord(
      recordType: "Note",
      recordID: CKRecord.ID(recordName: "note-\(number)", zoneID: zoneID)
    )
    func set(_ key: String, _ random: inout SplitMix64, _ value: (inout SplitMix64) -> any CKRecordValue) {
      if whole || random.next() % 4 > 0 { record[key] = value(&random) }
    }
    set("s", &random) { texts.randomElement(using: &$0) ?? "" }
    set("n", &random) { integers.randomElement(using: &$0) ?? 0 }
    set("d", &random) { doubles.randomElement(using: &$0) ?? 0 }
    set("t", &random) { date(&$0) }
    set("b", &random) { Data([UInt8.random(in: 0...2, using: &$0)]) }
    set("r", &random) { CKRecord.Reference(recordID: recordID(zoneID, &$0), action: .none) }
    set("l", &random) { place(&$0) }
    set("in", &random) { random in (0..<Int.random(in: (whole ? 1 : 0)...3, using: &random)).map { _ in text(&random) }
    }
    set("nn", &random) { random in [integer(&random), integer(&random)] }
    if whole || random.next() % 3 == 0 { record.encryptedValues["secret"] = text(&random) }
    if random.next() % 3 == 0 {
      record.parent = CKRecord.Reference(recordID: recordID(zoneID, &random), action: .none)
    }
    return record
  }

  static func text(_ random: inout SplitMix64) -> String { texts.randomElement(using: &random) ?? "" }
  static func integer(_ random: inout SplitMix64) -> Int { integers.randomElement(using: &random) ?? 0 }
  static func date(_ random: inout SplitMix64) -> Date {
    Date(timeIntervalSince1970: Double(Int.random(in: -3...3, using: &random)) / 1000 + 0.0004)
  }
  static func place(_ random: inout SplitMix64) -> CLLocation {
    CLLocation(latitude: .random(in: -1...1, using: &random), longitude: .random(in: -1...1, using: &random))
  }
  static func recordID(_ zoneID: CKRecordZone.ID, _ random: inout SplitMix64) -> CKRecord.ID {
    CKRecord.ID(recordName: names.randomElement(using: &random) ?? "", zoneID: zoneID)
  }

  /// A predicate that the server can do: conditions joined by AND, in text or as a compound, some negated.
  static func predicate(in zoneID: CKRecordZone.ID, _ random: inout SplitMix64) -> NSPredicate {
    let parts = (0..<Int.random(in: 1...2, using: &random)).map { _ in condition(zoneID, &random) }
    return parts.count == 1 ? parts[0] : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
  }

  private static func condition(_ zoneID: CKRecordZone.ID, _ random: inout SplitMix64) -> NSPredicate {
    let order = ["==", "!=", "<", "<=", ">", ">="].randomElement(using: &random) ?? "=="
    let same = ["==", "!="].randomElement(using: &random) ?? "=="
    var canNegate = true
    let (format, arguments): (String, [Any])
    switch Int.random(in: 0..<19, using: &random) {
    case 0: (format, arguments) = ("s \(order) %@", [text(&random)])
    case 1: (format, arguments) = ("%K \(order) %@", ["n", integer(&random)])
    case 2: (format, arguments) = ("d \(order) %f", [doubles.randomElement(using: &random) ?? 0])
    case 3: (format, arguments) = ("t \(order) %@", [date(&random)])
    case 4: (format, arguments) = ("b \(same) %@", [Data([1])])
    case 5: (format, arguments) = ("r \(same) %@", [recordID(zoneID, &random)])
    case 6: (format, arguments) = ("s IN %@", [[text(&random), text(&random), text(&random)]])
    case 7: (format, arguments) = ("n == %ld OR n == %ld OR n = 1", [integer(&random), integer(&random)])
    case 8: (format, arguments) = ("s BEGINSWITH %@", [text(&random)])
    case 9: (format, arguments) = ("#in CONTAINS %@", [text(&random)])
    case 10: (format, arguments) = ("ANY #in == %@", [text(&random)])
    case 11: (format, arguments) = ("ANY #in IN %@", [[text(&random), text(&random)]])
    case 12: (format, arguments) = ("nn CONTAINS %@", [[integer(&random), integer(&random)]])
    case 13: (format, arguments) = ("ANY #in BEGINSWITH %@", [text(&random)])
    case 14: (format, arguments) = ("recordID IN %@", [[recordID(zoneID, &random), recordID(zoneID, &random)]])
    case 15: (format, arguments) = ("parent \(same) %@", [recordID(zoneID, &random)])
    case 16:
      canNegate = false
      let words = ["self CONTAINS %@", "allTokens TOKENMATCHES[cdl] %@", "s TOKENMATCHES[cd] %@"]
      (format, arguments) = (words.randomElement(using: &random) ?? "", [text(&random)])
    case 17:
      canNegate = false
      (format, arguments) = (
        "distanceToLocation:fromLocation:(l, %@) < %f",
        [place(&random), Double.random(in: 0...150_000, using: &random)]
      )
    default:
      canNegate = false
      (format, arguments) = ("n BETWEEN %@", [[integer(&random), integer(&random)]])
    }
    guard canNegate, random.next() % 3 == 0 else { return NSPredicate(format: format, argumentArray: arguments) }
    if random.next() % 2 == 0 { return NSPredicate(format: "NOT (\(format))", argumentArray: arguments) }
    return NSCompoundPredicate(
      notPredicateWithSubpredicate: NSPredicate(format: format, argumentArray: arguments)
    )
  }
}
