public import CloudKit
public import Foundation

/// A comparison of a field with a value, for ``Query``. Each is a comparator of CloudKit Web Services.
///
/// Values are compared as `CKRecordEncoder` stores them: an enum by its raw value, a `Bool` by 0 and 1.
public struct QueryComparison<Value>: Sendable {
  /// The predicate's format, with `%K` for the field and `%@` for each value.
  private let format: String
  private let values: [any Encodable & Sendable]

  private init(_ format: String, _ values: any Encodable & Sendable...) {
    self.format = format
    self.values = values
  }

  /// Returns the predicate for a field.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for nil.
  func predicate(of field: String, in zoneID: CKRecordZone.ID) throws -> NSPredicate {
    try NSPredicate(comparing: field, format, values, in: zoneID)
  }
}

extension NSPredicate {
  /// Makes a comparison of a field with values, as `CKRecordEncoder` stores them.
  ///
  /// - Parameter format: The format, with `%K` for the field and `%@` for each value.
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for nil.
  convenience init(
    comparing field: String,
    _ format: String,
    _ values: [any Encodable],
    in zoneID: CKRecordZone.ID
  ) throws {
    let objects = try values.map { value -> any CKRecordValue in
      let object: (any CKRecordValue)?
      do {
        object = try FieldContent.field(of: value, at: [FieldKey(field)], zoneID: zoneID)?.value
      } catch {
        throw CKModelError(type(of: value), encoding: error)
      }
      guard let object else {
        let nothing = (value as? any Collection)?.isEmpty == true ? "an empty list" : "no value"
        throw CKError(.invalidArguments, "The query compares \(field) with \(nothing), which the server cannot do.")
      }
      return object
    }
    self.init(format: format, argumentArray: [field] + objects)
  }
}

/// Predicates and sort descriptors for `CKQuery`, made from the comparisons of ``Query``.
extension CKFieldModel {
  /// Returns the predicate of a comparison with a field. A model or link is compared in the zone of models that are saved
  /// without one.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, `CKError.invalidArguments` for nil.
  public static func predicate<Value>(
    _ field: Fields,
    _ comparison: QueryComparison<Value>
  ) throws -> NSPredicate { try comparison.predicate(of: field.rawValue, in: databaseScope.zoneIDForModels) }

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
  public static func equals(_ value: Value) -> Self { Self("%K == %@", value) }
  /// The field has another value.
  public static func notEquals(_ value: Value) -> Self { Self("%K != %@", value) }
  /// The field is less than this value.
  public static func isLess(than value: Value) -> Self { Self("%K < %@", value) }
  /// The field is this value or less.
  public static func isAtMost(_ value: Value) -> Self { Self("%K <= %@", value) }
  /// The field is greater than this value.
  public static func isGreater(than value: Value) -> Self { Self("%K > %@", value) }
  /// The field is this value or greater.
  public static func isAtLeast(_ value: Value) -> Self { Self("%K >= %@", value) }
  /// The field has one of these values.
  public static func isAny(of values: [Value]) -> Self { Self("%K IN %@", values) }
  /// The field has none of these values.
  public static func isNone(of values: [Value]) -> Self { Self("NOT %K IN %@", values) }
}

extension QueryComparison where Value: Encodable & Sendable & Comparable {
  /// The field is between two values, or one of them.
  public static func isBetween(_ range: ClosedRange<Value>) -> Self {
    Self("%K BETWEEN %@", [range.lowerBound, range.upperBound])
  }
}

extension QueryComparison<String> {
  /// The text begins with these characters, with the same case.
  public static func begins(with prefix: String) -> Self { Self("%K BEGINSWITH %@", prefix) }
  /// The text does not begin with these characters.
  public static func beginsNot(with prefix: String) -> Self { Self("NOT %K BEGINSWITH %@", prefix) }
  /// The text contains all of these words, in any case and order. The field needs a searchable index.
  public static func containsWords(of text: String) -> Self { Self("%K TOKENMATCHES[cdl] %@", text) }
}

extension QueryComparison {
  /// The list contains this element.
  public static func contains<Element: Encodable & Sendable>(_ element: Element) -> Self where Value == [Element] {
    Self("%K CONTAINS %@", element)
  }

  /// The list does not contain this element.
  public static func containsNot<Element: Encodable & Sendable>(_ element: Element) -> Self where Value == [Element] {
    Self("NOT %K CONTAINS %@", element)
  }

  /// The list contains at least one of these elements.
  public static func containsAny<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self("ANY %K IN %@", elements) }

  /// The list contains none of these elements.
  public static func containsNone<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self("NONE %K IN %@", elements) }

  /// The list contains all of these elements.
  public static func containsAll<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self("%K CONTAINS %@", elements) }

  /// The list lacks at least one of these elements.
  public static func containsNotAll<Element: Encodable & Sendable>(of elements: [Element]) -> Self
  where Value == [Element] { Self("NOT %K CONTAINS %@", elements) }
}

extension QueryComparison<[String]> {
  /// The list has a text that begins with these characters.
  public static func containsText(beginningWith prefix: String) -> Self { Self("ANY %K BEGINSWITH %@", prefix) }
  /// The list has no text that begins with these characters.
  public static func containsNoText(beginningWith prefix: String) -> Self { Self("NONE %K BEGINSWITH %@", prefix) }
}

extension QueryComparison<CLLocation> {
  /// The place is within a distance of another.
  ///
  /// - Parameter radius: The distance in metres.
  public static func isNear(_ place: CLLocation, within radius: Double) -> Self {
    Self("distanceToLocation:fromLocation:(%K, %@) < %@", place, radius)
  }
}
