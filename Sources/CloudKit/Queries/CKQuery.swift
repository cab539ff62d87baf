public import Foundation
internal import Synchronization

/// What to look for: records of one type for which a predicate holds, in an order.
///
/// The predicate is read when the query is made; what the server cannot do is told when the query is run, as
/// `CKError.invalidArguments`.
///
/// `@unchecked Sendable`: predicates and descriptors never change, and the list of descriptors lies behind a lock.
public final class CKQuery: NSObject, NSCopying, @unchecked Sendable {
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

  /// The order of the results, made with `NSSortDescriptor(key:ascending:)`. Without one the server's order is open.
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

  /// The query as the wire spells it.
  func wire(zoneID: CKRecordZoneID) throws(CKError) -> WireQuery {
    var query = WireQuery(recordType: recordType, filterBy: try node.filters(zoneID: zoneID))
    for descriptor in sortDescriptors ?? [] { query.sortBy.append(try descriptor.wireSort()) }
    return query
  }
}
