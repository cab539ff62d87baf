public import Foundation

extension CKQueryOperation {
  /// The place in a query's results where the next page begins.
  public typealias Cursor = CKQueryCursor

  /// As many results as the server gives in one page.
  public static let maximumResults = 0
}

/// The place in a query's results where the next page begins. Belongs to the database that it came from.
public final class CKQueryCursor: NSObject, NSCopying, Sendable {
  let query: WireQuery
  let zoneID: CKRecordZoneID?
  let marker: String

  init(query: WireQuery, zoneID: CKRecordZoneID?, marker: String) {
    self.query = query
    self.zoneID = zoneID
    self.marker = marker
  }

  /// The cursor itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
}
