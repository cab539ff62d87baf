internal import CloudKit
public import Foundation

extension Query where Model: CKFieldModel {
  /// Adds the conditions of a `#Predicate`:
  ///
  /// ```swift
  /// let query = Query<Post>().filter(#Predicate { $0.likes > 3 && $0.topics.contains("swift") })
  /// ```
  ///
  /// These parts can be translated: comparisons of a property with a value, a property that is a `Bool`, `&&`, `||` and
  /// `!`, `contains` of a list and of a closed range, and `starts(with:)` of a text. Any other part throws
  /// `CKError.invalidArguments` when the query is run, as does what Web Services cannot do.
  public func filter(_ predicate: Predicate<Model>) -> Self where Model: SendableMetatype {
    filter(by: { zoneID in
      let fields = PredicateFields(zoneID: zoneID) { ($0 as? PartialKeyPath<Model>).flatMap(Model.queryKey(for:)) }
      return try fields.condition(predicate.expression)
    })
  }
}

/// The fields and the zone of a predicate's model, for the translation of its parts.
private struct PredicateFields {
  let zoneID: CKRecordZone.ID
  /// Returns the field of a property; nil if it is none that the server can search.
  let name: (AnyKeyPath) -> String?

  func condition(_ expression: Any) throws -> NSPredicate {
    guard let condition = expression as? any PredicateCondition else { throw Self.unknown(expression) }
    return try condition.predicate(self)
  }

  func comparison(_ field: Any, _ format: String, _ value: Any) throws -> NSPredicate {
    guard let property = field as? any PredicateProperty, let value = value as? any PredicateValue else {
      throw Self.unknown(field)
    }
    return try NSPredicate(comparing: try property.name(self), format, value.encodable(), in: zoneID)
  }

  /// Names the kind of an expression and never its values, which may be private.
  static func unknown(_ expression: Any) -> CKError {
    let kind = "\(type(of: expression))".prefix { $0 != "<" }
    return CKError(.invalidArguments, "A predicate's \(kind) cannot be translated for CloudKit.")
  }
}

private protocol PredicateCondition {
  func predicate(_ fields: PredicateFields) throws -> NSPredicate
}

private protocol PredicateProperty {
  func name(_ fields: PredicateFields) throws -> String
}

/// The model that a predicate is evaluated with.
private protocol PredicateModel {}

private protocol PredicateValue {
  /// The values; two for a range.
  func encodable() throws -> [any Encodable]
}

// MARK: - Properties and values

extension PredicateExpressions.Variable: PredicateModel {}

extension PredicateExpressions.KeyPath: PredicateProperty, PredicateCondition {
  fileprivate func name(_ fields: PredicateFields) throws -> String {
    // A property of another model may have the same key path.
    guard root is any PredicateModel else { throw PredicateFields.unknown(self) }
    guard let name = fields.name(keyPath) else {
      throw CKError(.invalidArguments, "A property in the predicate is no field that the server can search.")
    }
    return name
  }

  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    guard Output.self == Bool.self else { throw PredicateFields.unknown(self) }
    return try NSPredicate(comparing: try name(fields), "%K == %@", [true], in: fields.zoneID)
  }
}

extension PredicateExpressions.Value: PredicateValue {
  fileprivate func encodable() throws -> [any Encodable] {
    if let range = value as? any RangeBounds { return range.bounds }
    guard let value = value as? any Encodable else { throw PredicateFields.unknown(self) }
    return [value]
  }
}

extension PredicateExpressions.ClosedRange: PredicateValue {
  fileprivate func encodable() throws -> [any Encodable] {
    guard let lower = lower as? PredicateExpressions.Value<LHS.Output>,
      let upper = upper as? PredicateExpressions.Value<LHS.Output>,
      let bounds = [lower.value, upper.value] as? any Encodable
    else { throw PredicateFields.unknown(self) }
    return [bounds]
  }
}

private protocol RangeBounds {
  var bounds: [any Encodable] { get }
}

extension ClosedRange: RangeBounds where Bound: Encodable {
  fileprivate var bounds: [any Encodable] { [[lowerBound, upperBound]] }
}

// MARK: - Conditions

extension PredicateExpressions.Conjunction: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    NSCompoundPredicate(type: .and, subpredicates: [try fields.condition(lhs), try fields.condition(rhs)])
  }
}

extension PredicateExpressions.Disjunction: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    NSCompoundPredicate(type: .or, subpredicates: [try fields.condition(lhs), try fields.condition(rhs)])
  }
}

extension PredicateExpressions.Negation: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    NSCompoundPredicate(type: .not, subpredicates: [try fields.condition(wrapped)])
  }
}

extension PredicateExpressions.Equal: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    lhs is any PredicateProperty
      ? try fields.comparison(lhs, "%K == %@", rhs) : try fields.comparison(rhs, "%K == %@", lhs)
  }
}

extension PredicateExpressions.NotEqual: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    lhs is any PredicateProperty
      ? try fields.comparison(lhs, "%K != %@", rhs) : try fields.comparison(rhs, "%K != %@", lhs)
  }
}

extension PredicateExpressions.Comparison: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    let (forward, backward) =
      switch op {
      case .lessThan: ("<", ">")
      case .lessThanOrEqual: ("<=", ">=")
      case .greaterThan: (">", "<")
      case .greaterThanOrEqual: (">=", "<=")
      @unknown default: throw PredicateFields.unknown(self)
      }
    return lhs is any PredicateProperty
      ? try fields.comparison(lhs, "%K \(forward) %@", rhs) : try fields.comparison(rhs, "%K \(backward) %@", lhs)
  }
}

extension PredicateExpressions.SequenceContains: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    sequence is any PredicateProperty
      ? try fields.comparison(sequence, "%K CONTAINS %@", element)
      : try fields.comparison(element, "%K IN %@", sequence)
  }
}

extension PredicateExpressions.SequenceStartsWith: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    try fields.comparison(base, "%K BEGINSWITH %@", prefix)
  }
}

extension PredicateExpressions.RangeExpressionContains: PredicateCondition {
  fileprivate func predicate(_ fields: PredicateFields) throws -> NSPredicate {
    try fields.comparison(element, "%K BETWEEN %@", range)
  }
}
