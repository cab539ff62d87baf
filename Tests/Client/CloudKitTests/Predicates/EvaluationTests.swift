import Foundation
import Testing

@testable import CloudKit

@Suite(.serialized) struct EvaluationTests {
  private let record: CKRecord = {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-1"))
    record["title"] = "The Red Fox"
    record["accent"] = "Café Crème"
    record["n"] = 5
    record["d"] = 2.5
    record["flag"] = true
    record["at"] = Date(timeIntervalSince1970: 1.0009)
    record["data"] = Data([1, 2])
    record["tags"] = ["red", "blue"]
    record["none"] = [String]()
    record["owner"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "ana"), action: .none)
    record["place"] = CLLocation(latitude: 0, longitude: 0)
    record.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "folder"), action: .none)
    return record
  }()

  @Test(arguments: [
    "title == 'The Red Fox'", "title BEGINSWITH 'The'", "title ENDSWITH 'Fox'", "title CONTAINS 'Red'",
    "title CONTAINS[c] 'red'", "'Red' IN title", "title LIKE 'The*F?x'", "title LIKE[c] '*RED*'",
    "title MATCHES '.*R[ae]d.*'",
    "title MATCHES[c] 'the red fox'", "title ==[c] 'the red fox'", "title TOKENMATCHES 'fox RED'",
    "accent ==[cd] 'cafe creme'",
    "accent BEGINSWITH[d] 'Cafe'", "self CONTAINS 'cafe blue'", "allTokens TOKENMATCHES[cdl] 'CREME red'", "n == 5",
    "n == 5.0", "n > 4 AND n < 6", "n BETWEEN {5, 5}", "n IN {1, 5}", "NOT n IN {1, 2}", "flag == YES", "flag == 1",
    "at == CAST(-978307199, 'NSDate')", "ANY tags == 'red'", "tags CONTAINS 'red'", "'red' IN tags",
    "ANY tags IN {'x', 'red'}",
    "tags CONTAINS {'red', 'blue'}", "NONE tags == 'green'", "ALL tags BEGINSWITH[c] 'R' OR ALL tags LIKE '*e*'",
    "NOT tags CONTAINS {'red', 'x'}", "NONE none == 'x'", "NOT ANY none == 'x'", "ALL none == 'x'",
    "ANY tags LIKE 'r*'",
    "recordID == 'note-1'", "recordName BEGINSWITH 'note'", "parent == 'folder'", "owner == 'ana'", "lacking == nil",
    "n != nil", "NOT n == nil", "n == 1 OR n == 5", "n == 1 OR title == 'x' OR d > 2", "NOT (n == 1 AND d == 2)",
    "NOT (n == 1 OR d == 2)", "n > d", "1 == 1", "lacking == 1 OR n == 5", "creationDate == nil", "TRUEPREDICATE",
    "ANY {1, 5} == n", "ANY 'red' = tags", "NONE 'green' = tags", "d < 3 AND NOT d < 2", "at < now()", "now() >= at",
  ])
  func `holds`(format: String) {
    #expect(NSPredicate(format: format).evaluate(with: record), "\(NSPredicate(format: format).node)")
    #expect(!NSPredicate(format: "NOT (\(format))").evaluate(with: record))
    #expect(NSArray(array: [record]).filtered(using: NSPredicate(format: format)).count == 1)
  }

  @Test(arguments: [
    "lacking == 1", "lacking != 1", "lacking < 1", "lacking IN {1}", "lacking CONTAINS 'x'", "ANY lacking == 1",
    "lacking LIKE '*'", "lacking TOKENMATCHES 'x'", "lacking == 1 AND n == 5", "lacking == 1 OR n == 6", "n == 'five'",
    "n BEGINSWITH '5'", "title < 5", "title MATCHES '('", "title MATCHES 'a)|(.*'", "ANY n == 5", "tags BEGINSWITH 'r'",
    "at == 1", "place == 1", "data < 1", "creationDate > CAST(0, 'NSDate')", "n > nil", "SELF == 1", "tags == 'red'",
  ])
  func `is neither true nor false`(format: String) {
    #expect(!NSPredicate(format: format).evaluate(with: record))
    #expect(!NSPredicate(format: "NOT (\(format))").evaluate(with: record))
    let compound = NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: format))
    #expect(!compound.evaluate(with: record))
  }

  @Test func `values that no literal spells are compared too`() {
    let (east, north) = (CLLocation(latitude: 0, longitude: 0.01), CLLocation(latitude: 1, longitude: 0))
    let table: [(NSPredicate, Bool)] = [
      (NSPredicate(format: "data == %@", Data([1, 2])), true), (NSPredicate(format: "data != %@", Data([1])), true),
      (NSPredicate(format: "at == %@", Date(timeIntervalSince1970: 1)), true),
      (NSPredicate(format: "owner == %@", CKRecord.ID(recordName: "ana")), true),
      (NSPredicate(format: "owner IN %@", [CKRecord.ID(recordName: "bo")]), false),
      (NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 1200", east), true),
      (NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 1000", east), false),
      (NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) > 1000", north), true),
      (NSPredicate(format: "distanceToLocation:fromLocation:(lacking, %@) < 1000", north), false),
      (NSPredicate(format: "title == %@", "The Red Fox\u{301}"), false),
    ]
    for (predicate, expected) in table { #expect(predicate.evaluate(with: record) == expected, "\(predicate)") }
  }

  @Test func `compound predicates hold as their parts do, those of blocks included`() {
    let (yes, lacking) = (NSPredicate(format: "n == 5"), NSPredicate(format: "lacking == 5"))
    let block = NSPredicate { object, _ in (object as? CKRecord)?.recordType == "Note" }
    func not(_ part: NSPredicate) -> NSPredicate { NSCompoundPredicate(notPredicateWithSubpredicate: part) }

    #expect(
      NSCompoundPredicate(type: .and, subpredicates: [yes, block, NSPredicate(value: true)]).evaluate(with: record)
    )
    #expect(!NSCompoundPredicate(type: .and, subpredicates: [yes, lacking]).evaluate(with: record))
    #expect(NSCompoundPredicate(type: .or, subpredicates: [lacking, yes]).evaluate(with: record))
    #expect(!not(block).evaluate(with: record))
    #expect(!not(lacking).evaluate(with: record))
    #expect(not(not(yes)).evaluate(with: record))
    #expect(NSCompoundPredicate(type: .and, subpredicates: []).evaluate(with: record))
    #expect(!NSCompoundPredicate(type: .or, subpredicates: []).evaluate(with: record))
  }

  @Test func `what is no record does not match`() {
    #expect(!NSPredicate(format: "TRUEPREDICATE").evaluate(with: "text"))
    #expect(!NSPredicate(format: "TRUEPREDICATE").evaluate(with: nil))
  }

  @Test func `a search of the whole record leaves encrypted texts alone`() {
    let record = CKRecord(recordType: "Note")
    record["title"] = "red fox"
    record.encryptedValues["secret"] = "blue"

    #expect(NSPredicate(format: "self CONTAINS 'red'").evaluate(with: record))
    #expect(!NSPredicate(format: "self CONTAINS 'blue'").evaluate(with: record))
  }

  @Test func `a record's words are cut at white space`() {
    #expect(record.allTokens() == ["Café", "Crème", "red", "blue", "The", "Red", "Fox"])
  }

  @Test func `integers and floating-point numbers are compared exactly`() {
    let large: Int64 = 9_007_199_254_740_993
    #expect(FieldValue.int64(large).order(.double(9_007_199_254_740_992), []) == 1)
    #expect(FieldValue.double(9_007_199_254_740_992).order(.int64(large), []) == -1)
    #expect(FieldValue.int64(.max).order(.double(0x1p63), []) == -1)
    #expect(FieldValue.int64(.min).order(.double(-0x1p63), []) == 0)
    #expect(FieldValue.int64(.min).order(.double(-1e300), []) == 1)
    #expect(FieldValue.int64(-1).order(.double(-1.5), []) == 1 && FieldValue.int64(1).order(.double(1.5), []) == -1)
  }
}
