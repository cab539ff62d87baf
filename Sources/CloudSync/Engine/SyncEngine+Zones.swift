import CloudKit

/// Creating and deleting zones.
extension SyncEngine {
  /// Creates zones for changes that wait for them.
  func makeZones(_ zones: [ZoneKey], _ lease: Lease) async throws {
    let client = client
    let database = database
    let results: [WireZoneResult]
    do {
      results = try await request(lease) { () async throws(WebServicesError) in
        try await client.modifyZones(zones.map { WireZoneOperation(.create, $0.wire) }, in: database)
      }
    } catch {
      guard !error.concernsEverything else { throw error }
      // The failure may concern only one zone: create each in a request of its own.
      guard zones.count == 1 || error.asksToWait else {
        for zone in zones { try await makeZones([zone], lease) }
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
  func sendZoneOperation(_ id: Int64, _ lease: Lease, _ summary: inout SyncSummary) async throws {
    guard let operation = try store.begin([id], lease).first else { return }
    let client = client
    let database = database
    let kind: WireZoneOperation.Kind = operation.kind == .zoneSave ? .create : .delete
    let (answer, seconds) = await timed(lease) { () async throws(WebServicesError) in
      try await client.modifyZones([WireZoneOperation(kind, operation.key.zoneKey.wire)], in: database)
    }
    try concludeNothing(from: answer, lease)
    let outcome = Interpreter.outcome(ofZoneOperation: operation, answer)
    try finish([operation], [id: outcome], seconds, lease, &summary)
  }

  /// Verifies a zone delete whose reply was lost before it is repeated: it may have been carried out, and the zone may
  /// have been recreated.
  func lookUpZone(_ id: Int64, _ lease: Lease, _ summary: inout SyncSummary) async throws {
    guard let zone = try store.keys([id]).first?.zoneKey else { return }
    let client = client
    let database = database
    let results: [WireZoneResult]
    do {
      results = try await request(lease) { () async throws(WebServicesError) in
        try await client.lookupZones([zone.wire], in: database)
      }
    } catch {
      guard !error.concernsEverything else { throw error }
      results = [.failure(zone.wire, error)]
    }
    summary.requests += 1
    let settled = try store.finishZoneLookUp(
      id,
      Interpreter.byZone([zone], results)[zone],
      policy: merging,
      random: configuration.random(),
      lease
    )
    summary.add(settled)
  }
}
