/// A piece of a predicate's text.
enum PredicateToken: Hashable {
  /// An identifier or a keyword: `age`, `AND`, `address.city`.
  case word(String)
  /// A quoted text, without its quotes.
  case text(String)
  case integer(Int64)
  case number(Double)
  /// `%@`, `%d` and their like: the next argument as a value.
  case valueArgument
  /// `%K`: the next argument as a field's name.
  case nameArgument
  /// An operator in signs, or a bracket or comma.
  case sign(String)
}

/// Why a predicate cannot be used, in words.
struct PredicateFailure: Error {
  let message: String
}

extension PredicateToken {
  /// Cuts a format into pieces. Arguments are not looked at: nothing in them can become syntax.
  static func tokens(of format: String) throws(PredicateFailure) -> [PredicateToken] {
    var tokens: [PredicateToken] = []
    var rest = Substring(format)
    while let first = rest.first {
      if first.isWhitespace {
        rest.removeFirst()
      } else if first == "'" || first == "\"" {
        tokens.append(.text(try quoted(&rest)))
      } else if first == "%" {
        tokens.append(try argument(&rest))
      } else if first.isNumber || (first == "-" && rest.dropFirst().first?.isNumber == true) {
        tokens.append(try number(&rest))
      } else if first.isLetter || first == "_" || first == "#" {
        tokens.append(.word(word(&rest)))
      } else {
        tokens.append(.sign(try sign(&rest)))
      }
    }
    return tokens
  }

  private static func quoted(_ rest: inout Substring) throws(PredicateFailure) -> String {
    let quote = rest.removeFirst()
    var text = ""
    while let character = rest.popFirst() {
      if character == quote { return text }
      if character == "\\", let escaped = rest.popFirst() {
        text.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
      } else {
        text.append(character)
      }
    }
    throw PredicateFailure(message: "a text is not closed with \(quote)")
  }

  private static func argument(_ rest: inout Substring) throws(PredicateFailure) -> PredicateToken {
    // The longest first, so that %lld is not read as %l.
    let values = ["%@", "%lld", "%llu", "%lli", "%ld", "%lu", "%li", "%lf", "%d", "%i", "%u", "%f", "%g", "%zd"]
    for specifier in values where rest.hasPrefix(specifier) {
      rest.removeFirst(specifier.count)
      return .valueArgument
    }
    guard rest.hasPrefix("%K") else { throw PredicateFailure(message: "\(rest.prefix(3)) is no placeholder") }
    rest.removeFirst(2)
    return .nameArgument
  }

  private static func number(_ rest: inout Substring) throws(PredicateFailure) -> PredicateToken {
    var text = String(rest.removeFirst())
    while let next = rest.first, next.isHexDigit || ".xX+-".contains(next) {
      if "+-".contains(next), text.last != "e", text.last != "E" { break }
      text.append(rest.removeFirst())
    }
    if let integer = Int64(text) { return .integer(integer) }
    if text.hasPrefix("0x"), let integer = Int64(text.dropFirst(2), radix: 16) { return .integer(integer) }
    if let number = Double(text), number.isFinite { return .number(number) }
    throw PredicateFailure(message: "\(text) is no number")
  }

  private static func word(_ rest: inout Substring) -> String {
    // A leading # takes the next word literally, keyword or not.
    var text = String(rest.removeFirst())
    while let next = rest.first, next.isLetter || next.isNumber || next == "_" || next == "." {
      text.append(rest.removeFirst())
    }
    if text == "distanceToLocation", rest.hasPrefix(":fromLocation:") {
      rest.removeFirst(":fromLocation:".count)
      text += ":fromLocation:"
    }
    return text
  }

  private static func sign(_ rest: inout Substring) throws(PredicateFailure) -> String {
    let signs = [
      "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "=", "<", ">", "!", "(", ")", "{", "}", ",", "[",
    ]
    for sign in signs + ["]"] where rest.hasPrefix(sign) {
      rest.removeFirst(sign.count)
      return sign
    }
    throw PredicateFailure(message: "\(rest.prefix(1)) has no meaning in a predicate")
  }
}
