import Foundation

/// Returns the lines of a text without their indentation, and without empty lines.
package func trimmedLines(of text: some StringProtocol) -> [String] {
  text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
}

/// Returns the fenced blocks of an article, each with its language and its lines without indentation.
package func codeBlocks(of article: String) -> [(language: String, lines: [String])] {
  let parts = article.split(separator: "```", omittingEmptySubsequences: false)
  return stride(from: 1, to: parts.count, by: 2).map { index in
    let language = parts[index].prefix { $0 != "\n" }
    return (String(language), trimmedLines(of: parts[index].dropFirst(language.count)))
  }
}
