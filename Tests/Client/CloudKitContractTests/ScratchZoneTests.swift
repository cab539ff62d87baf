import CloudKit
import CloudKitContract
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

/// What a run leaves behind, and what it shows.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ScratchZoneTests {
  /// Does something else than to send for some of the requests.
  private struct Disturbed: CKTransport {
    let server: EmulatorTransport
    let number: Counter
    let disturb: @Sendable (Int, CKTransportResponse?) throws(CKTransportError) -> CKTransportResponse?

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      let number = number.next()
      if let response = try disturb(number, nil) { return response }
      let response = try await server.send(request)
      return try disturb(number, response) ?? response
    }

    var assetTransport: any CKAssetTransport { server.assetTransport }
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)
    func next() -> Int {
      count.withLock {
        $0 += 1
        return $0
      }
    }
  }

  private func contract(
    _ server: Server,
    _ disturb: @escaping @Sendable (Int, CKTransportResponse?) throws(CKTransportError) -> CKTransportResponse?
  ) -> Contract {
    let client = server.client.with(Server.webAuth) { _ in
      Disturbed(server: server.transport, number: Counter(), disturb: disturb)
    }
    return Contract(client, zoneName: Server.zoneName, sleep: { _ in })
  }

  private static let lost = CKTransportError(.unknown, "The connection closed before the response.")

  @Test func `nothing but the run's own zone and subscriptions is changed`() async throws {
    let server = try Server()
    let database = CKContainer(sharing: server.client).privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "notes")).zoneID
    let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
    try await database.save(note)
    let subscription = CKDatabaseSubscription(subscriptionID: "own")
    subscription.notificationInfo = CKSubscription.NotificationInfo()
    try await database.save(subscription)

    let report = try await server.report()

    #expect(report.differing.isEmpty)
    #expect(try await server.zones() == ["notes"])
    #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["own"])
    #expect(try await database.record(for: note.recordID).recordChangeTag == note.recordChangeTag)
    let rest = try await database.records(for: [CKRecord.ID(recordName: "n")])
    #expect(rest.values.allSatisfy { (try? $0.get()) == nil })
  }

  @Test func `a run sends no more requests than it may, and removes its zone with the last ones`() async throws {
    let server = try Server()

    let report = try await server.report(limit: 60)

    #expect(report.requests == 60)
    #expect(report.differing.isEmpty)
    #expect(report.untried.count > 20)
    #expect(try await server.zones() == [])
    #expect(Contract.requestLimit == 200)
  }

  @Test func `lost responses leave checks untried, and the zone is removed`() async throws {
    let server = try Server()

    let report = try await contract(server) { (number, response) throws(CKTransportError) in
      if (30..<60).contains(number), response == nil { throw Self.lost }
      return nil
    }
    .run()

    #expect(report.differing.isEmpty)
    #expect(report.untried.count > 20)
    #expect(report.leftZone == nil)
    #expect(try await server.zones() == [])
  }

  @Test func `a run whose task is cancelled removes its zone`() async throws {
    let server = try Server()

    let report = try await Task {
      try await contract(server) { (number, response) throws(CKTransportError) in
        if number == 30, response == nil { withUnsafeCurrentTask { $0?.cancel() } }
        return nil
      }
      .run()
    }
    .value

    #expect(report.leftZone == nil)
    #expect(try await server.zones() == [])
  }

  @Test func `the zones and subscriptions of a run that was killed are removed by the next`() async throws {
    let server = try Server()
    let killed = try await contract(server) { (number, response) throws(CKTransportError) in
      if number > 100, response == nil { throw Self.lost }
      return nil
    }
    .run()
    #expect(killed.leftZone == Server.zoneName)
    #expect(try await server.zones() == [Server.zoneName])

    let report = try await Contract(server.client, zoneName: ScratchZone.contract.rawValue + "4567cdef") { _ in }.run()

    #expect(report.differing.isEmpty)
    #expect(try await server.zones() == [])
    #expect(try await CKContainer(sharing: server.client).privateCloudDatabase.allSubscriptions() == [])
  }

  @Test(arguments: ScratchZone.allCases)
  func `a run deletes only zones that runs of its kind made`(_ kind: ScratchZone) {
    let others = ScratchZone.allCases.filter { $0 != kind }.map { $0.newName() }
    let names = [kind.rawValue, kind.rawValue + "notes", kind.rawValue + "0123ABCD", kind.newName() + "0", "notes"]

    #expect(kind.made(kind.newName()) && kind.made(kind.newName() + "-missing"))
    #expect(kind.made(kind.rawValue + "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
    #expect((names + others).filter(kind.made) == [])
  }

  @Test func `a refused credential and a missing server end the run before it starts`() async throws {
    let server = try Server {
      $0.strictAuth = true
      $0.users = ["bob"]
    }
    let refused = await #expect(throws: WebServicesError.self) { try await server.report() }
    #expect(refused?.httpStatus == 421 || refused?.httpStatus == 401)

    server.emulator.isOffline = true
    let missing = await #expect(throws: WebServicesError.self) { try await server.report() }
    #expect(missing?.code == .networkError)
  }

  @Test func `a report has no private values, whatever the server's reasons say`() async throws {
    let server = try Server()
    let user = try await server.client.caller().userRecordName
    let secrets = [
      Server.container, "an-api-token", "ana~1", user, "ana@example.org", "MIIB3vUd9kLq0x7yPz5w+/=A1b2",
    ]
    let reason = secrets.joined(separator: " ") + " https://example.org/a?ckWebAuthToken=ana%7E1&x=1"

    let report = try await contract(server) { (_, response) throws(CKTransportError) in
      guard var response else { return nil }
      let text = String(decoding: response.body, as: UTF8.self)
      // Every error becomes another one, with a reason that says too much.
      response.body = Data(
        text.replacing(/"serverErrorCode":"[A-Z_]+"/) { _ in #""serverErrorCode":"ACCESS_DENIED""# }
          .replacing(/"reason":"[^"]*"/) { _ in #""reason":"\#(reason)""# }.utf8
      )
      return response
    }
    .run()

    #expect(report.differing.count > 10)
    for line in report.lines {
      let text = "\(line.outcome)"
      for secret in secrets + ["ana%7E1"] { #expect(!text.contains(secret), "\(line.check.rule): \(text)") }
    }
    #expect(report.differing.contains { "\($0.outcome)".contains("ACCESS_DENIED") })
  }
}
