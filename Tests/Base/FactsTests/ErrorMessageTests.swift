import Foundation
import TestSupport
import Testing

/// The messages of errors, which are written where they are thrown: one file has them all, so that wording is reviewed.
struct ErrorMessageTests {
  /// The texts that follow the making of an error in a file, with `…` for each value in them.
  private static func messages(in source: String) -> [String] {
    let pattern =
      /(?:StoreError\(\s*\.\w+,|CommandFailure\(|CommandFailure\.usage\(|\.usage\(|ValidationError\(|doesNotApply\()\s*((?:"(?:[^"\\]|\\.)*"\s*\+?\s*)+)/
    return source.matches(of: pattern).map { match in
      let parts = String(match.1).matches(of: /"((?:[^"\\]|\\.)*)"/).map { String($0.1) }
      return withoutValues(parts.joined()).replacing("\\\"", with: "\"")
    }
  }

  private static func withoutValues(_ text: String) -> String {
    var (result, depth, rest) = ("", 0, Substring(text))
    while let character = rest.first {
      if depth == 0, rest.hasPrefix("\\(") {
        result += "…"
        depth = 1
        rest = rest.dropFirst(2)
        continue
      }
      if depth > 0 { depth += character == "(" ? 1 : character == ")" ? -1 : 0 } else { result.append(character) }
      rest = rest.dropFirst()
    }
    return result
  }

  @Test func `every error message is as it was reviewed`() throws {
    var lines: Set<String> = []
    let rooms = [
      "CloudSync", "CloudService", "Terminal", "Dashboard", "CktopDemo", "Doctor", "Facts", "RecordImport", "cktop",
    ]
    for room in rooms {
      for file in try swiftFiles(in: sources(of: room)) {
        lines.formUnion(Self.messages(in: try String(decoding: Data(contentsOf: file), as: UTF8.self)))
      }
    }
    let text = lines.sorted().joined(separator: "\n") + "\n"
    #expect(try text == recorded("Tests/Base/FactsTests/Errors.txt", text))
    #expect(lines.count > 100)
  }
}
