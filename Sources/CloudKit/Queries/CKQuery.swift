public import Foundation
internal import Synchronization

/// What to look for: records of one type for which a predicate holds, in an order.
///
/// The predicate is read when the query is made; what the server cannot do is told when the query is run, as
/// `CKError.invalidArguments`.
///
/// `@unchecked Sendable`: predicates and descriptors never change, and the list of descriptors lies behind a lock.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// The record type.
  public let recordType: CKRecord.RecordType
  /// The predicate as it was given.
  public let predicate: NSPredicate

  private struct Sorting: @unchecked Sendable {
    var descriptors: [NSSortDescriptor]?
  }

  private let node: PredicateNode
  private let sorting = Mutex(Sorting())

  /// Makes a query. `NSPredicate(value: true)` finds all records of the type.
  public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
    self.recordType = recordType
    self.predicate = predicate
    node = predicate.node
  }

  /// The order of the results, made with `NSSortDescriptor(key:ascending:)` or `CKLocationSortDescriptor`. Without one the
  /// server's order is open.
  public var sortDescriptors: [NSSortDescriptor]? {
    get { sorting.withLock { $0 }.descriptors }
    set {
      let value = Sorting(descriptors: newValue)
      sorting.withLock { $0 = value }
    }
  }

  /// A query of its own with the same parts.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKQuery(recordType: recordType, predicate: predicate)
    copy.sortDescriptors = sortDescriptors
    return copy
  }

  /// Reads an archived query; nil where it is damaged, or its predicate could not be archived.
  public convenience init?(coder: NSCoder) {
    guard let recordType = coder.string(forKey: ArchiveKey.recordType),
      let predicate = coder.predicate(forKey: ArchiveKey.predicate)
    else { return nil }
    self.init(recordType: recordType, predicate: predicate)
    guard let data = coder.object(NSData.self, forKey: ArchiveKey.sortDescriptors) else { return }
    guard let sorting = try? JSONDecoder().decode([SortPart].self, from: Data(referencing: data)) else { return nil }
    sortDescriptors = sorting.map(\.descriptor)
  }

  /// Archives type, predicate and order. A predicate made of a block, or a descriptor made with a key path, cannot be
  /// archived.
  public func encode(with coder: NSCoder) {
    coder.encode(NSString(string: recordType), forKey: ArchiveKey.recordType)
    coder.encode(node, forKey: ArchiveKey.predicate)
    guard let parts = sortDescriptors?.compactMap(SortPart.init), let data = try? JSONEncoder().encode(parts) else {
      return
    }
    coder.encode(NSData(data: data), forKey: ArchiveKey.sortDescriptors)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  /// Whether the other object looks for the same records in the same order.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKQuery, recordType == other.recordType else { return false }
    let isSamePredicate = predicate.isEqual(other.predicate) || (node.isReadable && node == other.node)
    let (descriptors, others) = (sortDescriptors ?? [], other.sortDescriptors ?? [])
    return isSamePredicate && descriptors.count == others.count
      && zip(descriptors, others).allSatisfy { one, other in
        one === other || SortPart(one).map { $0 == SortPart(other) } ?? false
      }
  }

  /// Equal for equal queries.
  public override var hash: Int { recordType.hashValue }

  /// Type, predicate and order in words, without the values that are looked for: they may be private.
  public override var description: String { text(.hidden) }

  /// Type, predicate and order in words, with the values that are looked for. Not for logs.
  public override var debugDescription: String { text(.shown) }

  private func text(_ values: PredicateText.Values) -> String {
    let order = (sortDescriptors ?? []).map { descriptor in
      let key = descriptor.key ?? "a key path"
      if descriptor is CKLocationSortDescriptor { return "\(key) by distance" }
      return descriptor.ascending ? key : "\(key) descending"
    }
    let sorted = order.isEmpty ? "" : " sorted by \(order.joined(separator: ", "))"
    return "<CKQuery \(recordType) where \(PredicateText(node, values: values).text)\(sorted)>"
  }

  /// Why the predicate says nothing, in words without its values; nil where it can be evaluated here.
  package var problem: String? { node.problem }

  /// The query as the wire spells it.
  ///
  /// - Throws: `CKError.invalidArguments` naming the part that the server cannot do.
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

/// What can be compared and archived of a sort descriptor.
private struct SortPart: Hashable, Codable {
  var key: String
  var ascending: Bool
  var relativeLocation: WireLocation?

  /// Nil for a descriptor that was made with a key path.
  init?(_ descriptor: NSSortDescriptor) {
    guard let key = descriptor.key else { return nil }
    self.key = key
    ascending = descriptor.ascending
    relativeLocation = try? (descriptor as? CKLocationSortDescriptor)?.relativeLocation.wire(key: key)
  }

  var descriptor: NSSortDescriptor {
    relativeLocation.map { CKLocationSortDescriptor(key: key, relativeLocation: CLLocation(wire: $0)) }
      ?? NSSortDescriptor(key: key, ascending: ascending)
  }
}
