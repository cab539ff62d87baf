/// The typed calls of Web Services. Bodies and paths follow section 5 of the protocol reference.
extension WebServicesClient {
  private struct ModifyBody<Operation: JSONWritable & Sendable>: JSONWritable, Sendable {
    var operations: [Operation]
    var zoneID: WireZoneID
    var atomic: Bool

    func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("atomic", atomic)
      json.member("operations", operations)
      json.member("zoneID", zoneID)
      json.endObject()
    }
  }

  /// Applies up to 200 operations to one zone. The reply has one element for each operation.
  ///
  /// - Parameter operations: `WireRecordOperation`s or operations that are already encoded.
  package func modify(
    _ operations: [some JSONWritable & Sendable],
    zone: WireZoneID,
    atomic: Bool,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireRecordResult] {
    let body = ModifyBody(operations: operations, zoneID: zone, atomic: atomic)
    return try await call("records/modify", in: database, body, as: WireRecords.self).records
  }

  private struct LookupBody: JSONWritable, Sendable {
    var records: [WireRecordName]
    var zoneID: WireZoneID
    var desiredKeys: [String]?

    func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("desiredKeys", desiredKeys)
      json.member("records", records)
      json.member("zoneID", zoneID)
      json.endObject()
    }
  }

  /// Fetches up to 200 records of one zone by name. Missing ones are returned as `NOT_FOUND` elements.
  package func lookup(
    _ recordNames: [String],
    zone: WireZoneID,
    desiredKeys: [String]? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireRecordResult] {
    let body = LookupBody(
      records: recordNames.map(WireRecordName.init(recordName:)),
      zoneID: zone,
      desiredKeys: desiredKeys
    )
    return try await call("records/lookup", in: database, body, as: WireRecords.self).records
  }

  private struct QueryBody: JSONWritable, Sendable {
    var query: WireQuery
    var zoneID: WireZoneID?
    var zoneWide: Bool?
    var resultsLimit: Int?
    var continuationMarker: String?
    var desiredKeys: [String]?

    func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("continuationMarker", continuationMarker)
      json.member("desiredKeys", desiredKeys)
      json.member("query", query)
      json.member("resultsLimit", resultsLimit.map(Int64.init))
      json.member("zoneID", zoneID)
      json.member("zoneWide", zoneWide)
      json.endObject()
    }
  }

  /// Fetches one page of a query in a zone, or in all zones of the database if the zone is nil.
  package func query(
    _ query: WireQuery,
    zone: WireZoneID?,
    desiredKeys: [String]? = nil,
    resultsLimit: Int? = nil,
    continuing marker: String? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> WireRecords {
    let body = QueryBody(
      query: query,
      zoneID: zone,
      zoneWide: zone == nil ? true : nil,
      resultsLimit: resultsLimit,
      continuationMarker: marker,
      desiredKeys: desiredKeys
    )
    return try await call("records/query", in: database, body)
  }

  private struct ZoneListBody: Encodable, Sendable {
    var syncToken: String?
  }

  private struct Zones: Decodable, Sendable {
    var zones: [WireZoneResult]
    var syncToken: String?
    var moreComing: Bool?
  }

  /// The maximum number of pages of one list of zones.
  private static let mostZonePages = 1000

  /// Fetches all zones of a database. Sent as `POST {}`, so that it is clear what the signature covers (reference 1.5).
  ///
  /// - Throws: `unexpectedServerResponse` if the list does not end. A part of it must not pass for the whole: the missing
  ///   zones would count as deleted.
  package func listZones(in database: DatabaseName) async throws(WebServicesError) -> [WireZoneResult] {
    var zones: [WireZoneResult] = []
    var tokens: [String] = []
    while tokens.count < Self.mostZonePages {
      let page = try await call("zones/list", in: database, ZoneListBody(syncToken: tokens.last), as: Zones.self)
      zones += page.zones
      guard page.moreComing == true else { return zones }
      guard let next = page.syncToken, !tokens.contains(next) else { break }
      tokens.append(next)
    }
    throw WebServicesError(.unexpectedServerResponse, "the list of zones does not end", effect: .unknown)
  }

  private struct ZoneLookupBody: Encodable, Sendable {
    var zones: [WireZoneID]
  }

  /// Fetches zones by identifier. Missing ones are returned as `ZONE_NOT_FOUND` elements.
  package func lookupZones(
    _ zones: [WireZoneID],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireZoneResult] {
    try await call("zones/lookup", in: database, ZoneLookupBody(zones: zones), as: Zones.self).zones
  }

  private struct ZoneModifyBody: Encodable, Sendable {
    var operations: [WireZoneOperation]
  }

  /// Creates and deletes zones in order, never atomically, in the private database only.
  package func modifyZones(
    _ operations: [WireZoneOperation],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireZoneResult] {
    try await call("zones/modify", in: database, ZoneModifyBody(operations: operations), as: Zones.self).zones
  }

  private struct DatabaseChangesBody: Encodable, Sendable {
    var syncToken: String?
    var resultsLimit: Int?
  }

  /// Fetches the zones changed since a database token, in the private and shared databases only.
  package func databaseChanges(
    since token: String?,
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> WireDatabaseChanges {
    try await call(
      "changes/database",
      in: database,
      DatabaseChangesBody(syncToken: token, resultsLimit: resultsLimit)
    )
  }

  /// A zone to fetch changes of.
  package struct ZoneFeed: Sendable {
    package var zone: WireZoneID
    /// The token of the previous page; nil starts from the beginning.
    package var token: String?
    package var desiredKeys: [String]?

    package init(_ zone: WireZoneID, since token: String?, desiredKeys: [String]? = nil) {
      (self.zone, self.token, self.desiredKeys) = (zone, token, desiredKeys)
    }
  }

  private struct ZoneChangesBody: JSONWritable, Sendable {
    var feeds: [ZoneFeed]
    var resultsLimit: Int?

    func write(to json: inout JSONWriter) {
      json.beginObject()
      json.member("resultsLimit", resultsLimit.map(Int64.init))
      json.key("zones")
      json.beginArray()
      for feed in feeds {
        json.beginObject()
        json.member("desiredKeys", feed.desiredKeys)
        json.member("syncToken", feed.token)
        json.member("zoneID", feed.zone)
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
  }

  /// Fetches one page of a zone's changes. Default zones have no change feed.
  package func zoneChanges(
    _ zone: WireZoneID,
    since token: String?,
    desiredKeys: [String]? = nil,
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> WireZoneChangesResult {
    let feed = ZoneFeed(zone, since: token, desiredKeys: desiredKeys)
    return try await zoneChanges([feed], resultsLimit: resultsLimit, in: database)[0]
  }

  /// Fetches one page of the changes of each zone in one request. Returns the pages in the order of the feeds.
  package func zoneChanges(
    _ feeds: [ZoneFeed],
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireZoneChangesResult] {
    let body = ZoneChangesBody(feeds: feeds, resultsLimit: resultsLimit)
    let answer = try await call("changes/zone", in: database, body, as: WireZonesChanges.self)
    var pages = answer.zones
    let matches = feeds.map { feed in pages.firstIndex { $0.isPage(of: feed.zone) }.map { pages.remove(at: $0) } }
    return zip(feeds, matches).map { feed, match in
      if let match { return match }
      // A reply may call a zone by another owner name, or an error may name none.
      let rest = pages.firstIndex { feeds.count == 1 || $0.zoneID.map { $0.zoneName == feed.zone.zoneName } ?? true }
      if let rest { return pages.remove(at: rest) }
      let error = WebServicesError(.unexpectedServerResponse, "the reply does not include the zone", effect: .unknown)
      return .failure(feed.zone, error)
    }
  }

  /// Fetches the current user. Requires a web auth token; always under the public database (reference 5.11).
  package func caller() async throws(WebServicesError) -> WireCaller {
    try await get("users/caller", in: .public)
  }
}
