import CloudKitSchema
import Foundation
import JSONText

/// The order of a query's results: by its sort descriptors, then by record name, then by zone. [E] (Question 16)
struct QueryOrder {
  struct Descriptor {
    var key: QueryField
    var isAscending: Bool
    /// The location for sorting a LOCATION field by distance. [D]
    var center: EmulatorLocation?
  }

  /// A position in the order, which is the whole content of a continuation marker. It stays valid after writes, because
  /// it does not count records. [E]
  struct Position: Hashable {
    var keys: [SortKey]
    var name: String
    var zone: String
  }

  let descriptors: [Descriptor]

  /// Whether record names ascend. They follow the first descriptor, so that an index can be walked backwards.
  var isAscending: Bool { descriptors.first?.isAscending ?? true }

  /// The index that has the query's order; `nil` if the order has several keys or a distance.
  var indexKey: QueryField? {
    guard let first = descriptors.first else { return QueryField.system(.recordName) }
    return descriptors.count == 1 && first.center == nil ? first.key : nil
  }

  /// Decodes `sortBy`.
  ///
  /// - Throws: `BAD_REQUEST` for a field that is unknown, has no order, or has no index.
  init(_ elements: [JSON], type: CKSchema.RecordType, assumptions: EmulatorAssumptions) throws(ServerError) {
    var descriptors: [Descriptor] = []
    for element in elements {
      guard let object = element.object else { throw .badRequest("Unexpected input in 'sortBy'") }
      let key = try QueryField(object)
      var center: EmulatorLocation?
      if let location = object["relativeLocation"] {
        guard case .location(let place) = try FieldDecoding.operand(location, needsListTag: false) else {
          throw .badRequest("Invalid 'relativeLocation'")
        }
        center = place
      }
      if case .field(let name) = key {
        guard let field = type.fields[name]?.type, !field.isList, field.scalar != .asset,
          (field.scalar == .location) == (center != nil)
        else {
          throw .badRequest("Field '\(name)' is not marked sortable")
        }
        // Encrypted fields cannot have an index, but the service was observed to accept sorting by them. [L3]
        if !field.isEncrypted { try key.require(center == nil ? .sortable : [.queryable, .sortable], of: type) }
      } else {
        try key.require(.sortable, of: type)
      }
      descriptors.append(Descriptor(key: key, isAscending: try object.flag("ascending") ?? true, center: center))
    }
    if descriptors.isEmpty, assumptions.unsortedOrder == .creation {
      descriptors.append(Descriptor(key: QueryField.system(.createdTimestamp), isAscending: true))
    }
    self.descriptors = descriptors
  }

  func position(of record: StoredRecord, in zone: String) -> Position {
    let keys = descriptors.map { descriptor in
      guard let center = descriptor.center else { return record.sortKey(descriptor.key) }
      guard case .location(let place)? = record.value(descriptor.key) else { return .null }
      return .double(place.distance(to: center))
    }
    return Position(keys: keys, name: record.name, zone: zone)
  }

  func precedes(_ left: Position, _ right: Position) -> Bool {
    for (index, descriptor) in descriptors.enumerated() where index < min(left.keys.count, right.keys.count) {
      guard left.keys[index] != right.keys[index] else { continue }
      return (left.keys[index] < right.keys[index]) == descriptor.isAscending
    }
    guard left.name == right.name else { return (left.name < right.name) == isAscending }
    return left.zone != right.zone && (left.zone < right.zone) == isAscending
  }
}

/// A position encoded as a continuation marker, bound to its query.
struct ContinuationMarker {
  /// A hash of the query. A marker is valid only for its own query. [E]
  var query: UInt64
  /// The position; `nil` for the start.
  var position: QueryOrder.Position?

  var text: String {
    var object: JSONObject = ["q": .string(String(query, radix: 36))]
    if let position {
      object.append("k", .array(position.keys.map(Self.json)))
      object.append("n", .string(position.name))
      object.append("z", .string(position.zone))
    }
    return JSON.object(object).data.base64EncodedString()
  }
}

extension ContinuationMarker {
  /// Decodes a marker.
  ///
  /// - Throws: `BAD_REQUEST` if it is damaged or belongs to another query.
  init(_ text: String, query: UInt64) throws(ServerError) {
    guard let data = Data(base64Encoded: text), let object = (try? JSON(json: data))?.object,
      object["q"]?.string == String(query, radix: 36)
    else { throw .badRequest("Invalid continuation format") }
    self.init(query: query)
    guard let name = object["n"]?.string, let zone = object["z"]?.string, let keys = object["k"]?.array else { return }
    position = QueryOrder.Position(keys: keys.map(Self.sortKey), name: name, zone: zone)
  }

  private static func json(_ key: SortKey) -> JSON {
    switch key {
    case .null: .null
    case .int(let number): .object(["i": .int(number)])
    case .double(let number): .object(["d": .double(number)])
    case .string(let text): .object(["s": .string(text)])
    }
  }

  private static func sortKey(_ json: JSON) -> SortKey {
    guard let object = json.object else { return .null }
    if let number = object["i"]?.integer { return .int(number) }
    if let number = object["d"]?.number { return .double(number) }
    return object["s"]?.string.map { .string($0) } ?? .null
  }
}
