extension PredicateNode {
  /// The same predicate with fewer negations and alternatives, with the current time for `now()`, and with the field
  /// first in comparisons, as far as the result is equal for every record.
  ///
  /// A comparison with a field that a record lacks is neither true nor false, here and on the server (reference 5.1),
  /// so `NOT x == 1` and `x != 1` skip the same records.
  package var simplified: PredicateNode {
    switch self {
    case .constant, .unusable: return self
    case .comparison(var comparison):
      comparison.left = comparison.left.resolved
      comparison.right = comparison.right.resolved
      guard case .value = comparison.left, let turned = try? comparison.turned() else { return .comparison(comparison) }
      return .comparison(turned)
    case .and(let parts): return .and(parts.map(\.simplified))
    case .or(let parts):
      let alternatives = parts.flatMap { part -> [PredicateNode] in
        let part = part.simplified
        if case .or(let inner) = part { return inner }
        return [part]
      }
      if alternatives.count == 1 { return alternatives[0] }
      return PredicateComparison(alternatives: alternatives).map(PredicateNode.comparison) ?? .or(alternatives)
    case .not(let part):
      let part = part.simplified
      switch part {
      case .constant(let value): return .constant(!value)
      case .not(let inner): return inner
      case .comparison(let comparison): return comparison.opposite.map(PredicateNode.comparison) ?? .not(part)
      default: return .not(part)
      }
    }
  }
}

extension PredicateComparison {
  /// Merges `a == 1 OR a == 2 OR a IN {3}` into one comparison, `a IN {1, 2, 3}`; nil for other alternatives.
  fileprivate init?(alternatives: [PredicateNode]) {
    var elements: [FieldValue] = []
    var first: PredicateComparison?
    for alternative in alternatives {
      guard case .comparison(let comparison) = alternative, case .field = comparison.left,
        comparison.quantifier == nil || comparison.quantifier == .any, !comparison.options.loosens,
        first == nil || (first?.left == comparison.left && first?.quantifier == comparison.quantifier)
      else { return nil }
      first = first ?? comparison
      switch (comparison.comparator, comparison.right) {
      case (.equal, .value(.list)): return nil
      case (.equal, .value(let value)): elements.append(value)
      case (.in, .value(.list(_, let values))): elements += values
      default: return nil
      }
    }
    guard let first, let list = try? FieldValue.list(of: elements) else { return nil }
    self.init(first.left, .in, .value(list), quantifier: first.quantifier)
  }

  /// The negated comparison; nil if no operator expresses it.
  fileprivate var opposite: PredicateComparison? {
    if case .distance = left { return nil }
    var opposite = self
    switch (quantifier, comparator) {
    case (.noneOf, _): opposite.quantifier = .any
    case (.any, _): opposite.quantifier = .noneOf
    case (nil, .equal): opposite.comparator = .notEqual
    case (nil, .notEqual): opposite.comparator = .equal
    case (nil, .less): opposite.comparator = .greaterOrEqual
    case (nil, .lessOrEqual): opposite.comparator = .greater
    case (nil, .greater): opposite.comparator = .lessOrEqual
    case (nil, .greaterOrEqual): opposite.comparator = .less
    default: return nil
    }
    return opposite
  }
}
