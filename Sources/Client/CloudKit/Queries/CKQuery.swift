internal import CloudKitSchema
public import Foundation
import JSONText
internal import Synchronization

/// A query for records of one type that match a predicate, in an order.
///
/// The predicate is parsed when the query is created. If the server does not support it, running the query throws
/// `CKError.invalidArguments`.
///
/// `@unchecked Sendable`: predicates and descriptors are immutable, and a lock protects the list of descriptors.
open class CKQuery: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  /// The record type.
  open private(set) var recordType: CKRecord.RecordType
  /// The predicate.
  open private(set) var predicate: NSPredicate

  private struct Sorting: @unchecked Sendable {
    var descriptors: [NSSortDescriptor]?
  }

  private let node: PredicateNode
  private let sorting = Mutex(Sorting())

  /// Creates a query. `NSPredicate(value: true)` matches all records of the type.
  public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
    self.recordType = recordType
    self.predicate = predicate
    node = predicate.node
  }

  /// The order of the results, made with `NSSortDescriptor(key:ascending:)` or `CKLocationSortDescriptor`. Without one,
  /// the order is unspecified.
  open var sortDescriptors: [NSSortDescriptor]? {
    get { sorting.withLock { $0 }.descriptors }
    set {
      let value = Sorting(descriptors: newValue)
      sorting.withLock { $0 = value }
    }
  }

  /// Returns a copy of the query.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKQuery(recordType: recordType, predicate: predicate)
    copy.sortDescriptors = sortDescriptors
    return copy
  }

  /// Decodes an archived query; nil if it is damaged, or its predicate could not be archived.
  public required convenience init?(coder: NSCoder) {
    guard let recordType = coder.string(forKey: ArchiveKey.recordType),
      let predicate = coder.predicate(forKey: ArchiveKey.predicate)
    else { return nil }
    self.init(recordType: recordType, predicate: predicate)
    guard coder.containsValue(forKey: ArchiveKey.sortDescriptors) else { return }
    guard let sorting = coder.wire([SortPart].self, forKey: ArchiveKey.sortDescriptors) else { return nil }
    sortDescriptors = sorting.map(\.descriptor)
  }

  /// Archives the type, predicate and order. A predicate made from a block and a descriptor made with a key path cannot
  /// be archived.
  open func encode(with coder: NSCoder) {
    coder.encode(NSString(string: recordType), forKey: ArchiveKey.recordType)
    coder.encode(node, forKey: ArchiveKey.predicate)
    guard let parts = sortDescriptors?.compactMap(SortPart.init) else { return }
    coder.encode(wire: parts, forKey: ArchiveKey.sortDescriptors)
  }

  /// Whether the other query matches the same records in the same order.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKQuery, recordType == other.recordType else { return false }
    let isSamePredicate = predicate.isEqual(other.predicate) || (node.isReadable && node == other.node)
    let (descriptors, others) = (sortDescriptors ?? [], other.sortDescriptors ?? [])
    return isSamePredicate && descriptors.count == others.count
      && zip(descriptors, others).allSatisfy { one, other in
        one === other || SortPart(one).map { $0 == SortPart(other) } ?? false
      }
  }

  /// A hash value that is equal for equal queries.
  public override var hash: Int { recordType.hashValue }

  /// The type, predicate and order as text, without the compared values, which may be private.
  public override var description: String { text() }

  /// The type, predicate and order as text, with the compared values. Do not log it.
  public override var debugDescription: String { text(showingValues: true) }

  private func text(showingValues: Bool = false) -> String {
    let order = (sortDescriptors ?? []).map { descriptor in
      let key = descriptor.key ?? "a key path"
      if descriptor is CKLocationSortDescriptor { return "\(key) by distance" }
      return descriptor.ascending ? key : "\(key) descending"
    }
    let sorted = order.isEmpty ? "" : " sorted by \(order.joined(separator: ", "))"
    return "<CKQuery \(recordType) where \(node.text(showingValues: showingValues))\(sorted)>"
  }

  /// The reason that the predicate is unusable, without its values; nil if it can be evaluated on this machine.
  package var problem: String? { node.problem }

  /// The names of the fields that the conditions and the order use, without system fields.
  package var fields: Set<String> {
    node.fields.union((sortDescriptors ?? []).compactMap(\.key)).filter { CKSchema.systemNames[$0] == nil }
  }

  /// Returns the query in its wire encoding.
  ///
  /// - Throws: `CKError.invalidArguments` that names the part the server does not support.
  package func wire(zoneID: CKRecordZoneID) throws(CKError) -> WireQuery {
    var query = WireQuery(recordType: recordType, filterBy: try node.filters(zoneID: zoneID))
    for descriptor in sortDescriptors ?? [] { query.sortBy.append(try descriptor.wireSort()) }
    return query
  }

  private enum ArchiveKey {
    static let recordType = "RecordType"
    static let predicate = "Predicate"
    static let sortDescriptors = "SortDescriptors"
  }
}

/// The parts of a sort descriptor that can be compared and archived.
private struct SortPart: Hashable, WireObject {
  var key = ""
  var ascending = true
  var relativeLocation: WireLocation?

  init() {}

  /// Nil for a descriptor made with a key path.
  init?(_ descriptor: NSSortDescriptor) {
    guard let key = descriptor.key else { return nil }
    self.key = key
    ascending = descriptor.ascending
    relativeLocation = try? (descriptor as? CKLocationSortDescriptor)?.relativeLocation.wire(key: key)
  }

  mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("ascending", &ascending)
    try json("key", &key)
    try json("relativeLocation", &relativeLocation)
  }

  var descriptor: NSSortDescriptor {
    relativeLocation.map { CKLocationSortDescriptor(key: key, relativeLocation: CLLocation(wire: $0)) }
      ?? NSSortDescriptor(key: key, ascending: ascending)
  }
}

extension NSSortDescriptor {
  /// Returns the sort order in its wire encoding.
  ///
  /// - Throws: `CKError.invalidArguments` for a descriptor without a key, or with a key that is not a field name.
  package func wireSort() throws(CKError) -> WireSort {
    guard let key else { throw .invalidArguments("A sort descriptor for a query needs a key, not a key path.") }
    let name: WireFieldName
    do throws(PredicateFailure) {
      name = WireFieldName(framework: try PredicateArgument.fieldName(key))
    } catch {
      throw .invalidArguments("The sort descriptor cannot be used in a query: \(error.message).")
    }
    var sort = WireSort(name, ascending: ascending)
    sort.relativeLocation = try (self as? CKLocationSortDescriptor)?.relativeLocation.wire(key: key)
    return sort
  }
}
