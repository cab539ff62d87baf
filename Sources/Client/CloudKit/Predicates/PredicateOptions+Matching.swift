package import Foundation

/// Matches of a string with a pattern, for the operators that compare parts of strings.
extension PredicateComparison.Options {
  /// Whether the string matches; nil if the pattern is invalid.
  func holds(_ text: String, _ comparator: PredicateComparison.Operator, _ pattern: String) -> Bool? {
    switch comparator {
    case .beginsWith: folded(text).utf8.starts(with: folded(pattern).utf8)
    case .endsWith: folded(text).utf8.reversed().starts(with: folded(pattern).utf8.reversed())
    case .contains: pattern.isEmpty || folded(text).utf8.contains(folded(pattern).utf8)
    case .like: Self.holds(wildcards: folded(pattern), for: Array(folded(text)))
    case .matches: holds(expression: pattern, for: text)
    case .tokenMatches: Self.words(in: [pattern]).isSubset(of: Self.words(in: [text]))
    default: nil
    }
  }

  /// Returns the words in strings, for token searches, which ignore case and diacritics.
  static func words(in texts: [String]) -> Set<String> {
    Set(
      texts.flatMap { text in
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
          .split { !$0.isLetter && !$0.isNumber }.map(String.init)
      }
    )
  }

  /// Whether a `LIKE` pattern matches: `*` stands for any number of characters, `?` for one, `\` escapes the next
  /// character.
  private static func holds(wildcards pattern: String, for letters: [Character]) -> Bool {
    enum Wildcard: Equatable { case one, many, letter(Character) }
    var wildcards: [Wildcard] = []
    var rest = pattern[...]
    while let letter = rest.popFirst() {
      switch letter {
      case "*": if wildcards.last != .many { wildcards.append(.many) }
      case "?": wildcards.append(.one)
      case "\\": wildcards.append(.letter(rest.popFirst() ?? letter))
      default: wildcards.append(.letter(letter))
      }
    }
    var (place, wildcard) = (0, 0)
    // The position to continue at after a mismatch: the last `*` consumes one more character.
    var retry: (place: Int, wildcard: Int)?
    while place < letters.count {
      let next = wildcard < wildcards.count ? wildcards[wildcard] : nil
      if next == .many {
        wildcard += 1
        retry = (place, wildcard)
      } else if next == .one || next == .letter(letters[place]) {
        place += 1
        wildcard += 1
      } else if let (start, after) = retry {
        retry = (start + 1, after)
        (place, wildcard) = (start + 1, after)
      } else {
        return false
      }
    }
    return wildcards[wildcard...].allSatisfy { $0 == .many }
  }

  /// Whether a `MATCHES` expression matches the whole string.
  private func holds(expression pattern: String, for text: String) -> Bool? {
    let isBlind = contains(.caseInsensitive)
    // Folding a pattern's case would turn \W into \w.
    let folding = subtracting(.caseInsensitive)
    let (text, pattern) = (folding.folded(text), folding.folded(pattern))
    guard let expression = Self.wholeMatch(pattern, isBlind ? [.caseInsensitive] : []) else { return nil }
    let range = NSRange(text.startIndex..., in: text)
    return expression.firstMatch(in: text, options: [.anchored], range: range) != nil
  }

  /// Returns the regular expression for a `MATCHES` pattern, which runs to the end of a string; nil if it is invalid.
  package static func wholeMatch(_ pattern: String, _ flags: NSRegularExpression.Options = []) -> NSRegularExpression? {
    // Check the pattern alone first: an unbalanced parenthesis must not pair with the added ones.
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(pattern: "(?:\(pattern))\\z", options: flags)
  }

  /// Returns the text without the case and diacritics that the options ignore.
  func folded(_ text: String) -> String {
    var overlooked: String.CompareOptions = []
    if contains(.caseInsensitive) { overlooked.insert(.caseInsensitive) }
    if contains(.diacriticInsensitive) { overlooked.insert(.diacriticInsensitive) }
    return overlooked.isEmpty ? text : text.folding(options: overlooked, locale: nil)
  }
}
