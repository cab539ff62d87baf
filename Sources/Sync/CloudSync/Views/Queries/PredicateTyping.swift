package import CloudKit
package import Facts
import Foundation

extension CKQuery {
  /// Returns the query with the compared values in the types of the fields, so that it matches the same records here
  /// and on the server: a text or a number of milliseconds becomes a TIMESTAMP, a whole number a DOUBLE, and so on.
  ///
  /// - Parameters:
  ///   - types: The wire types of fields by name. Values of other fields are left as they are.
  ///   - times: Returns the milliseconds since 1970 that a text stands for, such as those of a day; nil if it is no
  ///     time.
  /// - Throws: The usage error that names the comparison that the type of its field does not allow.
  package func typed(
    by types: [String: String],
    times: @escaping (_ text: String) -> Range<Int64>?
  ) throws(CommandFailure) -> CKQuery {
    let typing = PredicateTyping(types: types, times: times)
    do throws(PredicateFailure) {
      let query = CKQuery(recordType: recordType, predicate: NSPredicate(node: try typing.node(predicate.node)))
      query.sortDescriptors = sortDescriptors
      return query
    } catch {
      throw .usage("The predicate cannot be used in a query: \(error.message); correct the query")
    }
  }
}

/// Converts the values of a predicate to the types of the fields that they are compared with.
///
/// Values of different types have no order, so that without this a condition such as `due > '2026-01-02'` would match
/// nothing.
private struct PredicateTyping {
  let types: [String: String]
  let times: (_ text: String) -> Range<Int64>?

  func node(_ node: PredicateNode) throws(PredicateFailure) -> PredicateNode {
    switch node {
    case .constant, .unusable: return node
    case .and(let parts): return .and(try nodes(parts))
    case .or(let parts): return .or(try nodes(parts))
    case .not(let part): return .not(try self.node(part))
    case .comparison(let comparison):
      do throws(PredicateFailure) {
        return try self.node(comparison)
      } catch {
        throw error.about(node.text())
      }
    }
  }

  private func nodes(_ parts: [PredicateNode]) throws(PredicateFailure) -> [PredicateNode] {
    try parts.map { part throws(PredicateFailure) in try node(part) }
  }

  private func node(_ comparison: PredicateComparison) throws(PredicateFailure) -> PredicateNode {
    switch (comparison.comparator, comparison.right) {
    case (.between, .value(.list(_, let bounds))) where bounds.count == 2: break
    case (.between, .value), (.between, .null): throw PredicateFailure("it needs two bounds, such as {1, 5}")
    case (.matches, .value(.string(let pattern))) where PredicateComparison.Options.wholeMatch(pattern) == nil:
      throw PredicateFailure("the pattern is not a regular expression")
    default: break
    }
    switch (comparison.left, comparison.right) {
    case (.value, .field):
      // The server's filters begin with the field, too.
      guard let turned = try? comparison.turned() else { return .comparison(comparison) }
      return try node(turned)
    case (.field(let name), .value(let value)):
      guard let field = try field(name) else { return .comparison(comparison) }
      return try node(comparison, field, value)
    case (.field(let name), .field(let other)):
      if let one = try field(name), let other = try field(other), !one.isComparable(with: other) {
        throw PredicateFailure("\(name) is \(one.text) and the other field is \(other.text)")
      }
      return .comparison(comparison)
    case (.distance(let name, _), _):
      if let field = try field(name), field.type != .location || field.isList {
        throw PredicateFailure("\(name) is \(field.text), not a location")
      }
      return .comparison(comparison)
    default: return .comparison(comparison)
    }
  }

  // MARK: - Fields

  private struct Field {
    let type: FieldType
    let isList: Bool

    var text: String { isList ? "a list of \(type.rawValue)" : type.rawValue }

    func isComparable(with other: Field) -> Bool {
      let groups: [Set<FieldType>] = [[.int64, .double], [.string, .reference], [type]]
      return isList == other.isList && groups.contains { $0.contains(type) && $0.contains(other.type) }
    }
  }

  /// The type of a field; nil if it is unknown.
  private func field(_ name: String) throws(PredicateFailure) -> Field? {
    if let type = WireFieldName(framework: name).systemType { return Field(type: type, isList: false) }
    guard let tag = types[name] else { return nil }
    guard !WireTypeTag.isEncrypted(tag) else {
      throw PredicateFailure("\(name) is encrypted, and encrypted fields cannot be compared")
    }
    return WireTypeTag(tag).map { Field(type: $0.element, isList: $0.isList) }
  }

  // MARK: - Comparisons

