internal import Foundation

/// Parses a predicate format and its arguments into a tree.
///
/// The grammar is Apple's without the parts that CloudKit code does not use: functions other than the distance and
/// `now()`, arithmetic, variables, subqueries and indexes. The error names an unsupported part; nothing is skipped,
/// because a missing condition would match more records. A keyword followed by a comparison operator is parsed as a
/// field name.
struct PredicateParser {
  private var tokens: ArraySlice<PredicateToken>
  private var arguments: ArraySlice<Any>
  private let end: Int
  private var depth = 0

  static func node(format: String, arguments: [Any]) -> PredicateNode {
    do throws(PredicateFailure) {
      var parser = try PredicateParser(format: format, arguments: arguments)
      let node = try parser.predicate(parser.disjunction())
      if let next = parser.tokens.first { throw PredicateFailure("unexpected \(next.shown)", at: next.offset) }
      guard parser.arguments.isEmpty else {
        throw PredicateFailure("arguments without a placeholder: \(parser.arguments.count)")
      }
      return node
    } catch {
      return .unusable(error.message)
    }
  }

  private init(format: String, arguments: [Any]) throws(PredicateFailure) {
    tokens = ArraySlice(try PredicateLexer.tokens(of: format))
    self.arguments = ArraySlice(arguments)
    end = format.unicodeScalars.count
  }

  // MARK: - Compound conditions

  /// The contents of parentheses. Only the token after them distinguishes a condition from a value.
  private enum Piece {
    case predicate(PredicateNode)
    case operand(PredicateComparison.Operand)
  }

  private func predicate(_ piece: Piece) throws(PredicateFailure) -> PredicateNode {
    guard case .predicate(let node) = piece else { throw failure("an operator is missing") }
    return node
  }

  private mutating func disjunction() throws(PredicateFailure) -> Piece {
    try joined(by: "OR", "||", PredicateNode.or) { parser throws(PredicateFailure) in
      try parser.joined(by: "AND", "&&", PredicateNode.and) { parser throws(PredicateFailure) in try parser.term() }
    }
  }

  private mutating func joined(
    by keyword: String,
    _ sign: String,
    _ join: ([PredicateNode]) -> PredicateNode,
    _ part: (inout PredicateParser) throws(PredicateFailure) -> Piece
  ) throws(PredicateFailure) -> Piece {
    let first = try part(&self)
    var parts: [PredicateNode] = []
    while tokens.first?.keyword == keyword || tokens.first?.kind == .sign(sign) {
      if parts.isEmpty { parts.append(try predicate(first)) }
      tokens.removeFirst()
      parts.append(try predicate(part(&self)))
    }
    return parts.isEmpty ? first : .predicate(join(parts))
  }

  private mutating func term() throws(PredicateFailure) -> Piece {
    if takeSign("!") || takeKeyword("NOT") {
      return .predicate(.not(try nested { parser throws(PredicateFailure) in try parser.predicate(parser.term()) }))
    }
    if takeKeyword("TRUEPREDICATE") { return .predicate(.constant(true)) }
    if takeKeyword("FALSEPREDICATE") { return .predicate(.constant(false)) }
    for (word, quantifier) in Self.quantifiers where takeKeyword(word) {
      return .predicate(.comparison(try comparison(of: operand(), quantifier)))
    }
    var left: PredicateComparison.Operand
    if takeSign("(") {
      let piece = try nested { parser throws(PredicateFailure) in try parser.disjunction() }
      try expect(")")
      guard case .operand(let operand) = piece else { return piece }
      left = operand
    } else {
      left = try operand()
    }
    // The parentheses contain only a value.
    if tokens.first?.kind == .sign(")"), depth > 0 { return .operand(left) }
    return .predicate(.comparison(try comparison(of: left, nil)))
  }

  private static let quantifiers: [(String, PredicateComparison.Quantifier)] = [
    ("ANY", .any), ("SOME", .any), ("ALL", .all), ("NONE", .noneOf),
  ]

  private mutating func nested<Result>(
    _ body: (inout PredicateParser) throws(PredicateFailure) -> Result
  ) throws(PredicateFailure) -> Result {
    guard depth < PredicateNode.deepest else {
      throw failure("conditions are nested more than \(PredicateNode.deepest) levels deep")
    }
    depth += 1
    defer { depth -= 1 }
    return try body(&self)
  }

  // MARK: - Comparisons

  private mutating func comparison(
    of left: PredicateComparison.Operand,
    _ quantifier: PredicateComparison.Quantifier?
  ) throws(PredicateFailure) -> PredicateComparison {
    let comparator = try comparisonOperator()
    let options = try comparisonOptions()
    let isOfAllTokens = comparator == .tokenMatches && left == .field(PredicateComparison.allTokens)
    let left = isOfAllTokens ? .record : left
    return PredicateComparison(left, comparator, try operand(), options: options, quantifier: quantifier)
  }

  private mutating func comparisonOperator() throws(PredicateFailure) -> PredicateComparison.Operator {
    guard let token = tokens.first else { throw failure("an operator is missing") }
    let comparator: PredicateComparison.Operator? =
      switch token.kind {
      case .sign("="): .equal
      case .sign("<>"): .notEqual
      case .sign("=<"): .lessOrEqual
      case .sign("=>"): .greaterOrEqual
      case .sign("["): throw failure("[: list elements cannot be indexed")
      case .sign(let text), .word(let text): PredicateComparison.Operator(rawValue: text.uppercased())
      default: nil
      }
    guard let comparator else { throw failure("\(token.shown) is not an operator") }
    tokens.removeFirst()
    return comparator
  }

