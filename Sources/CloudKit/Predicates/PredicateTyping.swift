extension CKQuery {
  /// Returns the query with the compared values in the types of the fields, so that it matches the same records here and
  /// on the server: a text or a number of milliseconds becomes a TIMESTAMP, a whole number a DOUBLE, and so on.
  ///
  /// - Parameters:
  ///   - types: The wire types of fields by name. Values of other fields are left as they are.
  ///   - times: Returns the milliseconds since 1970 that a text stands for, such as those of a day; nil if it is no time.
  /// - Throws: `CKError.invalidArguments` that names the comparison that the type of its field does not allow.
  package func typed(
    by types: [String: String],
    times: @escaping (_ text: String) -> Range<Int64>?
  ) throws(CKError) -> CKQuery {
    let typing = PredicateTyping(types: types, times: times)
    do throws(PredicateFailure) {
      let query = CKQuery(recordType: recordType, predicate: ParsedPredicate(try typing.node(predicate.node)))
      query.sortDescriptors = sortDescriptors
      return query
    } catch {
      throw .invalidArguments("The predicate cannot be used in a query: \(error.message).")
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
        throw error.about(PredicateText(node, values: .hidden).text)
      }
    }
  }

  private func nodes(_ parts: [PredicateNode]) throws(PredicateFailure) -> [PredicateNode] {
    var nodes: [PredicateNode] = []
    for part in parts { nodes.append(try node(part)) }
    return nodes
  }

  private func node(_ comparison: PredicateComparison) throws(PredicateFailure) -> PredicateNode {
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
    guard !tag.hasPrefix(FieldValue.encryptedPrefix) else {
      throw PredicateFailure("\(name) is encrypted, and encrypted fields cannot be compared")
    }
    let isList = tag.hasSuffix("_LIST")
    guard let type = FieldType(rawValue: isList ? String(tag.dropLast("_LIST".count)) : tag), type != .unknown else {
      return nil
    }
    return Field(type: type, isList: isList)
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
    var typed = comparison
    switch comparison.comparator {
    case .beginsWith, .endsWith, .like, .matches, .tokenMatches:
      guard [.string, .reference].contains(field.type) else { throw isNot(field, "a text") }
      guard case .string = value else { throw PredicateFailure("it needs a text in quotes") }
      return .comparison(comparison)
    case .contains where !field.isList:
      guard field.type == .string else { throw isNot(field, "a list or a text") }
      guard case .string = value else { throw PredicateFailure("it needs a text in quotes") }
      return .comparison(comparison)
    case .between:
      guard let elements, elements.count == 2, comparison.quantifier == nil else { return .comparison(comparison) }
      var upper = comparison
      (typed.comparator, typed.right) = (.greaterOrEqual, .value(elements[0]))
      (upper.comparator, upper.right) = (.lessOrEqual, .value(elements[1]))
      return .and([try node(typed, field, elements[0]), try node(upper, field, elements[1])])
    case .in, .contains, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
      // A text within a text.
      if comparison.comparator == .in, elements == nil { return .comparison(comparison) }
      guard let elements else { return try ordered(comparison, field, value) }
      guard field.isList || comparison.comparator == .in else { throw isNot(field, "a list") }
      var values: [FieldValue] = []
      for element in elements { values.append(try exact(element, field, comparison)) }
      if !values.isEmpty { typed.right = .value(try .list(of: values)) }
      return .comparison(typed)
    }
  }

  /// Returns the comparison with a value of the field's type. A value between two whole numbers, and a text that stands
  /// for many times, are compared by the values next to them.
  private func ordered(_ comparison: PredicateComparison, _ field: Field, _ value: FieldValue) throws(PredicateFailure)
    -> PredicateNode
  {
    func compare(_ comparator: PredicateComparison.Operator, _ number: Int64) -> PredicateNode {
      var typed = comparison
      let value = field.type == .timestamp ? FieldValue.timestamp(number) : .int64(number)
      (typed.comparator, typed.right) = (comparator, .value(value))
      return .comparison(typed)
    }
    let converted = try convert(value, field, comparison)
    switch (converted, comparison.comparator) {
    case (.value(let value), _):
      var typed = comparison
      typed.right = .value(value)
      return .comparison(typed)
    case (.above(let whole), .less), (.above(let whole), .lessOrEqual): return compare(.lessOrEqual, whole)
    case (.above(let whole), .greater), (.above(let whole), .greaterOrEqual): return compare(.greater, whole)
    case (.above, _): throw PredicateFailure("the field is \(field.text), which no fraction equals")
    case (.times(let times), .less): return compare(.less, times.lowerBound)
    case (.times(let times), .lessOrEqual): return compare(.less, times.upperBound)
    case (.times(let times), .greater): return compare(.greaterOrEqual, times.upperBound)
    case (.times(let times), .greaterOrEqual): return compare(.greaterOrEqual, times.lowerBound)
    case (.times(let times), .equal) where comparison.quantifier == nil:
      return .and([compare(.greaterOrEqual, times.lowerBound), compare(.less, times.upperBound)])
    case (.times(let times), .notEqual) where comparison.quantifier == nil:
      return .or([compare(.less, times.lowerBound), compare(.greaterOrEqual, times.upperBound)])
    case (.times, _): throw Self.inexactTime
    }
  }

  // MARK: - Values

  private enum Converted {
    case value(FieldValue)
    /// A number between this whole number and the next one, for a field of whole numbers.
    case above(Int64)
    /// A text that stands for many times, such as a day.
    case times(Range<Int64>)
  }

  private func exact(_ value: FieldValue, _ field: Field, _ comparison: PredicateComparison) throws(PredicateFailure)
    -> FieldValue
  {
    switch try convert(value, field, comparison) {
    case .value(let value): return value
    case .above: throw PredicateFailure("the field is \(field.text), which no fraction equals")
    case .times: throw Self.inexactTime
    }
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
      guard Double(whole) == number else { return .above(whole) }
      return .value(field.type == .timestamp ? .timestamp(whole) : .int64(whole))
    case (.timestamp, .int64(let milliseconds)): return .value(.timestamp(milliseconds))
    case (.timestamp, .string(let text)):
      guard let times = times(text) else {
        throw PredicateFailure(
          "the field is TIMESTAMP; write a time such as '2026-01-31T12:00:00Z', or milliseconds since 1970"
        )
      }
      return times.count == 1 ? .value(.timestamp(times.lowerBound)) : .times(times)
    case (.string, _): throw PredicateFailure("the field is STRING; write the value in quotes")
    default: throw isNot(field, value.wireType)
    }
  }

  private static let inexactTime = PredicateFailure("give the time to the millisecond")

  private func isNot(_ field: Field, _ what: String) -> PredicateFailure {
    PredicateFailure("the field is \(field.text), not \(what)")
  }
}
