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

  func condition(_ expression: Any) throws -> PredicateNode {
    guard let condition = expression as? any PredicateCondition else { throw Self.unknown(expression) }
    return try condition.node(self)
  }

  /// Returns the comparison of a property with a value, or of a value with a property.
  func comparison(_ left: Any, _ comparator: PredicateComparison.Operator, _ right: Any) throws -> PredicateNode {
    let isTurned = !(left is any PredicateProperty)
    guard let property = (isTurned ? right : left) as? any PredicateProperty,
      let value = (isTurned ? left : right) as? any PredicateValue
    else { throw Self.unknown(left) }
    let name = try property.name(self)
    let field = PredicateComparison.Operand.field(name)
    let operand = try PredicateComparison.Operand.value(
      FieldValue(comparing: name, with: value.encodable(), in: zoneID)
    )
    return .comparison(PredicateComparison(isTurned ? operand : field, comparator, isTurned ? field : operand))
  }

  /// Names the kind of an expression and never its values, which may be private.
  static func unknown(_ expression: Any) -> CKError {
    let kind = "\(type(of: expression))".prefix { $0 != "<" }
    return CKError(.invalidArguments, "A predicate's \(kind) cannot be translated for CloudKit.")
  }
}

private protocol PredicateCondition {
  func node(_ fields: PredicateFields) throws -> PredicateNode
}

private protocol PredicateProperty {
  func name(_ fields: PredicateFields) throws -> String
}

/// The model that a predicate is evaluated with.
private protocol PredicateModel {}

private protocol PredicateValue {
  /// The value; a list of two for a range.
  func encodable() throws -> any Encodable
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

  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    guard Output.self == Bool.self else { throw PredicateFields.unknown(self) }
    return .comparison(PredicateComparison(.field(try name(fields)), .equal, .value(.int64(1))))
  }
}

extension PredicateExpressions.Value: PredicateValue {
  fileprivate func encodable() throws -> any Encodable {
    if let range = value as? any RangeBounds { return range.bounds }
    guard let value = value as? any Encodable else { throw PredicateFields.unknown(self) }
    return value
  }
}

extension PredicateExpressions.ClosedRange: PredicateValue {
  fileprivate func encodable() throws -> any Encodable {
    guard let lower = lower as? PredicateExpressions.Value<LHS.Output>,
      let upper = upper as? PredicateExpressions.Value<LHS.Output>,
      let bounds = [lower.value, upper.value] as? any Encodable
    else { throw PredicateFields.unknown(self) }
    return bounds
  }
}

private protocol RangeBounds {
  var bounds: any Encodable { get }
}

extension ClosedRange: RangeBounds where Bound: Encodable {
  fileprivate var bounds: any Encodable { [lowerBound, upperBound] }
}

// MARK: - Conditions

extension PredicateExpressions.Conjunction: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    .and([try fields.condition(lhs), try fields.condition(rhs)])
  }
}

extension PredicateExpressions.Disjunction: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    .or([try fields.condition(lhs), try fields.condition(rhs)])
  }
}

extension PredicateExpressions.Negation: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode { .not(try fields.condition(wrapped)) }
}

extension PredicateExpressions.Equal: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode { try fields.comparison(lhs, .equal, rhs) }
}

extension PredicateExpressions.NotEqual: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    try fields.comparison(lhs, .notEqual, rhs)
  }
}

extension PredicateExpressions.Comparison: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    switch op {
    case .lessThan: try fields.comparison(lhs, .less, rhs)
    case .lessThanOrEqual: try fields.comparison(lhs, .lessOrEqual, rhs)
    case .greaterThan: try fields.comparison(lhs, .greater, rhs)
    case .greaterThanOrEqual: try fields.comparison(lhs, .greaterOrEqual, rhs)
    @unknown default: throw PredicateFields.unknown(self)
    }
  }
}

extension PredicateExpressions.SequenceContains: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    try fields.comparison(element, .in, sequence)
  }
}

extension PredicateExpressions.SequenceStartsWith: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    try fields.comparison(base, .beginsWith, prefix)
  }
}

extension PredicateExpressions.RangeExpressionContains: PredicateCondition {
  fileprivate func node(_ fields: PredicateFields) throws -> PredicateNode {
    try fields.comparison(element, .between, range)
  }
}
