import CloudKit
import CloudKitModelMacros
import CloudKitSchema
import Foundation
import TestSupport
import Testing

/// The articles about models, held against code.
struct ArticleTests {
  @Test func `each block of Swift in the articles is compiled`() throws {
    let code = ["Tests/Models/CloudKitModelMacrosTests/ArticleExamples.swift", "Tests/Models/Hello/main.swift"]
    let examples = try code.flatMap { trimmedLines(of: try packageText($0)) }
    var count = 0
    for article in try Self.articles() {
      for block in codeBlocks(of: article.text).map(\.lines) {
        count += 1
        let isCompiled = examples.indices.contains { examples[$0...].starts(with: block) }
        #expect(isCompiled, "\(article.name): \(block.joined(separator: "\n"))")
      }
    }
    #expect(count > 15)
  }

  private static let comparisons: [(String, Query<Article>)] = [
    ("equals", Query().filter(\.title, equals: "a")),
    ("notEquals", Query().filter(\.title, .notEquals("a"))),
    ("isLess", Query().filter(\.title, .isLess(than: "a"))),
    ("isAtMost", Query().filter(\.title, .isAtMost("a"))),
    ("isGreater", Query().filter(\.title, .isGreater(than: "a"))),
    ("isAtLeast", Query().filter(\.title, .isAtLeast("a"))),
    ("isBetween", Query().filter(\.title, .isBetween("a"..."b"))),
    ("isAny", Query().filter(\.title, .isAny(of: ["a"]))),
    ("isNone", Query().filter(\.title, .isNone(of: ["a"]))),
    ("begins", Query().filter(\.title, .begins(with: "a"))),
    ("beginsNot", Query().filter(\.title, .beginsNot(with: "a"))),
    ("containsWords", Query().filter(\.title, .containsWords(of: "a"))),
    ("contains", Query().filter(\.topics, .contains("a"))),
    ("containsNot", Query().filter(\.topics, .containsNot("a"))),
    ("containsAny", Query().filter(\.topics, .containsAny(of: ["a"]))),
    ("containsNone", Query().filter(\.topics, .containsNone(of: ["a"]))),
    ("containsAll", Query().filter(\.topics, .containsAll(of: ["a"]))),
    ("containsNotAll", Query().filter(\.topics, .containsNotAll(of: ["a"]))),
    ("containsText", Query().filter(\.topics, .containsText(beginningWith: "a"))),
    ("containsNoText", Query().filter(\.topics, .containsNoText(beginningWith: "a"))),
    ("isNear", Query().filter(.title, .isNear(CLLocation(latitude: 1, longitude: 2), within: 3))),
  ]

  @Test func `the table of comparisons has the server's comparators`() throws {
    let article = try #require(try Self.articles().first { $0.name.hasSuffix("/QueryingModels.md") })
    var table: [String: [String]] = [:]
    for row in article.text.split(separator: "\n") where row.hasPrefix("| `") {
      let cells = row.split(separator: "|").map { cell in cell.matches(of: /`([^`]+)`/).map { String($0.1) } }
      table[cells[0][0]] = cells[2]
    }
    for (name, query) in Self.comparisons {
      #expect(try query.query().wire(zoneID: .default).filterBy.map(\.comparator) == table[name], "\(name)")
    }
    #expect(Set(table.keys) == Set(Self.comparisons.map(\.0)))
  }

  @Test func `three comparisons cannot be negated, as the article says`() throws {
    let near = QueryComparison.isNear(CLLocation(latitude: 1, longitude: 2), within: 3)
    let queries: [Query<Article>] = [
      Query().excluding(\.title, .isBetween("a"..."b")), Query().excluding(\.title, .containsWords(of: "a")),
      Query().excluding(.title, near),
    ]
    for query in queries {
      #expect(throws: CKError.self) { _ = try query.query().wire(zoneID: .default) }
    }
  }

  @Test func `a computed record type is asked at each use`() throws {
    let reading = Reading(id: 1, celsius: 20)
    #expect(try CKRecordEncoder().encode(reading).recordType == "Reading")
    let trial = try Settings.$isTrial.withValue(true) { try CKRecordEncoder().encode(reading).recordType }
    #expect(trial == "TrialReading")
  }

  @Test func `an initializer can take the way in which names are made`() throws {
    var number = 0
    let invoices = (1...3).map { _ in
      Invoice(total: 1) {
        number += 1
        return "i\(number)"
      }
    }
    #expect(try invoices.map { try CKRecordEncoder().encode($0).recordID.recordName } == ["i1", "i2", "i3"])
    for invoice in invoices {
      let record = try CKRecordEncoder().encode(invoice)
      #expect(try CKRecordDecoder().decode(Invoice.self, from: record).recordName == invoice.recordName)
    }
    #expect(number == 3)
  }

  @Test func `the models of the article about schemas print the schema that it shows`() {
    #expect(CKSchema(Shop.Order.self, Shop.Customer.self).description == Shop.schema)
  }

  // MARK: - The articles

  /// The pages of the handbook whose code is among the examples, and the first pages of the modules. The tutorial's code
  /// is a program of its own, and `PagesTests` has that of the pages for users of other libraries.
  private static func articles() throws -> [(name: String, text: String)] {
    let folder = "Sources/Handbook/Models"
    let pages = try FileManager.default.contentsOfDirectory(atPath: packageFile(folder).path)
      .filter { $0.hasSuffix(".md") && $0 != "Tutorial.md" && !$0.hasPrefix("ComingFrom") }
    let names =
      [
        "Sources/Models/CloudKitModels/CloudKitModels.docc/CloudKitModels.md",
        "Sources/Models/CloudSyncModels/CloudSyncModels.docc/CloudSyncModels.md",
      ] + pages.sorted().map { "\(folder)/\($0)" }
    return try names.map { ($0, try packageText($0)) }
  }
}
