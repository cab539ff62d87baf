import Foundation
import Testing

/// The pages for users of other libraries, held against the code that is compiled and run here.
struct PageTests {
  private static let pages = [
    ("CloudKitModels", "ComingFromCloudKitCodable"), ("CloudKitModels", "ComingFromCloudKitExtras"),
    ("CloudKitModels", "ComingFromCloudKitMagicCRUD"), ("CloudService", "ComingFromCloudKitService"),
    ("CloudSyncModels", "ComingFromMYCloudKit"),
  ]

  @Test(arguments: pages) func `each block of a page is compiled, and each snippet of its code is on the page`(
    module: String,
    page: String
  ) throws {
    let blocks = Self.blocks(of: try Self.text("Sources/\(module)/\(module).docc/\(page).md"))
    let snippets = Self.snippets(of: try Self.text("Tests/PagesTests/\(page).swift"))

    #expect(blocks.count > 4)
    for block in blocks where !snippets.contains(block) {
      Issue.record("Not compiled: \(block.joined(separator: "\n"))")
    }
    for snippet in snippets where !blocks.contains(snippet) {
      Issue.record("Not on the page: \(snippet.joined(separator: "\n"))")
    }
  }

  @Test(arguments: pages) func `a page says first where the records are, and is linked from its catalogue`(
    module: String,
    page: String
  ) throws {
    let text = try Self.text("Sources/\(module)/\(module).docc/\(page).md")
    let sections = text.split(separator: "\n").filter { $0.hasPrefix("##") }
    let front = try Self.text("Sources/\(module)/\(module).docc/\(module).md")

    #expect(sections.prefix(2) == ["## Overview", "### Where the records are"])
    #expect(front.contains("<doc:\(page)>"))
  }

  // MARK: - Pages and code

  private static func text(_ path: String) throws -> String {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: top.appending(path: path), encoding: .utf8)
  }

  /// The lines without their indentation.
  private static func lines(of text: some StringProtocol) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The lines of each fenced block of Swift.
  private static func blocks(of page: String) -> [[String]] {
    let parts = page.split(separator: "```", omittingEmptySubsequences: false)
    return stride(from: 1, to: parts.count, by: 2).map { lines(of: parts[$0]) }
      .compactMap { $0.first == "swift" ? Array($0.dropFirst()) : nil }
  }

  /// The lines between each `// snippet.NAME` and the next `// snippet.end`.
  private static func snippets(of code: String) -> [[String]] {
    var snippets: [[String]] = []
    var isInside = false
    for line in lines(of: code) {
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
