import Facts

/// A token of a filter expression with its column.
struct FilterToken: Hashable {
  enum Kind: Hashable {
    /// A column or a keyword, as written.
    case word(String)
    case text(String)
    case integer(Int64)
    /// Milliseconds.
    case age(Int64)
    case comparison(FilterComparison)
    case open, close, comma
    case end
  }

  var kind: Kind
  var column: Int
}

/// Splits a filter expression into tokens.
///
/// It reads Unicode scalars, not characters: a combining mark after a quote must not hide the quote.
package struct FilterLexer {
  private let scalars: [Unicode.Scalar]
  /// Whether values need no quotes: then everything between spaces, brackets and operators is a word.
  private let hasBareValues: Bool
  private var index = 0

  init(_ expression: String, _ table: FilterTable = .queue) {
    scalars = Array(expression.unicodeScalars)
    hasBareValues = table == .records
  }

  mutating func tokens() throws(FilterError) -> [FilterToken] {
    var tokens: [FilterToken] = []
    repeat {
      tokens.append(try next())
    } while tokens.last?.kind != .end
    return tokens
  }

  private mutating func next() throws(FilterError) -> FilterToken {
    while let scalar = peek(), scalar.properties.isWhitespace { index += 1 }
    let start = index
    guard let scalar = peek() else { return FilterToken(kind: .end, column: start + 1) }
    index += 1
    let kind: FilterToken.Kind
    switch scalar {
    case "(": kind = .open
    case ")": kind = .close
    case ",": kind = .comma
    case "=":
      skip("=")
      kind = .comparison(.equal)
    case "<": kind = .comparison(skip("=") ? .lessOrEqual : skip(">") ? .notEqual : .less)
    case ">": kind = .comparison(skip("=") ? .greaterOrEqual : .greater)
    case "!":
      guard skip("=") else { throw error("a single ! means nothing; write != or not", at: start) }
      kind = .comparison(.notEqual)
    case "'": kind = .text(try quoted(from: start))
    case "\"" where hasBareValues: kind = .text(try quoted(from: start, by: scalar))
    case "\"": throw error("text goes in single quotes: 'like this'", at: start)
    case _ where hasBareValues: kind = .word(bare(from: start))
    case "-", "0"..."9": kind = try number(from: start)
    default:
      guard Self.isWord(scalar) else { throw error("this character has no meaning here", at: start) }
      kind = .word(name(from: start))
    }
    return FilterToken(kind: kind, column: start + 1)
  }

  /// Reads a text after its opening quote; two quotes stand for one.
  private mutating func quoted(from start: Int, by quote: Unicode.Scalar = "'") throws(FilterError) -> String {
    var text = String.UnicodeScalarView()
    while let scalar = peek() {
      index += 1
      // SQLite would read a bound text only up to a NUL.
      guard scalar != "\0" else { throw error("a text holds no NUL character", at: index - 1) }
      if scalar == quote, !skip(quote) { return String(text) }
      text.append(scalar)
    }
    throw error("this text has no closing quote; write \(quote)\(quote) for a quote inside it", at: start)
  }

  /// Reads the rest of a word that may be a value.
  private mutating func bare(from start: Int) -> String {
    while let scalar = peek(), !scalar.properties.isWhitespace, !"()=<>!,'\"".unicodeScalars.contains(scalar) {
      index += 1
    }
    return String(String.UnicodeScalarView(scalars[start..<index]))
  }

  private mutating func number(from start: Int) throws(FilterError) -> FilterToken.Kind {
    while let scalar = peek(), ("0"..."9").contains(scalar) { index += 1 }
    let digits = String(String.UnicodeScalarView(scalars[start..<index]))
    guard digits != "-" else { throw error("a - stands only before a number", at: start) }
    guard peek() != "." else {
      throw error("numbers here are whole; write 90m for 1.5h, and '1.5' for a field's value", at: start)
    }
    let unit = rest(from: index)
    guard let value = Int64(digits) else { throw error("this number is too large", at: start) }
    guard !unit.isEmpty else { return .integer(value) }
    guard let milliseconds = Self.milliseconds[unit.lowercased()] else {
      throw error(
        "\((digits + unit).excerpt) is neither a number nor an age; ages are written 90s, 5m, 1h, 2d",
        at: start
      )
    }
    let (age, overflow) = value.multipliedReportingOverflow(by: milliseconds)
    guard !overflow else { throw error("this age is too large", at: start) }
    guard value >= 0, digits != "-0" else { throw error("an age is not negative", at: start) }
    return .age(age)
  }

  private static let milliseconds: [String: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

  /// The milliseconds of an age such as `90s`, `5m`, `1h` or `2d`; nil if the text is none.
  package static func age(_ text: String) -> Int64? {
    var lexer = FilterLexer(text)
    guard case .age(let age)? = try? lexer.number(from: 0), lexer.peek() == nil else { return nil }
    return age
  }

  /// Reads the rest of a column or a keyword; the column of a field is written `fields.NAME`.
  private mutating func name(from start: Int) -> String {
    let word = rest(from: start)
    guard word.lowercased() == "fields", skip(".") else { return word }
    return "\(word).\(rest(from: index))"
  }

  /// Reads the rest of a word.
  private mutating func rest(from start: Int) -> String {
    while let scalar = peek(), Self.isWord(scalar) { index += 1 }
    return String(String.UnicodeScalarView(scalars[start..<index]))
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
  }

  private func peek() -> Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  @discardableResult
  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard peek() == scalar else { return false }
    index += 1
    return true
  }

  private func error(_ message: String, at start: Int) -> FilterError {
    FilterError(message: message, column: start + 1)
  }
}
