internal import Foundation

/// Matches a string against a pattern, for the operators that compare parts of strings.
struct TextMatch {
  private let text: String
  private let pattern: String
  private let options: PredicateComparison.Options

  init(_ text: String, _ pattern: String, _ options: PredicateComparison.Options) {
    self.text = text
    self.pattern = pattern
    self.options = options
  }

  /// Whether the string matches; nil if the pattern is invalid.
  func holds(_ comparator: PredicateComparison.Operator) -> Bool? {
    switch comparator {
    case .beginsWith: options.folded(text).utf8.starts(with: options.folded(pattern).utf8)
    case .endsWith: options.folded(text).utf8.reversed().starts(with: options.folded(pattern).utf8.reversed())
    case .contains: holdsPart
    case .like: holdsWildcards
    case .matches: holdsExpression
    case .tokenMatches: Tokens(pattern).isSubset(of: Tokens(text))
    default: nil
    }
  }

  private var holdsPart: Bool {
    let (text, part) = (Array(options.folded(text).utf8), Array(options.folded(pattern).utf8))
    guard !part.isEmpty else { return true }
    guard text.count >= part.count else { return false }
    return (0...(text.count - part.count)).contains { start in
      text[start] == part[0] && text[start..<(start + part.count)].elementsEqual(part)
    }
  }

  /// Whether a `LIKE` pattern matches: `*` stands for any number of characters, `?` for one, `\` escapes the next
  /// character.
  private var holdsWildcards: Bool {
    enum Wildcard: Equatable { case one, many, letter(Character) }
    var wildcards: [Wildcard] = []
    var rest = options.folded(pattern)[...]
    while let letter = rest.popFirst() {
      switch letter {
      case "*": if wildcards.last != .many { wildcards.append(.many) }
      case "?": wildcards.append(.one)
      case "\\": wildcards.append(.letter(rest.popFirst() ?? letter))
      default: wildcards.append(.letter(letter))
      }
    }
    let letters = Array(options.folded(text))
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
  private var holdsExpression: Bool? {
    let isBlind = options.contains(.caseInsensitive)
    // Folding a pattern's case would turn \W into \w.
    let folding = options.subtracting(.caseInsensitive)
    let (text, pattern) = (folding.folded(text), folding.folded(pattern))
    let flags: NSRegularExpression.Options = isBlind ? [.caseInsensitive] : []
    // Check the pattern alone first: an unbalanced parenthesis must not pair with the added ones.
    guard (try? NSRegularExpression(pattern: pattern)) != nil,
      let expression = try? NSRegularExpression(pattern: "(?:\(pattern))\\z", options: flags)
    else { return nil }
    let range = NSRange(text.startIndex..., in: text)
    return expression.firstMatch(in: text, options: [.anchored], range: range) != nil
  }
}

/// The set of words in strings, ignoring case and diacritics, for token searches.
struct Tokens {
  private let words: Set<String>

  init(_ text: String) {
    self.init([text])
  }

  init(_ texts: [String]) {
    words = Set(
      texts.flatMap { text in
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
          .split { !$0.isLetter && !$0.isNumber }.map(String.init)
      }
    )
  }

  func isSubset(of others: Tokens) -> Bool { words.isSubset(of: others.words) }
}
