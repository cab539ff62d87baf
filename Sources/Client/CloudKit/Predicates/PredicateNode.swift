/// A predicate as a tree that can be inspected, which `NSPredicate` on Linux does not offer.
///
/// Archives contain the names of the cases and properties, here and below.
package indirect enum PredicateNode: Hashable, Sendable, Codable {
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

  /// The maximum nesting depth of the conditions of a format, and of compound predicates. Deeper ones are refused, to
  /// protect the stack.
  static let deepest = 64

  /// Whether all parts are usable. Two unusable predicates may have the same reason and still differ.
  var isReadable: Bool { problem == nil }

  /// The reason that a part is unusable.
  package var problem: String? {
    switch self {
    case .constant: nil
    case .comparison(let comparison): comparison.problem
    case .and(let parts), .or(let parts): parts.lazy.compactMap(\.problem).first
    case .not(let part): part.problem
    case .unusable(let reason): reason
    }
  }

  /// Whether a part is compared with the current time.
  var usesNow: Bool {
    switch self {
    case .constant, .unusable: false
    case .comparison(let comparison): comparison.left == .now || comparison.right == .now
    case .and(let parts), .or(let parts): parts.contains(where: \.usesNow)
    case .not(let part): part.usesNow
    }
  }

  /// The names of the fields in all parts.
  package var fields: Set<String> {
    switch self {
    case .constant, .unusable: []
    case .comparison(let comparison): Set(comparison.fields)
    case .and(let parts), .or(let parts): parts.reduce(into: []) { $0.formUnion($1.fields) }
    case .not(let part): part.fields
    }
  }
}

/// One comparison, nearly always of a field with a value.
package struct PredicateComparison: Hashable, Sendable, Codable {
  /// The elements of a list on the left that the comparison applies to.
  package enum Quantifier: String, Sendable, Codable {
    case any = "ANY"
    case all = "ALL"
    case noneOf = "NONE"
  }

  package enum Operator: String, Sendable, Codable {
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
  package struct Options: OptionSet, Hashable, Sendable, Codable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    static let caseInsensitive = Options(rawValue: 1)
    static let diacriticInsensitive = Options(rawValue: 2)
    static let normalized = Options(rawValue: 4)
    static let localeSensitive = Options(rawValue: 8)

    static let letters: [(letter: Character, option: Options)] = [
      ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("n", .normalized), ("l", .localeSensitive),
    ]

    /// Whether the options change which strings are equal. `[n]` only states that the strings are already normalized.
    package var loosens: Bool { !subtracting([.normalized]).isEmpty }
  }

  package enum Operand: Hashable, Sendable, Codable {
    /// A field or a system field.
    case field(String)
    /// The record as a whole: `SELF`, or `allTokens` in a token search.
    case record
    /// A value. References always name their zone; a query omits the name of its own zone.
    case value(FieldValue)
    case null
    /// `now()`: the time when the query is sent, or the record is evaluated.
    case now
    /// The distance of a field from a location, in metres.
    case distance(field: String, from: WireLocation)
  }

  package internal(set) var quantifier: Quantifier?
  package internal(set) var left: Operand
  package internal(set) var comparator: Operator
  package internal(set) var options: Options = []
  package internal(set) var right: Operand

  package init(
    _ left: Operand,
    _ comparator: Operator,
    _ right: Operand,
    options: Options = [],
    quantifier: Quantifier? = nil
  ) {
    self.quantifier = quantifier
    self.left = left
    self.comparator = comparator
    self.options = options
    self.right = right
  }

  /// The names of the fields on either side.
  fileprivate var fields: [String] {
    [left, right].compactMap { side in
      switch side {
      case .field(let name), .distance(let name, _): name
      case .record, .value, .null, .now: nil
      }
    }
  }

  /// The reason that a side is no field, for a name from an archive or a server.
  fileprivate var problem: String? {
    for name in fields {
      do throws(PredicateFailure) { _ = try PredicateArgument.fieldName(name) } catch { return error.message }
    }
    return nil
  }

  /// Returns the comparison of the same field with another value.
  package func with(_ comparator: Operator? = nil, value: FieldValue) -> PredicateComparison {
    PredicateComparison(left, comparator ?? self.comparator, .value(value), options: options, quantifier: quantifier)
  }

  /// The two comparisons that `a BETWEEN {1, 2}` stands for; nil for other comparisons.
  package var bounds: [PredicateComparison]? {
    guard comparator == .between, quantifier == nil, case .value(.list(_, let bounds)) = right, bounds.count == 2
    else { return nil }
    return [with(.greaterOrEqual, value: bounds[0]), with(.lessOrEqual, value: bounds[1])]
  }
}