  private mutating func comparisonOptions() throws(PredicateFailure) -> PredicateComparison.Options {
    guard takeSign("[") else { return [] }
    guard case .word(let letters)? = tokens.first?.kind else { throw failure("the brackets contain no letters") }
    var options: PredicateComparison.Options = []
    for letter in letters.lowercased() {
      guard let option = PredicateComparison.Options.letters.first(where: { $0.letter == letter })?.option else {
        throw failure("[\(letters.prefix(64))]: operator options are c, d, l and n")
      }
      options.insert(option)
    }
    tokens.removeFirst()
    try expect("]")
    return options
  }

  // MARK: - Values

  private mutating func operand() throws(PredicateFailure) -> PredicateComparison.Operand {
    guard let token = tokens.popFirst() else { throw failure("a field or a value is missing") }
    do throws(PredicateFailure) {
      switch token.kind {
      case .sign("("):
        let inner = try nested { parser throws(PredicateFailure) in try parser.operand() }
        try expect(")")
        return inner
      case .sign("{"): return .value(try list())
      case .text(let text): return .value(.string(text))
      case .integer(let integer): return .value(.int64(integer))
      case .number(let number): return .value(.double(number))
      case .argument(let placeholder): return try argument(placeholder)
      case .name(let name): return .field(try PredicateArgument.fieldName(name))
      case .word(let word) where tokens.first?.kind == .sign("("): return try function(word)
      case .word(let word): return try operand(word)
      case .sign: throw PredicateFailure("expected a field or a value, found \(token.shown)")
      }
    } catch {
      throw error.at(token.offset)
    }
  }

  private func operand(_ word: String) throws(PredicateFailure) -> PredicateComparison.Operand {
    switch word.uppercased() {
    case "TRUE", "YES": return .value(.int64(1))
    case "FALSE", "NO": return .value(.int64(0))
    case "NIL", "NULL": return .null
    case "SELF": return .record
    default:
      let name = word.uppercased().hasPrefix("SELF.") ? word.dropFirst("SELF.".count) : word[...]
      return .field(try PredicateArgument.fieldName(String(name)))
    }
  }

  private mutating func argument(
    _ placeholder: String
  ) throws(PredicateFailure) -> PredicateComparison.Operand {
    guard let argument = arguments.popFirst() else {
      throw PredicateFailure("the argument for \(placeholder) is missing")
    }
    do throws(PredicateFailure) {
      switch placeholder.last {
      case "@": return try PredicateArgument.value(argument).map { .value($0) } ?? .null
      case "K": return .field(try PredicateArgument.fieldName(argument))
      case "s": return .value(try PredicateArgument.cString(argument))
      case "f", "F", "e", "E", "g", "G", "a", "A": return .value(try PredicateArgument.real(argument))
      default: return .value(try PredicateArgument.integer(argument))
      }
    } catch {
      throw error.about(placeholder)
    }
  }

  private mutating func list() throws(PredicateFailure) -> FieldValue {
    var elements: [FieldValue] = []
    while !takeSign("}") {
      if !elements.isEmpty { try expect(",") }
      let next = tokens.first
      guard case .value(let element) = try nested({ parser throws(PredicateFailure) in try parser.operand() }) else {
        throw PredicateFailure("a list in braces can contain only values", at: next?.offset ?? end)
      }
      elements.append(element)
    }
    return try .list(of: elements)
  }

  private mutating func function(_ name: String) throws(PredicateFailure) -> PredicateComparison.Operand {
    switch name {
    case PredicateComparison.distanceFunction:
      tokens.removeFirst()
      let one = try operand()
      try expect(",")
      let other = try operand()
      try expect(")")
      switch (one, other) {
      case (.field(let field), .value(.location(let point))), (.value(.location(let point)), .field(let field)):
        return .distance(field: field, from: point)
      default: throw PredicateFailure("\(name) takes a field and a CLLocation")
      }
    case "now":
      tokens.removeFirst()
      try expect(")")
      return .now
    case _ where name.uppercased() == "CAST":
      tokens.removeFirst()
      let value = try operand()
      try expect(",")
      guard try operand() == .value(.string("NSDate")) else { throw PredicateFailure("CAST: only NSDate is supported") }
      try expect(")")
      let seconds: Double
      switch value {
      case .value(.double(let number)): seconds = number
      case .value(.int64(let integer)): seconds = Double(integer)
      case .value(.timestamp): return value
      default: throw PredicateFailure("CAST: the value must be a number of seconds")
      }
      let date = try PredicateArgument.value(Date(timeIntervalSinceReferenceDate: seconds))
      return date.map { .value($0) } ?? .null
    default: throw PredicateFailure("\(name.prefix(64))(…): the only supported functions are the distance and now()")
    }
  }

  // MARK: - Tokens

  private func failure(_ message: String) -> PredicateFailure {
    PredicateFailure(message, at: tokens.first?.offset ?? end)
  }

  /// Consumes a keyword, unless a comparison operator after it makes it a field name.
  private mutating func takeKeyword(_ keyword: String) -> Bool {
    guard tokens.first?.keyword == keyword else { return false }
    if case .sign(let sign)? = tokens.dropFirst().first?.kind, "=<>!".contains(sign.prefix(1)), sign != "!" {
      return false
    }
    tokens.removeFirst()
    return true
  }

  private mutating func takeSign(_ sign: String) -> Bool {
    guard tokens.first?.kind == .sign(sign) else { return false }
    tokens.removeFirst()
    return true
  }

  private mutating func expect(_ sign: String) throws(PredicateFailure) {
    guard takeSign(sign) else { throw failure("a \(sign) is missing") }
  }
}
