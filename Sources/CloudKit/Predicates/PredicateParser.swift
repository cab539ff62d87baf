internal import Foundation

/// Reads the text of a predicate, with its arguments, into a tree.
///
/// The grammar is the part of Apple's that CloudKit queries take: comparisons joined by AND. What lies outside is named in
/// the failure instead of being guessed at, because a filter that goes missing widens the result.
struct PredicateParser {
  private var tokens: ArraySlice<PredicateToken>
  private var arguments: ArraySlice<Any>

  static func node(format: String, arguments: [Any]) -> PredicateNode {
    do throws(PredicateFailure) {
      var parser = try PredicateParser(format: format, arguments: arguments)
      let node = try parser.conjunction()
      if let next = parser.tokens.first { throw PredicateFailure(message: "\(next.shown) was not expected") }
      guard parser.arguments.isEmpty else {
        throw PredicateFailure(message: "there are \(parser.arguments.count) arguments more than placeholders")
      }
      return node
    } catch {
      return .unusable(error.message)
    }
  }

  private init(format: String, arguments: [Any]) throws(PredicateFailure) {
    tokens = ArraySlice(try PredicateToken.tokens(of: format))
    self.arguments = ArraySlice(arguments)
  }

  // MARK: - Joining

  private mutating func conjunction() throws(PredicateFailure) -> PredicateNode {
    var parts = [try primary()]
    while true {
      if takeWord("AND") || takeSign("&&") {
        parts.append(try primary())
      } else if nextIsWord("OR") || tokens.first == .sign("||") {
        throw PredicateFailure(message: "OR: CloudKit joins conditions with AND only")
      } else {
        return parts.count == 1 ? parts[0] : .and(parts)
      }
    }
  }

  private mutating func primary() throws(PredicateFailure) -> PredicateNode {
    if takeWord("NOT") || takeSign("!") {
      throw PredicateFailure(message: "NOT: CloudKit has no negation of conditions")
    }
    if takeWord("TRUEPREDICATE") { return .everything }
    if takeWord("FALSEPREDICATE") { throw PredicateFailure(message: "FALSEPREDICATE: no query finds nothing") }
    if takeSign("(") {
      let inner = try conjunction()
      guard takeSign(")") else { throw PredicateFailure(message: "a ) is missing") }
      return inner
    }
    return .comparison(try comparison())
  }

  // MARK: - Comparing

  private mutating func comparison() throws(PredicateFailure) -> PredicateComparison {
    for quantifier in ["ALL", "NONE"] where nextIsWord(quantifier) {
      throw PredicateFailure(message: "\(quantifier): CloudKit knows ANY only")
    }
    let any = takeWord("ANY") || takeWord("SOME")
    let left = try operand()
    let comparator = try comparisonOperator()
    let right = try operand()
    return PredicateComparison(any: any, left: left, comparator: comparator, right: right)
  }

  private mutating func comparisonOperator() throws(PredicateFailure) -> PredicateComparison.Operator {
    guard let token = tokens.popFirst() else { throw PredicateFailure(message: "it ends before an operator") }
    let comparator: PredicateComparison.Operator? =
      switch token {
      case .sign("="), .sign("=="): .equal
      case .sign("!="), .sign("<>"): .notEqual
      case .sign("<"): .less
      case .sign("<="), .sign("=<"): .lessOrEqual
      case .sign(">"): .greater
      case .sign(">="), .sign("=>"): .greaterOrEqual
      case .word(let word): PredicateComparison.Operator(rawValue: word.uppercased())
      default: nil
      }
    guard let comparator else { throw PredicateFailure(message: "\(token.shown): no operator that CloudKit knows") }
    if tokens.first == .sign("[") {
      throw PredicateFailure(
        message: "\(comparator.rawValue)[c]: CloudKit compares letter by letter, without modifiers"
      )
    }
    return comparator
  }

  private mutating func operand() throws(PredicateFailure) -> PredicateComparison.Operand {
    guard let token = tokens.popFirst() else { throw PredicateFailure(message: "it ends before a value") }
    switch token {
    case .text(let text): return .value(StoredField(text))
    case .integer(let integer): return .value(StoredField(integer))
    case .number(let number): return .value(StoredField(number))
    case .valueArgument: return .value(try PredicateArgument.value(try nextArgument()))
    case .nameArgument: return .field(try PredicateArgument.fieldName(try nextArgument()))
    case .sign("{"): return .value(try list())
    case .sign: throw PredicateFailure(message: "\(token.shown) was found where a field or value belongs")
    case .word("distanceToLocation:fromLocation:"): return try distance()
    case .word(let word):
      switch word.uppercased() {
      case "TRUE", "YES": return .value(StoredField(true))
      case "FALSE", "NO": return .value(StoredField(false))
      case "NIL", "NULL": return .value(nil)
      case "SELF": throw PredicateFailure(message: "SELF: search over all fields is not part of Web Services")
      default:
        let name = word.hasPrefix("#") ? String(word.dropFirst()) : word
        return .field(try PredicateArgument.fieldName(name))
      }
    }
  }

  private mutating func list() throws(PredicateFailure) -> StoredField {
    var elements: [NSObject] = []
    while !takeSign("}") {
      if !elements.isEmpty, !takeSign(",") { throw PredicateFailure(message: "a } is missing") }
      guard case .value(let element?) = try operand() else {
        throw PredicateFailure(message: "a list in braces holds something that is no value")
      }
      elements.append(element.object)
    }
    return StoredField(object: NSArray(array: elements))
  }

  private mutating func distance() throws(PredicateFailure) -> PredicateComparison.Operand {
    guard takeSign("("), case .field(let field) = try operand(), takeSign(","),
      case .value(let place?) = try operand(), place.object is CLLocation, takeSign(")")
    else { throw PredicateFailure(message: "distanceToLocation:fromLocation: takes a field and a CLLocation") }
    return .distance(field: field, from: place)
  }

  // MARK: - Pieces

  private mutating func nextArgument() throws(PredicateFailure) -> Any {
    guard let argument = arguments.popFirst() else {
      throw PredicateFailure(message: "there are fewer arguments than placeholders")
    }
    return argument
  }

  private func nextIsWord(_ keyword: String) -> Bool {
    if case .word(let word)? = tokens.first { word.uppercased() == keyword } else { false }
  }

  private mutating func takeWord(_ keyword: String) -> Bool {
    guard nextIsWord(keyword) else { return false }
    tokens.removeFirst()
    return true
  }

  private mutating func takeSign(_ sign: String) -> Bool {
    guard tokens.first == .sign(sign) else { return false }
    tokens.removeFirst()
    return true
  }
}

extension PredicateToken {
  /// The piece as it stands in a message.
  fileprivate var shown: String {
    switch self {
    case .word(let text), .sign(let text): text
    case .text(let text): "'\(text)'"
    case .integer(let integer): "\(integer)"
    case .number(let number): "\(number)"
    case .valueArgument: "%@"
    case .nameArgument: "%K"
    }
  }
}
