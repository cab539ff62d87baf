/// A predicate in a form that can be read: what `NSPredicate` on Linux does not offer.
indirect enum PredicateNode: Sendable {
  /// Every record.
  case everything
  /// All of them hold.
  case and([PredicateNode])
  case comparison(PredicateComparison)
  /// What the server cannot do, or no predicate at all, in words. `NSPredicate` cannot throw when it is made, so the
  /// query that uses it does.
  case unusable(String)
}

/// One comparison of a field with a value.
struct PredicateComparison: Sendable {
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
    case between = "BETWEEN"
  }

  enum Operand: Sendable {
    case field(String)
    /// Nil is the null value.
    case value(StoredField?)
    /// The distance in metres of a field from a place.
    case distance(field: String, from: StoredField)
  }

  /// Whether it asks for any element of a list.
  var any: Bool
  var left: Operand
  var comparator: Operator
  var right: Operand
}
