import CloudKitEmulator
import Foundation
import Synchronization
import Testing

/// Clients that write at the same time, each on a connection and a thread of its own.
///
/// `CLIENTS=200 SECONDS=60 swift test --filter ParallelClients` is the long form, and prints what it did.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ParallelClientsTests {
  private struct Tally: Sendable {
    var batches: Set<String> = []
    var requests = 0
    var conflicts = 0
  }

  @Test func `parallel clients lose no record, double none, and never see half a batch`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let clients = environment["CLIENTS"].flatMap { Int($0) } ?? 20
    let seconds = environment["SECONDS"].flatMap { Double($0) } ?? 0.5
    let counters = max(1, clients / 4)
    let fixture = try Fixture.withZone()
    for number in 0..<counters { _ = try fixture.modify(Fixture.save("counter-\(number)", #""n":{"value":0}"#)) }
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let port = try await server.start()
    let end = ContinuousClock.now + .seconds(seconds)

    let tally = try await withThrowingTaskGroup(of: Tally.self) { group in
      for client in 0..<clients {
        let wire = try Wire(port: port)
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(returning: Self.work(wire, client, counter: client % counters, until: end))
            }
          }
        }
      }
      return try await group.reduce(into: Tally()) { total, tally in
        #expect(total.batches.isDisjoint(with: tally.batches))
        total.batches.formUnion(tally.batches)
        total.requests += tally.requests
        total.conflicts += tally.conflicts
      }
    }
    try await server.stop()

    let records = fixture.emulator.records(in: .private(of: "ana", "iCloud.test"), zone: "notes")
    let counted = records.compactMap { record -> Int64? in
      guard record.recordName.hasPrefix("counter-"), case .int64(let count)? = record.fields["n"] else { return nil }
      return count
    }
    let expected = tally.batches.flatMap { batch in (0..<3).map { "\(batch)-\($0)" } }
    #expect(Set(records.map(\.recordName).filter { !$0.hasPrefix("counter-") }) == Set(expected))
    #expect(records.count == expected.count + counters)
    // No update was lost: each batch that was acknowledged counted once.
    #expect(counted.reduce(0, +) == Int64(tally.batches.count))
    #expect(fixture.emulator.statistics.recordsSaved == tally.batches.count * 4 + counters)
    #expect(fixture.emulator.statistics.atomicFailures == tally.conflicts)
    #expect(tally.batches.count > 0)
    if environment["SECONDS"] != nil {
      print("\(clients) clients, \(seconds) s: \(tally.requests) requests, \(records.count) records,", terminator: " ")
      print("\(tally.conflicts) batches in conflict")
    }
  }

  /// Writes three new records and counts them in a shared one, in one batch, under the tag that was last seen.
  private static func work(_ wire: Wire, _ client: Int, counter: Int, until end: ContinuousClock.Instant) -> Tally {
    var tally = Tally()
    var number = 0
    // However slow the machine, each client gets to write.
    while number == 0 || ContinuousClock.now < end {
      let lookup = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"counter-\#(counter)"}]}"#
      guard let found = ask(wire, "records/lookup", lookup, &tally).first,
        let tag = found["recordChangeTag"] as? String, let count = found.value("n") as? Int
      else { break }
      let batch = "c\(client)-\(number)"
      let creates = (0..<3).map { Fixture.save("\(batch)-\($0)", #""n":{"value":\#($0)}"#, type: "create") }
      let update = Fixture.save(
        "counter-\(counter)",
        #""n":{"value":\#(count + 1)}"#,
        type: "update",
        more: #","recordChangeTag":"\#(tag)""#
      )
      let operations = (creates + [update]).joined(separator: ",")
      let body = #"{"zoneID":{"zoneName":"notes"},"atomic":true,"operations":[\#(operations)]}"#
      let results = ask(wire, "records/modify", body, &tally)
      guard results.count == 4 else { break }
      if results.contains(where: { $0["serverErrorCode"] != nil }) {
        tally.conflicts += 1
      } else {
        tally.batches.insert(batch)
        number += 1
      }
    }
    return tally
  }

  private static func ask(_ wire: Wire, _ operation: String, _ body: String, _ tally: inout Tally) -> [[String: Any]] {
    wire.post(operation, body)
    tally.requests += 1
    guard let answer = wire.receiveHere()?.body else { return [] }
    let object = (try? JSONSerialization.jsonObject(with: Data(answer.utf8))) as? [String: Any]
    return object?["records"] as? [[String: Any]] ?? []
  }
}
