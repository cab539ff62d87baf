package import CloudKit

/// A query of the local copy: its condition, its order and its zone, as values.
package struct StoredQuery: Sendable {
  struct Order: Sendable {
    var operand: PredicateComparison.Operand
    var isAscending: Bool
  }

  /// The record type; nil for all types.
  package var type: String?
  /// The zone to search; nil for all zones.
  package var zone: ZoneKey?
  /// The maximum number of records; nil for all.
  package var limit: Int?
  /// Whether the server's versions are searched, without queued changes.
  package var isMirrorOnly = false
  let condition: PredicateNode
  private(set) var orders: [Order]

  /// - Throws: `CKError.invalidArguments` for a predicate that cannot be evaluated, such as one made from a block, and
  ///   for an order without a key.
  package init(_ query: CKQuery, in zone: ZoneKey? = nil, limit: Int? = nil) throws(CKError) {
    if let problem = query.problem {
      throw CKError(.invalidArguments, "The predicate cannot be used in a query: \(problem).")
    }
    var orders: [Order] = []
    for descriptor in query.sortDescriptors ?? [] {
      let sort = try descriptor.wireSort()
      guard let field = sort.name.framework else { continue }
      let operand = sort.relativeLocation.map { PredicateComparison.Operand.distance(field: field, from: $0) }
      orders.append(Order(operand: operand ?? .field(field), isAscending: sort.ascending))
    }
    self.init(type: query.recordType, condition: query.predicate.node, orders: orders, in: zone, limit: limit)
  }

  /// A query for all records of a type by name.
  package init(type: String?, in zone: ZoneKey?, limit: Int? = nil) {
    self.init(type: type, condition: .constant(true), orders: [], in: zone, limit: limit)
  }

  private init(type: String?, condition: PredicateNode, orders: [Order], in zone: ZoneKey?, limit: Int?) {
    (self.type, self.zone, self.limit, self.orders) = (type, zone, limit, orders)
    self.condition = condition.simplified
  }

  /// The query in the order of record names.
  package var unsorted: StoredQuery {
    var query = self
    query.orders = []
    return query
  }

  /// Throws for what the server refuses and what would find or sort nothing here: conditions on encrypted fields, and
  /// an order by values that have none.
  ///
  /// - Parameter types: the wire types of the fields, as far as they are known.
  func check(_ types: [String: String]) throws(CKError) {
    for name in condition.fields.sorted() where types[name].map(WireTypeTag.isEncrypted) == true {
      throw CKError(.invalidArguments, "The field '\(name)' is encrypted, so no query can have a condition on it.")
    }
    for order in orders {
      let (name, sortable): (String, Set<String>)
      switch order.operand {
      case .field(let field): (name, sortable) = (field, ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE"])
      case .distance(let field, _): (name, sortable) = (field, ["LOCATION"])
      case .record, .value, .null, .now: continue
      }
      guard let type = types[name], !sortable.contains(type) else { continue }
      throw CKError(.invalidArguments, "The records cannot be sorted by '\(name)', whose type is \(type).")
    }
  }

  /// The custom fields that the condition and the order use.
  var fields: Set<String> {
    let sorted = orders.compactMap { order in
      switch order.operand {
      case .field(let name), .distance(let name, _): name
      case .record, .value, .null, .now: nil as String?
      }
    }
    return condition.fields.union(sorted).filter {
      if case .field = WireFieldName(framework: $0) { true } else { false }
    }
  }
}

// MARK: - Order

/// The position of a record in the results of a query: by its orders, then by record name, then by zone, the last two
/// in the direction of the first order. The server's order is assumed to be the same.
struct QueryPosition: Hashable, Sendable {
  /// The values of the orders; nil for a record without one, which comes before all values.
  var keys: [FieldValue?]
  var key: RecordKey
}

/// The place from which the next page of a query goes on. It stays valid while records change, because it counts none.
public struct StoredQueryCursor: Hashable, Sendable {
  let position: QueryPosition
}

extension StoredQuery {
  func position(of values: RecordValues, _ key: RecordKey) -> QueryPosition {
    QueryPosition(keys: orders.map { $0.operand.value(in: values)?.sortable }, key: key)
  }

  func precedes(_ left: QueryPosition, _ right: QueryPosition) -> Bool {
    for (order, (one, other)) in zip(orders, zip(left.keys, right.keys)) {
      let difference = Self.difference(one, other)
      if difference != 0 { return (difference < 0) == order.isAscending }
    }
    let isAscending = orders.first?.isAscending ?? true
    let (one, other) = isAscending ? (left.key, right.key) : (right.key, left.key)
    guard one.name.utf8.elementsEqual(other.name.utf8) else {
      return one.name.utf8.lexicographicallyPrecedes(other.name.utf8)
    }
    return one.zoneKey.path.utf8.lexicographicallyPrecedes(other.zoneKey.path.utf8)
  }

  private static func difference(_ one: FieldValue?, _ other: FieldValue?) -> Int {
    switch (one, other) {
    case (nil, nil): 0
    case (nil, _): -1
    case (_, nil): 1
    case (let one?, let other?): one.order(other) ?? (one.text == nil ? 0 : 1) - (other.text == nil ? 0 : 1)
    }
  }

  /// Returns records in the order of the query.
  package func sorted<Record>(_ records: [Record], _ record: (Record) -> CKRecord) -> [Record] {
    records.map { element in
      let record = record(element)
      return (element: element, position: position(of: RecordValues(record), RecordKey(record.recordID)))
    }
    .sorted { precedes($0.position, $1.position) }
    .map(\.element)
  }
}

extension ZoneKey {
  /// The zone's name behind its owner's, as the server orders zones.
  fileprivate var path: String { owner.isEmpty ? zone : "\(owner)/\(zone)" }
}

extension FieldValue {
  /// The value to sort by; nil for one without an order. A reference is sorted by its record name.
  fileprivate var sortable: FieldValue? {
    switch self {
    case .string, .int64, .timestamp: self
    case .double(let number): number.isNaN ? nil : self
    case .reference(let reference): .string(reference.recordName)
    case .bytes, .location, .asset, .list, .encrypted, .other: nil
    }
  }
}
