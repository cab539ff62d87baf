import Foundation
import TOMLKit

/// A text that a TOML file has without the quotes that it needs, as in `theme = mine`.
package struct UnquotedText: Sendable, Hashable {
  /// The key, as the file has it.
  package let key: String
  package let text: String

  /// How to write the key and the text.
  ///
  /// - Parameter showsText: whether the text may be shown; it may be a secret.
  package func remedy(showsText: Bool = true) -> String {
    "put the text in quotes: \(clip(key, to: 60)) = \"\(showsText ? clip(text, to: 60) : "…")\""
  }
}

extension UnquotedText {
  /// Finds a text without quotes in a line that the parser rejected; nil if the mistake is another.
  ///
  /// - Parameters:
  ///   - text: the whole file.
  ///   - line: the line of the parser's error, from 1.
  package init?(in text: String, line: Int) {
    // By bytes: to Swift, CR LF is one character, and another than LF.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // Longer lines are no settings, and the pattern would be slow on them.
    guard lines.indices.contains(line - 1), lines[line - 1].count < 1000 else { return nil }
    // Strings, comments, punctuation, words.
    let pattern = /"(?:[^"\\]|\\.)*"|'[^']*'|#.*|[=\[\]{},"']|[^\s=\[\]{},"'#]+/
    let tokens = Substring(lines[line - 1]).matches(of: pattern).map { String($0.output) }
    for place in tokens.indices.dropFirst(2) where tokens[place - 1] == "=" {
      let key = tokens[place - 2]
      // The first key of the line, or one of an inline table.
      guard Self.isWord(key), place == 2 || ["{", ","].contains(tokens[place - 3]) else { continue }
      let next = tokens[(place + 1)...].first
      let isWhole = next.map { $0 == "," || $0 == "}" || $0.hasPrefix("#") } ?? true
      guard isWhole, let text = Self.unquoted(tokens[place]) else { continue }
      self.init(key: key, text: text)
      return
    }
    return nil
  }

  private static func isWord(_ token: String) -> Bool { token.wholeMatch(of: /[^=\[\]{},"'#\\]+/) != nil }

  /// Returns the text that a token in the place of a value was meant to be; nil if it is a value, or may be no text.
  private static func unquoted(_ token: String) -> String? {
    // The parser reads a colour such as #d7dce2 as a comment.
    if let color = token.prefixMatch(of: /#[0-9A-Fa-f]{3,8}(?!\w)/) { return String(color.output) }
    // Digits are meant to be a number.
    guard isWord(token), token.wholeMatch(of: /[+-]?[\d._]+/) == nil, (try? TOMLTable(string: "a = \(token)")) == nil
    else { return nil }
    // Typographic quotes are none to TOML.
    return token.trimmingCharacters(in: CharacterSet(charactersIn: "“”„‘’«»"))
  }
}
