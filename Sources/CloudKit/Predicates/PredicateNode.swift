/// A predicate in a form that can be read: what `NSPredicate` on Linux does not offer.
indirect enum PredicateNode: Hashable, Sendable {
  /// All records, or none.
  case constant(Bool)
  /// All of them hold.
  case and([PredicateNode])
  /// At least one of them holds.
  case or([PredicateNode])
  case not(PredicateNode)
  case comparison(PredicateComparison)
  /// No predicate at all, in words. `NSPredicate` cannot throw when it is made, so the query that uses it does.
  case unusable(String)

  /// How deep conditions may lie within each other; what is deeper is refused before it can exhaust the stack.
  static let deepest = 64

  /// Whether all of it is known. Two predicates that are not may fail for the same reason and still be different.
  var isReadable: Bool { problem == nil }

  /// Why it is not all known.
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
  /// Of which elements of a list on the left the comparison speaks.
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

  /// The letters in brackets behind an operator.
  struct Options: OptionSet, Hashable, Sendable {
    let rawValue: Int

    static let caseInsensitive = Options(rawValue: 1)
    static let diacriticInsensitive = Options(rawValue: 2)
    static let normalized = Options(rawValue: 4)
    static let localeSensitive = Options(rawValue: 8)

    static let letters: [(letter: Character, option: Options)] = [
      ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
    ]

    /// Whether they change what texts are equal. `[n]` only promises that the texts need no preparation.
    var loosens: Bool { !subtracting([.normalized]).isEmpty }
  }

  enum Operand: Hashable, Sendable {
    case field(String)
    /// The record as a whole: `SELF`, and `allTokens` in a search of tokens.
    case record
    /// References always name their zone here; the query that they are used in leaves its own out.
    case value(FieldValue)
    case null
    /// The distance in metres of a field from a place.
    case distance(field: String, from: WireLocation)
  }

  var quantifier: Quantifier?
  var left: Operand
  var comparator: Operator
  var options: Options = []
  var right: Operand
}
