public import CloudKit
internal import Foundation

/// A query for models of one type, as a value: each call returns a copy with one more part.
///
/// ```swift
/// let query = Query<Post>()
///   .filter(\.author, equals: user)
///   .filter(\.topics, .containsAny(of: ["swift", "linux"]))
///   .sorted(by: \.createdAt, ascending: false)
///   .limit(20)
/// let posts = try await database.load(query)
/// ```
///
/// All conditions hold for each result. A field is given as a property of a `@CKModel` type or as a case of its
/// `Fields`. What the server cannot do throws `CKError.invalidArguments`, with the part's name, when the query is run.
public struct Query<Model: CKRecordModel>: Sendable {
  /// Makes the condition for a zone.
  typealias Condition = @Sendable (CKRecordZone.ID) throws -> PredicateNode

  private enum Order: Sendable {
    case field(String, ascending: Bool)
    case distance(String, from: CLLocation)
  }

  private var conditions: [Condition] = []
  private var orders: [Order] = []
  /// The mistake in the query, if there is one.
  private var problem: String?
  /// The maximum number of results; nil for all.
  package internal(set) var limit: Int?
  /// Whether the query and its results are logged.
  var isLogged = false

  /// Creates a query for all models of the type.
  public init() {}

  // MARK: - Conditions

  /// Adds a condition for a field.
  func filter<Value>(named name: String?, _ comparison: QueryComparison<Value>, isNegated: Bool) -> Self {
    adding(name) { query, name in
      query.conditions.append { zoneID in
        let condition = try comparison.condition(of: name, in: zoneID)
        return isNegated ? .not(condition) : condition
      }
    }
  }

  /// Adds a condition.
  func filter(by condition: @escaping Condition) -> Self {
    var query = self
    query.conditions.append(condition)
    return query
  }

  /// Adds any predicate that the server can evaluate.
  public func filter(_ predicate: NSPredicate) -> Self {
    let node = predicate.node
    return filter(by: { _ in node })
  }

  /// Adds the condition that a text field of the record contains all of these words. Only fields with a searchable
  /// index are searched.
  public func containingWords(of text: String) -> Self {
    filter(by: { _ in .comparison(PredicateComparison(.record, .contains, .value(.string(text)))) })
  }

  // MARK: - Order and limits

  /// Sorts by a field, after the orders given before.
  func sorted(byNamed name: String?, ascending: Bool) -> Self {
    adding(name) { $0.orders.append(.field($1, ascending: ascending)) }
  }

  /// Sorts by the distance of a place, nearest first, after the orders given before.
  func sorted(byDistanceOfNamed name: String?, from place: CLLocation) -> Self {
    adding(name) { $0.orders.append(.distance($1, from: place)) }
  }

  /// Returns at most this number of results, in pages as large as the server allows. Without a limit all are returned.
  public func limit(_ count: Int) -> Self {
    var query = self
    query.limit = max(0, count)
    return query
  }

  /// Logs the query with its values, and the record names of its results, to the container's logger.
  public func debug(_ isLogged: Bool = true) -> Self {
    var query = self
    query.isLogged = isLogged
    return query
  }

  private func adding(_ name: String?, _ add: (inout Query, String) -> Void) -> Self {
    var query = self
    if let name {
      add(&query, name)
    } else {
      query.problem = "A property of \(Model.self) in the query is no field that the server can search."
    }
    return query
  }

  // MARK: - Running

  /// Returns the query for `CKDatabase`.
  ///
  /// - Parameter zoneID: The zone of the models that the query compares references with, unless they know another.
  /// - Throws: `CKModelError` for a value that a record cannot store; `CKError.invalidArguments` for a property that
  ///   cannot be queried.
  public func query(in zoneID: CKRecordZone.ID = .default) throws -> CKQuery {
    if let problem { throw CKError(.invalidArguments, problem) }
    let nodes = try conditions.map { try $0(zoneID) }
    let query = CKQuery(recordType: Model.recordType, predicate: .all(of: nodes))
    let sorting = orders.map { order in
      switch order {
      case .field(let name, let ascending): NSSortDescriptor(key: name, ascending: ascending)
      case .distance(let name, let place): NSSortDescriptor.distance(of: name, from: place)
      }
    }
    query.sortDescriptors = sorting.isEmpty ? nil : sorting
    return query
  }
}

