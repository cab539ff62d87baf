public import CloudKit
public import Foundation

/// A comparison of a field with a value, for ``Query``. Each is a comparator of CloudKit Web Services.
///
/// Values are compared as `CKRecordEncoder` stores them: an enum by its raw value, a `Bool` by 0 and 1.
public struct QueryComparison<Value>: Sendable {
  private let comparator: PredicateComparison.Operator
  private let value: any Encodable & Sendable
  private let quantifier: PredicateComparison.Quantifier?
  private let isNegated: Bool
  /// The location from which the field's distance is measured.
  private let place: CLLocation?

  private init(
    _ comparator: PredicateComparison.Operator,
    _ value: any Encodable & Sendable,
    quantifier: PredicateComparison.Quantifier? = nil,
    isNegated: Bool = false,
    place: CLLocation? = nil
  ) {
    self.comparator = comparator
    self.value = value
    self.quantifier = quantifier
    self.isNegated = isNegated
    self.place = place
  }

  /// Returns the condition for a field.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for one that cannot be
  ///   compared.
  func condition(of field: String, in zoneID: CKRecordZone.ID) throws -> PredicateNode {
    var left = PredicateComparison.Operand.field(field)
    if let place, case .location(let center) = try FieldValue(comparing: field, with: place, in: zoneID) {
      left = .distance(field: field, from: center)
    }
    let value = try FieldValue(comparing: field, with: value, in: zoneID)
    let comparison = PredicateComparison(left, comparator, .value(value), quantifier: quantifier)
    return isNegated ? .not(.comparison(comparison)) : .comparison(comparison)
  }
}

extension FieldValue {
  /// Creates the value that a field is compared with, as `CKRecordEncoder` stores it.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for one that cannot be
  ///   compared, such as nil.
  init(comparing field: String, with value: any Encodable, in zoneID: CKRecordZone.ID) throws {
    let stored: StoredField?
    do {
      stored = try FieldContent.field(of: value, at: [FieldCodingKey(field)], zoneID: zoneID)
    } catch {
      throw CKModelError(type(of: value), encoding: error)
    }
    guard let compared = stored?.compared else {
      let isEmpty = (value as? any Collection)?.isEmpty == true
      let what = stored != nil ? "an asset" : isEmpty ? "an empty list" : "no value"
      throw CKError(.invalidArguments, "The query compares \(field) with \(what), which the server cannot do.")
    }
    self = compared
  }
}

/// Predicates and sort descriptors for `CKQuery`, made from the comparisons of ``Query``.
extension CKFieldModel {
  /// Returns the predicate of a comparison with a field. A model or link is compared in the zone of models that are
  /// saved without one.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for nil.
  public static func predicate<Value>(
    _ field: Fields,
    _ comparison: QueryComparison<Value>
  ) throws -> NSPredicate {
    NSPredicate(node: try comparison.condition(of: field.rawValue, in: databaseScope.zoneIDForModels))
  }

  /// Returns the predicate of the records whose field has a value.
  public static func predicate<Value: Encodable & Sendable>(_ field: Fields, equals value: Value) throws -> NSPredicate
  {
    try predicate(field, .equals(value))
  }

  /// Returns the predicate of the records whose field has one of these values.
  public static func predicate<Value: Encodable & Sendable>(_ field: Fields, in values: [Value]) throws -> NSPredicate {
    try predicate(field, .isAny(of: values))
  }

  /// Returns the predicate of the records whose list contains at least one of these elements.
  public static func predicate<Value: Encodable & Sendable>(
    _ field: Fields,
    anyIn values: [Value]
  ) throws -> NSPredicate { try predicate(field, .containsAny(of: values)) }

  /// Returns the order by a field.
  public static func sort(by field: Fields, ascending: Bool = true) -> NSSortDescriptor {
    NSSortDescriptor(key: field.rawValue, ascending: ascending)
  }
}

extension QueryComparison where Value: Encodable & Sendable {
  /// The field has this value.
  public static func equals(_ value: Value) -> Self { Self(.equal, value) }
  /// The field has another value.
  public static func notEquals(_ value: Value) -> Self { Self(.notEqual, value) }
  /// The field is less than this value.
  public static func isLess(than value: Value) -> Self { Self(.less, value) }
  /// The field is this value or less.
  public static func isAtMost(_ value: Value) -> Self { Self(.lessOrEqual, value) }
  /// The field is greater than this value.
  public static func isGreater(than value: Value) -> Self { Self(.greater, value) }
  /// The field is this value or greater.
  public static func isAtLeast(_ value: Value) -> Self { Self(.greaterOrEqual, value) }
  /// The field has one of these values.
  public static func isAny(of values: [Value]) -> Self { Self(.in, values) }
  /// The field has none of these values.
  public static func isNone(of values: [Value]) -> Self { Self(.in, values, isNegated: true) }
}

extension QueryComparison where Value: Encodable & Sendable & Comparable {
  /// The field is between two values, or one of them.
  public static func isBetween(_ range: ClosedRange<Value>) -> Self {
    Self(.between, [range.lowerBound, range.upperBound])
  }
}

extension QueryComparison<String> {
  /// The text begins with these characters, with the same case.
  public static func begins(with prefix: String) -> Self { Self(.beginsWith, prefix) }
  /// The text does not begin with these characters.
  public static func beginsNot(with prefix: String) -> Self { Self(.beginsWith, prefix, isNegated: true) }
  /// The text contains all of these words, in any case and order. The field needs a searchable index.
  public static func containsWords(of text: String) -> Self { Self(.tokenMatches, text) }
}

extension QueryComparison {
  /// The list contains this element.
  public static func contains<Element: Encodable & Sendable>(_ element: Element) -> Self where Value == [Element] {
    Self(.contains, element)
  }

  /// The list does not contain this element.
  public static func containsNot<Element: Encodable & Sendable>(_ element: Element) -> Self where Value == [Element] {
    Self(.contains, element, isNegated: true)
  }

  /// The list contains at least one of these elements.
  public static func containsAny<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self(.in, elements, quantifier: .any) }

  /// The list contains none of these elements.
  public static func containsNone<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self(.in, elements, quantifier: .noneOf) }

  /// The list contains all of these elements.
  public static func containsAll<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self(.contains, elements) }

  /// The list lacks at least one of these elements.
  public static func containsNotAll<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self(.contains, elements, isNegated: true) }
}

extension QueryComparison<[String]> {
  /// The list has a text that begins with these characters.
  public static func containsText(beginningWith prefix: String) -> Self { Self(.beginsWith, prefix, quantifier: .any) }
  /// The list has no text that begins with these characters.
  public static func containsNoText(beginningWith prefix: String) -> Self {
    Self(.beginsWith, prefix, quantifier: .noneOf)
  }
}

extension QueryComparison<CLLocation> {
  /// The place is within a distance of another.
  ///
  /// - Parameter radius: The distance in metres.
  public static func isNear(_ place: CLLocation, within radius: Double) -> Self {
    Self(.less, radius, place: place)
  }
}
