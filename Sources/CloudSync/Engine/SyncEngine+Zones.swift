import CloudKit

/// Making and deleting zones.
extension SyncEngine {
  /// Makes zones that changes wait for.
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
      // What hinders a zone from being made hinders nothing else; and alone, it is known which of them it is.
      guard zones.count == 1 || error.asksToWait else {
        for zone in zones { try await makeZones([zone], lease) }
        return
      }
      // Inside the server's wait none is asked for; when it is over, the first one alone.
      var later = error
      later.retryAfter = error.retryAfter.map { $0 * 2 }
      results = zones.enumerated().map { .failure($1.wire, $0 == 0 ? error : later) }
    }
    try store.zonesMade(zones, results, random: configuration.random(), lease)
  }

  /// Sends the creation or the deletion of a zone that was asked for.
  func sendZoneOperation(_ id: Int64, _ lease: Lease, _ summary: inout PassSummary) async throws {
    guard let operation = try store.begin([id], lease).first else { return }
    let client = client
    let database = database
    let kind: WireZoneOperation.Kind = operation.kind == .zoneSave ? .create : .delete
    let (answer, seconds) = await timed(lease) { () async throws(WebServicesError) in
      try await client.modifyZones([WireZoneOperation(kind, operation.key.zoneKey.wire)], in: database)
    }
    try concludeNothing(from: answer, lease)
    let outcome = Interpreter.outcome(ofZoneOperation: operation, answer)
    try settle([operation], [id: outcome], seconds, lease, &summary)
  }

  /// A deletion that was sent and not answered may have been carried out, and somebody may have made the zone anew since:
  /// it is never repeated unseen.
  func lookUpZone(_ id: Int64, _ lease: Lease, _ summary: inout PassSummary) async throws {
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
