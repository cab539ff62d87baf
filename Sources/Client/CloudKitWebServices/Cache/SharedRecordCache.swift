internal import Synchronization

/// A cache that all containers made from one configuration share.
package final class SharedRecordCache: Sendable {
  private let cache: Mutex<RecordCache>
  private let now: @Sendable () -> ContinuousClock.Instant

  package init(
    _ settings: CKRecordCacheSettings,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    cache = Mutex(RecordCache(settings))
    self.now = now
  }

  /// The number of records in it, and their approximate bytes.
  package var size: (count: Int, bytes: Int) { cache.withLock { ($0.count, $0.bytes) } }

  func mark() -> RecordCache.Mark { cache.withLock { $0.mark(at: now()) } }

  func withLock<Result: Sendable>(_ body: (inout RecordCache, _ now: ContinuousClock.Instant) -> Result) -> Result {
    cache.withLock { body(&$0, now()) }
  }
}

/// Every reply passes here, also those to a sync engine, so that all that the server says of records reaches the cache.
/// Only `CKDatabase` reads from the cache.
extension WebServicesClient {
  /// One request to a database, as the cache sees it.
  struct CachedRequest {
    fileprivate let cache: SharedRecordCache
    fileprivate let container: String
    fileprivate let database: DatabaseName
    fileprivate let reader: RecordCache.Reader
    fileprivate let mark: RecordCache.Mark
  }

  /// Sends a request and applies its reply, or its failure, to the cache.
  ///
  /// - Parameters:
  ///   - zones: The zones that a failure concerns; nil for the whole database.
  ///   - writes: Whether the request may have taken effect if its reply is lost.
  func caching<Answer: Sendable>(
    _ zones: [WireZoneID]?,
    in database: DatabaseName,
    writes: Bool = false,
    _ send: () async throws(WebServicesError) -> Answer,
    apply: (CachedRequest, Answer) -> Void
  ) async throws(WebServicesError) -> Answer {
    guard let cache = configuration.cache else { return try await send() }
    let request = CachedRequest(
      cache: cache,
      container: containerPath,
      database: database,
      reader: reader,
      mark: cache.mark()
    )
    do throws(WebServicesError) {
      let answer = try await send()
      // The reply may be for another user.
      if reader == request.reader { apply(request, answer) } else { request.drop(zones) }
      return answer
    } catch {
      if error.outdatesRecords(ofWrite: writes) { request.drop(zones) }
      throw error
    }
  }

  /// Returns those of the named records that the cache has.
  package func cachedRecords(
    named names: [String],
    zone: WireZoneID,
    desiredKeys: [String]?,
    in database: DatabaseName
  ) -> [String: WireRecord] {
    guard let cache = configuration.cache else { return [:] }
    let (zone, reader) = (RecordCache.Zone(zone, in: database, of: containerPath), reader)
    return cache.withLock { $0.records(named: names, in: zone, desiredKeys: desiredKeys, for: reader, at: $1) }
  }

  /// Removes records from the cache: one, those of a zone or a database, or all of the container.
  package func forget(_ database: DatabaseName? = nil, zone: WireZoneID? = nil, recordName: String? = nil) {
    guard let cache = configuration.cache else { return }
    let part: RecordCache.Part =
      switch (database, zone, recordName) {
      case (let database?, let zone?, let name?):
        .record(RecordCache.Key(zone: RecordCache.Zone(zone, in: database, of: containerPath), recordName: name))
      case (let database?, let zone?, nil): .zone(RecordCache.Zone(zone, in: database, of: containerPath))
      case (let database?, nil, _): .database(database, of: containerPath)
      case (nil, _, _): .container(containerPath)
      }
    cache.withLock { cache, _ in cache.drop(part) }
  }
}

extension WebServicesClient.CachedRequest {
  private func cacheZone(_ zone: WireZoneID) -> RecordCache.Zone { RecordCache.Zone(zone, in: database, of: container) }

  /// Applies the reply to a lookup.
  func fetched(_ results: [WireResult<WireRecord>], of zone: WireZoneID, desiredKeys: [String]?) {
    let zone = cacheZone(zone)
    cache.withLock { cache, _ in
      for result in results {
        switch result {
        case .item(let record): cache.fill(record, keys: desiredKeys, in: zone, for: reader, since: mark)
        case .deleted(let name, _), .failure(let name?, _):
          cache.drop(.record(RecordCache.Key(zone: zone, recordName: name)))
        case .failure(nil, _): break
        }
      }
    }
  }

  /// Applies the reply to a request that saves and deletes records.
  func wrote(_ results: [WireResult<WireRecord>], of count: Int, to zone: WireZoneID) {
    let mayChangeOthers = results.count < count || results.contains { $0.mayChangeOthers }
    if mayChangeOthers { drop([zone]) }
    fetched(results, of: zone, desiredKeys: nil)
  }

  /// Applies a page of a query or a change feed.
  ///
  /// - Parameter zone: The zone; nil for that of each record.
  func saw(_ results: [WireResult<WireRecord>], of zone: WireZoneID?) {
    cache.withLock { cache, _ in
      for result in results {
        switch result {
        case .item(let record): cache.see(record, in: cacheZone(zone ?? record.zoneID ?? .defaultZone))
        case .deleted(let name, _), .failure(let name?, _):
          cache.drop(.record(RecordCache.Key(zone: cacheZone(zone ?? .defaultZone), recordName: name)))
        case .failure(nil, _): break
        }
      }
    }
  }

  /// Applies a page of a zone's change feed.
  func saw(_ page: WireResult<WireZoneChanges>, of zone: WireZoneID) {
    switch page {
    case .item(let page): saw(page.records, of: zone)
    case .failure(_, let error): if error.outdatesRecords(ofWrite: false) { drop([zone]) }
    case .deleted: drop([zone])
    }
  }

  /// Removes the records of zones, or of the database if nil.
  func drop(_ zones: [WireZoneID]?) {
    cache.withLock { cache, _ in
      guard let zones else { return cache.drop(.database(database, of: container)) }
      for zone in zones { cache.drop(.zone(cacheZone(zone))) }
    }
  }
}

extension WireResult<WireRecord> {
  /// Whether the write may have changed records that the reply does not include: a deletion deletes records that refer
  /// to the deleted one, and a share changes its root.
  fileprivate var mayChangeOthers: Bool {
    switch self {
    case .item(let record): record.recordType == nil || record.recordType == WireRecord.shareType
    case .deleted: true
    case .failure(let name, _): name == nil
    }
  }
}

extension WebServicesError {
  /// Whether cached records may be outdated after this failure of a request: they may have changed or be gone, or the
  /// user may no longer read them.
  fileprivate func outdatesRecords(ofWrite isWrite: Bool) -> Bool {
    guard effect != .notSent else { return false }
    switch code {
    case .zoneNotFound, .accessDenied, .authenticationFailed, .authenticationRequired: return true
    case .conflict, .exists, .atomicError: return true
    default: return refusesChangeToken || (isWrite && leavesWriteInDoubt)
    }
  }
}
