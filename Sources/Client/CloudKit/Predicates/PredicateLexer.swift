/// Splits a format into tokens. Arguments are not parsed, so they can never become syntax.
///
/// It works on Unicode scalars, not characters: otherwise a combining mark after a quote would hide the quote.
struct PredicateLexer {
  private let scalars: [Unicode.Scalar]
  private var place = 0

  static func tokens(of format: String) throws(PredicateFailure) -> [PredicateToken] {
    var lexer = PredicateLexer(scalars: Array(format.unicodeScalars))
    var tokens: [PredicateToken] = []
    while let token = try lexer.next() { tokens.append(token) }
    return tokens
  }

  private init(scalars: [Unicode.Scalar]) {
    self.scalars = scalars
  }

  private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    place + distance < scalars.count ? scalars[place + distance] : nil
  }

  private mutating func take(while condition: (Unicode.Scalar) -> Bool) -> String {
    let start = place
    while let scalar = peek(), condition(scalar) { place += 1 }
    return text(from: start)
  }

  private func text(from start: Int) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[start..<place])
    return String(text)
  }

  private mutating func next() throws(PredicateFailure) -> PredicateToken? {
    _ = take { $0.properties.isWhitespace }
    guard let first = peek() else { return nil }
    let start = place
    let kind: PredicateToken.Kind
    switch first {
    case "'", "\"": kind = .text(try quoted())
    case "%": kind = try placeholder()
    case "0"..."9": kind = try number()
    case "-" where peek(1)?.isDigit == true, "." where peek(1)?.isDigit == true: kind = try number()
    case "-" where peek(1) == "." && peek(2)?.isDigit == true: kind = try number()
    case "#":
      place += 1
      kind = .name(take { $0.isInName })
    case _ where first.isInName && first != ".": kind = .word(word())
    default: kind = .sign(try sign())
    }
    return PredicateToken(kind: kind, offset: start)
  }

  private mutating func word() -> String {
    let word = take { $0.isInName }
    let selector = ":fromLocation:".unicodeScalars
    if word == "distanceToLocation", scalars[place...].starts(with: selector) {
      place += selector.count
      return PredicateComparison.distanceFunction
    }
    return word
  }

  // MARK: - Strings

  private mutating func quoted() throws(PredicateFailure) -> String {
    let start = place
    let quote = scalars[place]
    place += 1
    var text = String.UnicodeScalarView()
    while let scalar = peek() {
      place += 1
      if scalar == quote { return String(text) }
      text.append(scalar == "\\" ? try escaped() : scalar)
    }
    throw PredicateFailure("a string is not closed with \(quote)", at: start)
  }

  private mutating func escaped() throws(PredicateFailure) -> Unicode.Scalar {
    guard let scalar = peek() else { throw PredicateFailure("a string ends with \\", at: place - 1) }
    place += 1
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "x": return try escaped(digits: 2)
    case "u": return try escaped(digits: 4)
    default: return scalar
    }
  }

  private mutating func escaped(digits: Int) throws(PredicateFailure) -> Unicode.Scalar {
    let (start, end) = (place, place + digits)
    var value: UInt32 = 0
    while place < end, let digit = peek().flatMap({ UInt32(String($0), radix: 16) }) {
      value = value << 4 | digit
      place += 1
    }
    guard place == end, let scalar = Unicode.Scalar(value) else {
      throw PredicateFailure("an escape in a string is not a \(digits)-digit hexadecimal character", at: start - 2)
    }
    return scalar
  }

  // MARK: - Placeholders

  private mutating func placeholder() throws(PredicateFailure) -> PredicateToken.Kind {
    let start = place
    place += 1
    let length = take { "hlqztjL".unicodeScalars.contains($0) }
    guard let conversion = peek() else { throw PredicateFailure("% ends the format without a placeholder", at: start) }
    place += 1
    let spelling = text(from: start)
    if spelling == "%%" { return .text("%") }
    guard
      length.isEmpty && "@Ks".contains(spelling.suffix(1)) || "dDiuUxXoOcCfFeEgGaA".unicodeScalars.contains(conversion)
    else { throw PredicateFailure("\(spelling) is not a placeholder", at: start) }
    return .argument(spelling)
  }

  // MARK: - Numbers

  private mutating func number() throws(PredicateFailure) -> PredicateToken.Kind {
    let start = place
    if peek() == "-" { place += 1 }
    let base = peek() == "0" ? peek(1).flatMap { ["x": 16, "X": 16, "o": 8, "b": 2][$0] } : nil
    // Directly following name characters belong to the number and make it invalid.
    _ = take { $0.isInName }
    let isSigned = peek() == "-" || peek() == "+"
    if base == nil, isSigned, peek(-1) == "e" || peek(-1) == "E", peek(1)?.isDigit == true {
      place += 1
      _ = take { $0.isInName }
    }
    let text = text(from: start)
    if let base {
      let digits = text.replacing(/0[xXob]/, with: "", maxReplacements: 1)
      if let integer = Int64(digits, radix: base) { return .integer(integer) }
    } else if let integer = Int64(text) {
      return .integer(integer)
    } else if text.contains(/[.eE]/), text.last != ".", let number = Double(decimal: text) {
      return .number(number)
    }
    throw PredicateFailure("\(text.prefix(64)) is not a number that a field can hold", at: start)
  }

  // MARK: - Symbols

  private static let signs: Set<String> = [
    "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "=", "<", ">", "!", "(", ")", "{", "}", ",", "[", "]",
  ]

  private mutating func sign() throws(PredicateFailure) -> String {
    let scalar = scalars[place]
    for sign in ["\(scalar)\(peek(1).map(String.init) ?? "")", String(scalar)] where Self.signs.contains(sign) {
      place += sign.unicodeScalars.count
      return sign
    }
    switch scalar {
    case "+", "-", "*", "/": throw PredicateFailure("\(scalar): CloudKit does not support arithmetic", at: place)
    case "$": throw PredicateFailure("$: variables are not supported; use %@", at: place)
    default: throw PredicateFailure("unexpected character '\(scalar)'", at: place)
    }
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool { "0"..."9" ~= self }
  fileprivate var isInWord: Bool { properties.isAlphabetic || properties.numericType != nil || self == "_" }
  /// Whether the character can be part of an identifier or key path, including `@count`, so that an error can show all
  /// of it.
  fileprivate var isInName: Bool { isInWord || self == "." || self == "@" || self == "#" }
}
