public import Foundation
import JSONText

extension CKQueryOperation {
  /// The position in a query's results where the next page starts.
  public typealias Cursor = CKQueryCursor

  /// The default limit: as many results as the server returns in one page.
  public static let maximumResults = 0
}

/// The position in a query's results where the next page starts. A cursor can only be used with the database that
/// returned it.
public final class CKQueryCursor: NSObject, CKArchivable, NSCopying, Sendable {
  let query: WireQuery
  let zoneID: CKRecordZoneID?
  package let marker: String

  init(query: WireQuery, zoneID: CKRecordZoneID?, marker: String) {
    self.query = query
    self.zoneID = zoneID
    self.marker = marker
  }

  /// Decodes an archived cursor; nil if a part is missing, or the archive was written by Apple's framework.
  public init?(coder: NSCoder) {
    guard let data = coder.object(NSData.self, forKey: ArchiveKey.query),
      let query = try? WireQuery(json: Data(referencing: data)),
      let marker = coder.string(forKey: ArchiveKey.marker)
    else { return nil }
    self.query = query
    self.marker = marker
    zoneID = coder.object(CKRecordZoneID.self, forKey: ArchiveKey.zoneID)
  }

  /// Archives the query and the position. The server discards positions after a while.
  public func encode(with coder: NSCoder) {
    // Every query that can be sent can also be encoded.
    guard let data = try? query.json() else { preconditionFailure("The cursor could not be archived.") }
    coder.encode(NSData(data: data), forKey: ArchiveKey.query)
    coder.encode(NSString(string: marker), forKey: ArchiveKey.marker)
    if let zoneID { coder.encode(zoneID, forKey: ArchiveKey.zoneID) }
  }

  /// Returns the cursor itself, because it is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  private enum ArchiveKey {
    static let query = "CursorQuery"
    static let marker = "CursorMarker"
    static let zoneID = "CursorZoneID"
  }
}
