internal import Foundation

/// Evaluation of predicates on this machine, with the same results as on the server (reference 5.1). A comparison of a
/// field that the record lacks, or of values that cannot be compared, is neither true nor false; neither is a condition
/// that depends only on such comparisons. Such a record does not match. Operators that the server does not support (OR,
/// LIKE, ALL, …) follow the same rule.
extension PredicateNode {
  /// Whether the predicate matches a record; nil if that is unknown.
  package func holds(for record: RecordValues) -> Bool? {
    switch self {
    case .constant(let value): value
    case .and(let parts): parts.allHold { $0.holds(for: record) }
    case .or(let parts): parts.anyHolds { $0.holds(for: record) }
    case .not(let part): part.holds(for: record).map { !$0 }
    case .comparison(let comparison): comparison.holds(for: record)
    case .unusable: nil
    }
  }
}

extension Sequence {
  /// False if the condition is false for any element; otherwise nil if it is unknown for any element; otherwise true.
  func allHold(_ condition: (Element) -> Bool?) -> Bool? {
    var result: Bool? = true
    for element in self {
      guard let holds = condition(element) else {
        result = nil
        continue
      }
      if !holds { return false }
    }
    return result
  }

  /// True if the condition is true for any element; otherwise nil if it is unknown for any element; otherwise false.
  func anyHolds(_ condition: (Element) -> Bool?) -> Bool? {
    allHold { condition($0).map { !$0 } }.map { !$0 }
  }
}

extension PredicateComparison {
  fileprivate func holds(for record: RecordValues) -> Bool? {
    switch (left, right) {
    case (.record, _):
      guard let words = right.value(in: record)?.text, comparator == .tokenMatches || comparator == .contains,
        quantifier == nil
      else { return nil }
      return Options.words(in: [words]).isSubset(of: Options.words(in: record.texts))
    case (.null, let other), (let other, .null):
      let isNull = other == .null || other.value(in: record) == nil
      return comparator == .equal ? isNull : comparator == .notEqual ? !isNull : nil
    // `ANY 'red' == colors` tests the list on the right, as the server does.
    case (.value, .field), (.now, .field):
      if quantifier != nil, let turned = try? turned() { return turned.holds(for: record) }
    default: break
    }
    guard let left = left.value(in: record), let right = right.value(in: record) else { return nil }
    if case .distance = self.left { return isNear(left, right) }
    guard let quantifier else { return compare(left, right) }
    guard case .list(_, let elements) = left else { return nil }
    return switch quantifier {
    case .any: elements.anyHolds { compare($0, right) }
    case .all: elements.allHold { compare($0, right) }
    case .noneOf: elements.anyHolds { compare($0, right) }.map { !$0 }
    }
  }

  private func compare(_ left: FieldValue, _ right: FieldValue) -> Bool? {
    switch comparator {
    case .equal: return left.equals(right, options)
    case .notEqual: return left.equals(right, options).map { !$0 }
    case .less: return left.order(right, options).map { $0 < 0 }
    case .lessOrEqual: return left.order(right, options).map { $0 <= 0 }
    case .greater: return left.order(right, options).map { $0 > 0 }
    case .greaterOrEqual: return left.order(right, options).map { $0 >= 0 }
    case .in: return left.isIn(right, options)
    case .contains: return right.isIn(left, options)
    case .between:
      guard case .list(_, let bounds) = right, bounds.count == 2 else { return nil }
      return [left.order(bounds[0], options).map { $0 >= 0 }, left.order(bounds[1], options).map { $0 <= 0 }]
        .allHold { $0 }
    case .beginsWith, .endsWith, .like, .matches, .tokenMatches:
      guard let text = left.text, let pattern = right.text else { return nil }
      return options.holds(text, comparator, pattern)
    }
  }

  /// Whether the distance is within the radius. A NEAR filter includes the exact radius, so `<` and `<=` are
  /// equivalent.
  private func isNear(_ distance: FieldValue, _ radius: FieldValue) -> Bool? {
    guard let order = distance.order(radius, []) else { return nil }
    return switch comparator {
    case .less, .lessOrEqual: order <= 0
    case .greater, .greaterOrEqual: order > 0
    default: nil
    }
  }
}

extension PredicateComparison.Operand {
  /// The current time for `now()`; other operands as they are.
  var resolved: PredicateComparison.Operand {
    let now = Date().timeIntervalSinceReferenceDate
    guard self == .now, let now = Milliseconds.since1970(reference: now) else { return self }
    return .value(.timestamp(now))
  }

  /// Compares two records by their values, for a sort descriptor. Missing values come first, as on the server; values
  /// without a common order count as equal.
  func order(_ one: Any, _ other: Any) -> ComparisonResult {
    guard let one = one as? CKRecord, let other = other as? CKRecord else { return .orderedSame }
    switch (value(in: RecordValues(one)), value(in: RecordValues(other))) {
    case (nil, nil): return .orderedSame
    case (nil, _): return .orderedAscending
    case (_, nil): return .orderedDescending
    case (let one?, let other?): return ComparisonResult(rawValue: one.order(other, []) ?? 0) ?? .orderedSame
    }
  }

  /// The value that the operand has for a record; nil for none.
  package func value(in record: RecordValues) -> FieldValue? {
    switch resolved {
    case .field(let name): return record.value(WireFieldName(framework: name))
    case .value(let value): return value
    case .record, .null, .now: return nil
    case .distance(let field, let point):
      guard case .location(let location)? = record.value(WireFieldName(framework: field)) else { return nil }
      return .double(CLLocation(wire: location).distance(from: CLLocation(wire: point)))
    }
  }
}
