package import CloudKit
import Foundation
import JSONText

/// Runs the checks against a server, in a zone of its own.
///
/// A run sends at most 200 requests. It creates one zone, which it removes, and removes the zones of earlier runs that
/// were killed, which it knows by their names. In development, its first record adds the record type `CktopContract` to
/// the schema.
package struct Contract: Sendable {
  package static let requestLimit = 200
  /// The requests that are kept for removing what the run created: the zone, and subscriptions of both databases.
  private static let removals = 3
  /// The number of queries that wait for the server's indexes, one second apart.
  private static let indexTries = 10

  private let client: WebServicesClient
  private let checks: [ContractCheck]
  private let meter: Meter
  private var scratch: ContractScratch
  private var redaction: ContractRedaction
  /// Whether the creation of the zone was sent.
  private var mayHaveZone = false

  /// Makes a run.
  ///
  /// - Parameters:
  ///   - client: The client whose server, container and credential are used. The run sends through its transport.
  ///   - zoneName: The name of the run's zone; one that `ScratchZone.contract` makes.
  ///   - sleep: Waits for the server's indexes.
  package init(
    _ client: WebServicesClient,
    zoneName: String = ScratchZone.contract.newName(),
    checks: [ContractCheck] = ContractCheck.all,
    limit: Int = requestLimit,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    let meter = Meter(limit: limit - Self.removals)
    self.meter = meter
    self.checks = checks
    self.client = client.with(client.credential) { MeteredTransport(transport: $0, meter: meter) }
    redaction = ContractRedaction(client.configuration)
    scratch = ContractScratch(client: self.client, meter: meter, zoneName: zoneName, sleep: sleep)
  }

  /// Runs the checks and removes the zone, also if the task is cancelled.
  ///
  /// - Throws: `WebServicesError` if the server cannot be reached or refuses the credential.
  package consuming func run() async throws -> ContractReport {
    do {
      try await prepareZone()
    } catch {
      _ = await removed()
      throw error
    }
    var lines: [ContractReport.Line] = []
    do {
      if scratch.noZone == nil { try await prepareRecords() }
    } catch {
      scratch.noRecords = redaction.redact(Self.text(of: error))
    }
    for check in checks { lines.append(ContractReport.Line(check: check, outcome: await outcome(of: check))) }
    let isRemoved = await removed()
    return ContractReport(lines: lines, requests: meter.sent, leftZone: isRemoved ? nil : scratch.zoneName)
  }

  // MARK: - Preparing

  /// Removes the zones of earlier runs and creates that of this one.
  private mutating func prepareZone() async throws {
    guard scratch.hasUser else {
      // The response shows whether the credential is accepted.
      _ = try await client.lookupZones([WireZoneID(zoneName: "_defaultZone")], in: .public)
      return
    }
    let zones = try await client.get("zones/list", in: .private, as: WireResults<WireZone>.self)
    let names = zones.elements.compactMap { if case .item(let zone) = $0 { zone.zoneID.zoneName } else { nil } }
    let left = names.filter(ScratchZone.contract.made)
    let reply: ContractReply
    do {
      if !left.isEmpty { _ = try await scratch.modifyZones("delete", left) }
      // The zone may be created although the response is lost.
      mayHaveZone = true
      reply = try await scratch.modifyZones("create", [scratch.zoneName])
    } catch let skip as ContractSkip {
      scratch.noZone = redaction.redact(skip.reason)
      return
    }
    guard reply.outcome == "ok" else {
      scratch.noZone = redaction.redact("the zone could not be created: \(reply.description)")
      return
    }
    scratch.noZone = nil
    redaction.add(reply.items.first?["zoneID"]?.object?["ownerRecordName"]?.string)
  }

  /// Saves the records that several checks share.
  private mutating func prepareRecords() async throws {
    typealias Scratch = ContractScratch
    let missing = try await scratch.query(type: Scratch.missingType)
    let known = try await scratch.query()
    scratch.missingTypeReply = missing
    scratch.typeExisted =
      known.code != missing.code
      || known.body["reason"]?.string
        != missing.body["reason"]?.string?.replacing(Scratch.missingType, with: Scratch.recordType)
    let names = ["kept", "updated", "replaced", "deleted"]
    let rank = #""rank":{"value":0,"type":"INT64"}"#
    let first = try await scratch.modify(operations: names.map { .save($0, rank) })
    scratch.firstWrite = first
    guard first.outcomes == names.map({ _ in "ok" }) else {
      let type = Scratch.recordType
      scratch.noRecords = redaction.redact("the record type \(type) cannot be written: \(first.description)")
      return
    }
    scratch.noRecords = nil
    for (name, fields) in Self.queriedRecords { _ = try await scratch.savedTag(name, fields) }
    for attempt in 0..<Self.indexTries {
      if attempt > 0 { try await scratch.sleep(.seconds(1)) }
      let found = try await scratch.query(filters: [.filter("rank", "GREATER_THAN", "0", "INT64")])
      guard found.status == 200 else {
        scratch.noQueries = redaction.redact("the records cannot be queried: \(found.description)")
        return
      }
      guard found.names.count < Self.queriedRecords.count else {
        scratch.noQueries = nil
        return
      }
    }
  }

  /// The records that queries find, by `rank` above 0. Their names are not in the order of their creation.
  private static let queriedRecords = [
    ("q-b", #""rank":{"value":1,"type":"INT64"},"text":{"value":"Milk","type":"STRING"},\#(place(0, 0))"#),
    ("q-a", #""rank":{"value":2,"type":"INT64"},"text":{"value":"milk","type":"STRING"},\#(place(59.9, 10.7))"#),
    ("q-c", #""rank":{"value":3,"type":"INT64"}"#),
  ]

  private static func place(_ latitude: Double, _ longitude: Double) -> String {
    #""place":{"value":{"latitude":\#(latitude),"longitude":\#(longitude)},"type":"LOCATION"}"#
  }

  // MARK: - Checking

  private func outcome(of check: ContractCheck) async -> ContractOutcome {
    if let reason = scratch.obstacle(to: check.need) { return .notTried(reason) }
    if meter.isUsedUp { return .notTried("the run has sent all the requests that it may send") }
    do {
      let outcome = try await check.test(scratch)
      guard case .otherwise(let text) = outcome else { return outcome }
      return .otherwise(redaction.redact(text))
    } catch let error as CKError where Self.isAnswer(error) {
      return .otherwise(redaction.redact(Self.text(of: error)))
    } catch {
      return .notTried(redaction.redact(Self.text(of: error)))
    }
  }

  /// Whether an error is the server's response to a request, and not the lack of one.
  private static func isAnswer(_ error: CKError) -> Bool {
    switch error.code {
    case .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable, .requestRateLimited, .zoneBusy,
      .operationCancelled, .notAuthenticated:
      false
    default: true
    }
  }

  private static func text(of error: any Error) -> String {
    switch error {
    case let skip as ContractSkip: skip.reason
    case let error as WebServicesError: "no response: \(error.reason)"
    case let error as CKError: "the client reported CKError \(error.code.rawValue): \(error.localizedDescription)"
    default: "\(error)"
    }
  }

  // MARK: - Removing

  /// Removes the zone and the subscriptions, and returns whether the zone is gone.
  private func removed() async -> Bool {
    guard scratch.hasUser else { return true }
    meter.extend(by: Self.removals)
    let (scratch, mayHaveZone) = (scratch, mayHaveZone)
    // A cancelled task could not send.
    return await Task {
      for database in [DatabaseName.private, .shared] { _ = try? await scratch.unsubscribe(in: database) }
      guard mayHaveZone else { return true }
      let outcome = (try? await scratch.modifyZones("delete", [scratch.zoneName]))?.outcome
      return outcome == "deleted" || outcome == "ZONE_NOT_FOUND"
    }.value
  }
}
