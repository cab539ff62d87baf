import Foundation
import TestSupport
import Testing

/// The pages for users of other libraries, held against the code that is compiled and run here.
struct PageTests {
  private static let pages = [
    "Models/ComingFromCloudKitCodable", "Models/ComingFromCloudKitExtras", "Models/ComingFromCloudKitMagicCRUD",
    "Models/ComingFromMYCloudKit", "Sync/ComingFromCloudKitService",
  ]

  @Test(arguments: pages) func `each block of a page is compiled, and each snippet of its code is on the page`(
    page: String
  ) throws {
    let name = try #require(page.split(separator: "/").last)
    let blocks = codeBlocks(of: try packageText("Sources/Handbook/\(page).md")).filter { $0.language == "swift" }
      .map(\.lines)
    let snippets = Self.snippets(of: try packageText("Tests/Models/PagesTests/\(name).swift"))

    #expect(blocks.count > 4)
    for block in blocks where !snippets.contains(block) {
      Issue.record("Not compiled: \(block.joined(separator: "\n"))")
    }
    for snippet in snippets where !blocks.contains(snippet) {
      Issue.record("Not on the page: \(snippet.joined(separator: "\n"))")
    }
  }

  @Test(arguments: pages) func `a page says first where the records are`(page: String) throws {
    let text = try packageText("Sources/Handbook/\(page).md")
    let sections = text.split(separator: "\n").filter { $0.hasPrefix("##") }

    #expect(sections.prefix(2) == ["## Overview", "### Where the records are"])
  }

  /// The pages about models are compared in another target, and a page about manifests by building one.
  @Test func `each block of Swift in README and on the other pages of the handbook is compiled`() throws {
    let code = try ["Tests/Models/PagesTests/HandbookCode.swift", "Tests/Client/Sample/Notes.swift"].map {
      Self.bare(try packageText($0))
    }
    var count = 0
    for page in try ["../../README"] + Self.handbook()
    where !page.hasPrefix("Models/") && !Self.pages.contains(page) && page != "Client/StandIns" {
      let parts = try packageText("Sources/Handbook/\(page).md").components(separatedBy: "```")
      for block in parts where block.hasPrefix("swift\n") && !block.hasPrefix("swift\ndependencies:") {
        count += 1
        for paragraph in block.dropFirst("swift\n".count).split(separator: "\n\n") {
          let text = Self.bare(paragraph)
          #expect(text.isEmpty || code.contains { $0.contains(text) }, "\(page): \(paragraph)")
        }
      }
    }
    #expect(count > 10)
  }

  // MARK: - Pages and code

  /// The pages by their paths in the handbook.
  private static func handbook() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: packageFile("Sources/Handbook").path)
      .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(".md".count)) }.sorted()
  }

  /// Code without blanks, imports, and comments behind the code of a line.
  private static func bare(_ code: some StringProtocol) -> String {
    trimmedLines(of: code).filter { !$0.hasPrefix("import ") }.map { $0.replacing(/\s+\/\/ .*/, with: "") }.joined()
      .filter { $0 != " " }
  }

  /// The lines between each `// snippet.NAME` and the next `// snippet.end`.
  private static func snippets(of code: String) -> [[String]] {
    var snippets: [[String]] = []
    var isInside = false
    for line in trimmedLines(of: code) {
      switch line {
      case "// snippet.end": isInside = false
      case _ where line.hasPrefix("// snippet."):
        isInside = true
        snippets.append([])
      default: if isInside { snippets[snippets.count - 1].append(line) }
      }
    }
    return snippets
  }
}