/// Conditions and orders by a case of the model's `Fields`.
extension Query where Model: CKFieldModel {
  /// Adds a condition for a field.
  public func filter<Value>(_ field: Model.Fields, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: field.rawValue, comparison, isNegated: false)
  }

  /// Adds the opposite of a condition for a field.
  public func excluding<Value>(_ field: Model.Fields, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: field.rawValue, comparison, isNegated: true)
  }

  /// Adds the condition that a field has a value.
  public func filter<Value: Encodable & Sendable>(_ field: Model.Fields, equals value: Value) -> Self {
    filter(field, .equals(value))
  }

  /// Adds the condition that a field has one of these values.
  public func filter<Value: Encodable & Sendable>(_ field: Model.Fields, in values: [Value]) -> Self {
    filter(field, .isAny(of: values))
  }

  /// Adds the condition that a list contains at least one of these elements.
  public func filter<Value: Encodable & Sendable>(_ field: Model.Fields, anyIn values: [Value]) -> Self {
    filter(field, .containsAny(of: values))
  }

  /// Sorts by a field, after the orders given before.
  public func sorted(by field: Model.Fields, ascending: Bool = true) -> Self {
    sorted(byNamed: field.rawValue, ascending: ascending)
  }

  /// Sorts by several fields, the first one first.
  public func sorted(by fields: [Model.Fields], ascending: Bool = true) -> Self {
    fields.reduce(self) { $0.sorted(by: $1, ascending: ascending) }
  }

  /// Sorts by the distance of a place, nearest first, after the orders given before.
  public func sorted(byDistanceOf field: Model.Fields, from place: CLLocation) -> Self {
    sorted(byDistanceOfNamed: field.rawValue, from: place)
  }
}

/// Conditions and orders by a property of the model.
extension Query where Model: CKFieldModel {
  /// Adds a condition for a property.
  public func filter<Value>(_ property: KeyPath<Model, Value>, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: Model.queryKey(for: property), comparison, isNegated: false)
  }

  /// Adds a condition for an optional property.
  public func filter<Value>(_ property: KeyPath<Model, Value?>, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: Model.queryKey(for: property), comparison, isNegated: false)
  }

  /// Adds the opposite of a condition for a property.
  public func excluding<Value>(_ property: KeyPath<Model, Value>, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: Model.queryKey(for: property), comparison, isNegated: true)
  }

  /// Adds the opposite of a condition for an optional property.
  public func excluding<Value>(_ property: KeyPath<Model, Value?>, _ comparison: QueryComparison<Value>) -> Self {
    filter(named: Model.queryKey(for: property), comparison, isNegated: true)
  }

  /// Adds the condition that a property has a value.
  public func filter<Value: Encodable & Sendable>(_ property: KeyPath<Model, Value>, equals value: Value) -> Self {
    filter(property, .equals(value))
  }

  /// Adds the condition that an optional property has a value.
  public func filter<Value: Encodable & Sendable>(_ property: KeyPath<Model, Value?>, equals value: Value) -> Self {
    filter(property, .equals(value))
  }

  /// Adds the condition that a property has one of these values.
  public func filter<Value: Encodable & Sendable>(_ property: KeyPath<Model, Value>, in values: [Value]) -> Self {
    filter(property, .isAny(of: values))
  }

  /// Adds the condition that a list contains at least one of these elements.
  public func filter<Element: Encodable & Sendable>(
    _ property: KeyPath<Model, [Element]>,
    anyIn elements: [Element]
  ) -> Self { filter(property, .containsAny(of: elements)) }

  /// Sorts by a property, after the orders given before.
  public func sorted<Value>(by property: KeyPath<Model, Value>, ascending: Bool = true) -> Self {
    sorted(byNamed: Model.queryKey(for: property), ascending: ascending)
  }

  /// Sorts by the distance of a place, nearest first, after the orders given before.
  public func sorted<Value>(byDistanceOf property: KeyPath<Model, Value>, from place: CLLocation) -> Self {
    sorted(byDistanceOfNamed: Model.queryKey(for: property), from: place)
  }
}
