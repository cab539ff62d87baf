public import Foundation

extension CKQueryOperation {
  /// The place in a query's results where the next page begins.
  public typealias Cursor = CKQueryCursor

  /// As many results as the server gives in one page.
  public static let maximumResults = 0
}

/// The place in a query's results where the next page begins. Belongs to the database that it came from.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
  let query: WireQuery
  let zoneID: CKRecordZoneID?
  let marker: String

  init(query: WireQuery, zoneID: CKRecordZoneID?, marker: String) {
    self.query = query
    self.zoneID = zoneID
    self.marker = marker
  }

  /// Reads an archived cursor; nil where something of it is missing, or Apple's framework wrote it.
  public init?(coder: NSCoder) {
    guard let data = coder.object(NSData.self, forKey: ArchiveKey.query),
      let query = try? WireQuery(json: Data(referencing: data)),
      let marker = coder.string(forKey: ArchiveKey.marker)
    else { return nil }
    self.query = query
    self.marker = marker
    zoneID = coder.object(CKRecordZoneID.self, forKey: ArchiveKey.zoneID)
  }

  /// Archives the query and the place. The server forgets places after a while.
  public func encode(with coder: NSCoder) {
    // What a query sends can always be written.
    guard let data = try? query.json() else { preconditionFailure("A cursor could not be archived.") }
    coder.encode(NSData(data: data), forKey: ArchiveKey.query)
    coder.encode(NSString(string: marker), forKey: ArchiveKey.marker)
    if let zoneID { coder.encode(zoneID, forKey: ArchiveKey.zoneID) }
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  /// The cursor itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  private enum ArchiveKey {
    static let query = "CursorQuery"
    static let marker = "CursorMarker"
    static let zoneID = "CursorZoneID"
  }
}