  private func node(_ comparison: PredicateComparison, _ field: Field, _ value: FieldValue) throws(PredicateFailure)
    -> PredicateNode
  {
    let elements: [FieldValue]? = if case .list(_, let elements) = value { elements } else { nil }
    let isEquality = comparison.comparator == .equal || comparison.comparator == .notEqual
    if field.isList, comparison.quantifier == nil, comparison.comparator != .contains,
      !(isEquality && elements != nil)
    {
      throw PredicateFailure("the field is \(field.text); write CONTAINS, or ANY before the field")
    }
    if !field.isList, comparison.quantifier != nil { throw PredicateFailure("the field is \(field.text), not a list") }
    switch comparison.comparator {
    case .beginsWith, .endsWith, .like, .matches, .tokenMatches:
      guard [.string, .reference].contains(field.type) else { throw isNot(field, "a text") }
      guard case .string = value else { throw PredicateFailure("it needs a text in quotes") }
      return .comparison(comparison)
    case .contains where !field.isList:
      guard field.type == .string else { throw isNot(field, "a list or a text") }
      guard case .string = value else { throw PredicateFailure("it needs a text in quotes") }
      return .comparison(comparison)
    case .between, .in, .contains, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
      if let bounds = comparison.bounds {
        return .and(try bounds.map { bound throws(PredicateFailure) in try node(bound) })
      }
      // A text within a text.
      if comparison.comparator == .in, elements == nil { return .comparison(comparison) }
      guard let elements else { return try ordered(comparison, field, value) }
      guard field.isList || comparison.comparator == .in else { throw isNot(field, "a list") }
      let values = try elements.map { element throws(PredicateFailure) in
        switch try convert(element, field, comparison) {
        case .value(let value): return value
        case .range(let range): throw inexact(range, field)
        }
      }
      return .comparison(values.isEmpty ? comparison : comparison.with(value: try .list(of: values)))
    }
  }

  /// Returns the comparison with a value of the field's type. A value that stands for many others, or that lies between
  /// two, is compared by those next to it.
  private func ordered(_ comparison: PredicateComparison, _ field: Field, _ value: FieldValue) throws(PredicateFailure)
    -> PredicateNode
  {
    func compare(_ comparator: PredicateComparison.Operator, _ number: Int64) -> PredicateNode {
      .comparison(comparison.with(comparator, value: field.type == .timestamp ? .timestamp(number) : .int64(number)))
    }
    switch (try convert(value, field, comparison), comparison.comparator) {
    case (.value(let value), _): return .comparison(comparison.with(value: value))
    case (.range(let range), .less): return compare(.less, range.lowerBound)
    case (.range(let range), .lessOrEqual): return compare(.less, range.upperBound)
    case (.range(let range), .greater): return compare(.greaterOrEqual, range.upperBound)
    case (.range(let range), .greaterOrEqual): return compare(.greaterOrEqual, range.lowerBound)
    case (.range(let range), .equal) where comparison.quantifier == nil && !range.isEmpty:
      return .and([compare(.greaterOrEqual, range.lowerBound), compare(.less, range.upperBound)])
    case (.range(let range), .notEqual) where comparison.quantifier == nil && !range.isEmpty:
      return .or([compare(.less, range.lowerBound), compare(.greaterOrEqual, range.upperBound)])
    case (.range(let range), _): throw inexact(range, field)
    }
  }

  // MARK: - Values

  private enum Converted {
    case value(FieldValue)
    /// The whole numbers or times that a value stands for, such as those of a day; empty for a number between two.
    case range(Range<Int64>)
  }

  private func inexact(_ range: Range<Int64>, _ field: Field) -> PredicateFailure {
    PredicateFailure(
      range.isEmpty ? "the field is \(field.text), which no fraction equals" : "give the time to the millisecond"
    )
  }

  private func convert(_ value: FieldValue, _ field: Field, _ comparison: PredicateComparison) throws(PredicateFailure)
    -> Converted
  {
    switch (field.type, value) {
    case (.int64, .int64), (.double, .double), (.timestamp, .timestamp), (.string, .string), (.bytes, .bytes),
      (.reference, .reference), (.location, .location):
      return .value(value)
    case (.reference, .string(let name)):
      let isNamed = [.equal, .notEqual, .in, .contains].contains(comparison.comparator)
      return .value(isNamed ? .reference(WireReference(recordName: name, action: nil)) : value)
    case (.double, .int64(let integer)):
      guard Int64(exactly: Double(integer)) == integer else {
        throw PredicateFailure("the field is DOUBLE, which does not hold this number exactly")
      }
      return .value(.double(Double(integer)))
    case (.int64, .double(let number)), (.timestamp, .double(let number)):
      guard let whole = Int64(exactly: number.rounded(.down)) else {
        throw PredicateFailure("the field is \(field.text), and the number is beyond its range")
      }
      guard Double(whole) == number else { return .range(whole + 1..<whole + 1) }
      return .value(field.type == .timestamp ? .timestamp(whole) : .int64(whole))
    case (.timestamp, .int64(let milliseconds)): return .value(.timestamp(milliseconds))
    case (.timestamp, .string(let text)):
      guard let times = times(text) else {
        throw PredicateFailure(
          "the field is TIMESTAMP; write a time such as '2026-01-31T12:00:00Z', or milliseconds since 1970"
        )
      }
      return times.count == 1 ? .value(.timestamp(times.lowerBound)) : .range(times)
    case (.string, _): throw PredicateFailure("the field is STRING; write the value in quotes")
    default: throw isNot(field, value.wireType)
    }
  }

  private func isNot(_ field: Field, _ what: String) -> PredicateFailure {
    PredicateFailure("the field is \(field.text), not \(what)")
  }
}
