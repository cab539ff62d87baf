package import JSONText

/// The typed calls of Web Services. Bodies and paths follow the protocol (reference 5).
extension WebServicesClient {
  /// Applies up to 200 operations to one zone. The reply has one element for each operation.
  ///
  /// - Parameter operations: `WireRecordOperation`s or operations that are already encoded.
  package func modify(
    _ operations: [some JSONWritable & Sendable],
    zone: WireZoneID,
    atomic: Bool,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireRecord>] {
    try await caching([zone], in: database, writes: true) { () async throws(WebServicesError) in
      try await list("records/modify", in: database) {
        $0.member("atomic", atomic)
        $0.member("operations", operations)
        $0.member("zoneID", zone)
      }
    } apply: {
      $0.wrote($1, of: operations.count, to: zone)
    }
  }

  /// Fetches up to 200 records of one zone by name. Missing ones are returned as `NOT_FOUND` elements.
  package func lookup(
    _ recordNames: [String],
    zone: WireZoneID,
    desiredKeys: [String]? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireRecord>] {
    try await caching([zone], in: database) { () async throws(WebServicesError) in
      try await list("records/lookup", in: database) {
        $0.member("desiredKeys", desiredKeys)
        $0.member("records", recordNames.map(WireRecordName.init(recordName:)))
        $0.member("zoneID", zone)
      }
    } apply: {
      $0.fetched($1, of: zone, desiredKeys: desiredKeys)
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
  ) async throws(WebServicesError) -> WireResults<WireRecord> {
    try await caching(zone.map { [$0] }, in: database) { () async throws(WebServicesError) in
      try await call("records/query", in: database) {
        $0.member("continuationMarker", marker)
        $0.member("desiredKeys", desiredKeys)
        $0.member("query", query)
        $0.member("resultsLimit", resultsLimit.map(Int64.init))
        $0.member("zoneID", zone)
        $0.member("zoneWide", zone == nil ? true : nil)
      }
    } apply: {
      $0.saw($1.elements, of: zone)
    }
  }

  /// The maximum number of pages of one list of zones.
  private static let mostZonePages = 1000

  /// Fetches all zones of a database. Sent as `POST {}`, so that it is clear what the signature covers (reference 1.5).
  ///
  /// - Throws: `unexpectedServerResponse` if the list does not end. A part of it must not pass for the whole: the
  ///   missing zones would count as deleted.
  package func listZones(in database: DatabaseName) async throws(WebServicesError) -> [WireResult<WireZone>] {
    var zones: [WireResult<WireZone>] = []
    var positions = FetchPositions()
    var token: String?
    for _ in 0..<Self.mostZonePages {
      let page: WireResults<WireZone> = try await call("zones/list", in: database) { $0.member("syncToken", token) }
      zones += page.elements
      guard page.moreComing else { return zones }
      token = try positions.next(page.syncToken)
    }
    throw WebServicesError(.unexpectedServerResponse, "the list of zones does not end", effect: .unknown)
  }

  /// Fetches zones by identifier. Missing ones are returned as `ZONE_NOT_FOUND` elements.
  package func lookupZones(
    _ zones: [WireZoneID],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireZone>] {
    try await list("zones/lookup", in: database) { $0.member("zones", zones) }
  }

  /// Creates and deletes zones in order, never atomically, in the private database only.
  package func modifyZones(
    _ operations: [WireZoneOperation],
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireZone>] {
    let zones = operations.map(\.zone.zoneID)
    return try await caching(zones, in: database, writes: true) { () async throws(WebServicesError) in
      try await list("zones/modify", in: database) { $0.member("operations", operations) }
    } apply: { request, _ in
      request.drop(zones)
    }
  }

  /// Fetches the zones changed since a database token, in the private and shared databases only.
  package func databaseChanges(
    since token: String?,
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> WireResults<WireZone> {
    try await caching(nil, in: database) { () async throws(WebServicesError) in
      try await call("changes/database", in: database, as: WireFeedPage.self) {
        $0.member("resultsLimit", resultsLimit.map(Int64.init))
        $0.member("syncToken", token)
      }.page
    } apply: {
      $0.drop($1.elements.compactMap(\.id))
    }
  }

  /// A zone to fetch changes of.
  package struct ZoneFeed: JSONWritable, Sendable {
    package var zone: WireZoneID
    /// The token of the previous page; nil starts from the beginning.
    package var token: String?
    package var desiredKeys: [String]?

    package init(_ zone: WireZoneID, since token: String?, desiredKeys: [String]? = nil) {
      (self.zone, self.token, self.desiredKeys) = (zone, token, desiredKeys)
    }

    package func write(to json: inout JSONWriter) {
      json.object {
        $0.member("desiredKeys", desiredKeys)
        $0.member("syncToken", token)
        $0.member("zoneID", zone)
      }
    }
  }

  /// Fetches one page of a zone's changes. Default zones have no change feed.
  package func zoneChanges(
    _ zone: WireZoneID,
    since token: String?,
    desiredKeys: [String]? = nil,
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> WireResult<WireZoneChanges> {
    let feed = ZoneFeed(zone, since: token, desiredKeys: desiredKeys)
    return try await zoneChanges([feed], resultsLimit: resultsLimit, in: database)[0]
  }

  /// Fetches one page of the changes of each zone in one request. Returns the pages in the order of the feeds.
  package func zoneChanges(
    _ feeds: [ZoneFeed],
    resultsLimit: Int? = nil,
    in database: DatabaseName
  ) async throws(WebServicesError) -> [WireResult<WireZoneChanges>] {
    try await caching(feeds.map(\.zone), in: database) { () async throws(WebServicesError) in
      let pages: [WireResult<WireZoneChanges>] = try await list("changes/zone", in: database) {
        $0.member("resultsLimit", resultsLimit.map(Int64.init))
        $0.member("zones", feeds)
      }
      return zip(feeds, pages.matched(to: feeds.map(\.zone))).map { feed, page in
        let missing = "the reply does not include the zone"
        return page ?? .failure(feed.zone, WebServicesError(.unexpectedServerResponse, missing, effect: .unknown))
      }
    } apply: { request, pages in
      for (feed, page) in zip(feeds, pages) { request.saw(page, of: feed.zone) }
    }
  }

  /// Fetches the current user. Requires a web auth token; always under the public database (reference 5.11).
  package func caller() async throws(WebServicesError) -> WireCaller {
    try await get("users/caller", in: .public)
  }
}
