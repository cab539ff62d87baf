import CloudKit

/// Creating and deleting zones.
extension Cycle {
  /// Creates zones for changes that wait for them.
  func makeZones(_ zones: [ZoneKey]) async throws {
    let results: [WireResult<WireZone>]
    do {
      results = try await request { (client, database) async throws(WebServicesError) in
        try await client.modifyZones(zones.map { WireZoneOperation(.create, $0.wire) }, in: database)
      }
    } catch {
      guard !Disposition(of: error, during: .creatingZone(isWhole: true)).stopsSync else { throw error }
      // The failure may concern only one zone: create each in a request of its own.
      guard zones.count == 1 || error.asksToWait else {
        for zone in zones { try await makeZones([zone]) }
        return
      }
      // During the server's wait request no zone; after it the first one alone.
      var later = error
      later.retryAfter = error.retryAfter.map { $0 * 2 }
      results = zones.enumerated().map { .failure($1.wire, $0 == 0 ? error : later) }
    }
    try store.zonesMade(zones, results, random: configuration.random(), lease)
  }

  /// Sends the creation or deletion of a zone.
  func sendZoneOperation(_ id: Int64) async throws {
    guard let operation = try store.begin([id], lease).first else { return }
    let kind: WireZoneOperation.Kind = operation.kind == .zoneSave ? .create : .delete
    let (answer, seconds) = await timed { (client, database) async throws(WebServicesError) in
      try await client.modifyZones([WireZoneOperation(kind, operation.key.zoneKey.wire)], in: database)
    }
    try concludeNothing(from: answer)
    let outcome = Interpreter.outcome(ofZoneOperation: operation, answer)
    try await finish([operation], in: operation.key.zoneKey, verifying: [id: outcome], seconds)
  }

  /// Verifies a zone delete whose reply was lost before it is repeated: it may have been carried out, and the zone may
  /// have been recreated.
  func verifyZone(_ id: Int64) async throws {
    guard let operation = try store.unconfirmed([id]).first else { return }
    let zone = operation.key.zoneKey
    let outcome = Interpreter.outcome(ofVerifyingZone: zone, try await refetch(zone))
    try finish([operation], [id: outcome], 0)
  }

  /// Returns whether a zone is missing, after a reply said so.
  ///
  /// One wrong reply must not put the records of a zone on hold, end its deletes, or end the zone's own delete, so the
  /// server is asked once more for a zone that was there or is to be deleted.
  func isMissing(_ zone: ZoneKey) async throws -> Bool {
    guard try store.read({ try $0.zone(zone)?.state == .ready || $0.hasZoneDelete(zone) }) else { return true }
    guard try await refetch(zone)?.isMissing ?? false else { return false }
    try await requireSameUser()
    return true
  }

  /// Asks the server for a zone. An error that does not concern everything is the result.
  private func refetch(_ zone: ZoneKey) async throws(WebServicesError) -> WireResult<WireZone>? {
    let results: [WireResult<WireZone>]
    do {
      results = try await request { (client, database) async throws(WebServicesError) in
        try await client.lookupZones([zone.wire], in: database)
      }
    } catch {
      guard !Disposition(of: error, during: .fetching).stopsSync else { throw error }
      results = [.failure(zone.wire, error)]
    }
    summary.requests += 1
    return results.matched(to: [zone.wire])[0]
  }
}

extension WireResult<WireZone> {
  /// Whether the server says that the zone does not exist.
  var isMissing: Bool {
    switch self {
    case .item: false
    case .deleted: true
    case .failure(_, let error): error.means(.zoneMissing, during: .verifying(isWhole: false))
    }
  }
}
