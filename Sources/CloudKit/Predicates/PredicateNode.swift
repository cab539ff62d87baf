/// A predicate as a tree that can be inspected, which `NSPredicate` on Linux does not offer.
indirect enum PredicateNode: Hashable, Sendable {
  /// Matches all records, or none.
  case constant(Bool)
  /// Matches if all parts match.
  case and([PredicateNode])
  /// Matches if at least one part matches.
  case or([PredicateNode])
  case not(PredicateNode)
  case comparison(PredicateComparison)
  /// An unusable predicate with its reason. `NSPredicate` initializers cannot throw, so the query that uses it throws.
  case unusable(String)

  /// The maximum nesting depth of conditions. Deeper predicates are refused, to protect the stack.
  static let deepest = 64

  /// Whether all parts are usable. Two unusable predicates may have the same reason and still differ.
  var isReadable: Bool { problem == nil }

  /// The reason that a part is unusable.
  var problem: String? {
    switch self {
    case .constant, .comparison: nil
    case .and(let parts), .or(let parts): parts.lazy.compactMap(\.problem).first
    case .not(let part): part.problem
    case .unusable(let reason): reason
    }
  }
}

/// One comparison, nearly always of a field with a value.
struct PredicateComparison: Hashable, Sendable {
  /// The elements of a list on the left that the comparison applies to.
  enum Quantifier: String, Sendable {
    case any = "ANY"
    case all = "ALL"
    case noneOf = "NONE"
  }

  enum Operator: String, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case `in` = "IN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case like = "LIKE"
    case matches = "MATCHES"
    case between = "BETWEEN"
    case tokenMatches = "TOKENMATCHES"
  }

  /// The letters in brackets after an operator.
  struct Options: OptionSet, Hashable, Sendable {
    let rawValue: Int

    static let caseInsensitive = Options(rawValue: 1)
    static let diacriticInsensitive = Options(rawValue: 2)
    static let normalized = Options(rawValue: 4)
    static let localeSensitive = Options(rawValue: 8)

    static let letters: [(letter: Character, option: Options)] = [
      ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
    ]

    /// Whether the options change which strings are equal. `[n]` only states that the strings are already normalized.
    var loosens: Bool { !subtracting([.normalized]).isEmpty }
  }

  enum Operand: Hashable, Sendable {
    case field(String)
    /// The record as a whole: `SELF`, or `allTokens` in a token search.
    case record
    /// A value. References always name their zone; a query omits the name of its own zone.
    case value(FieldValue)
    case null
    /// The distance of a field from a location, in metres.
    case distance(field: String, from: WireLocation)
  }

  var quantifier: Quantifier?
  var left: Operand
  var comparator: Operator
  var options: Options = []
  var right: Operand
}
