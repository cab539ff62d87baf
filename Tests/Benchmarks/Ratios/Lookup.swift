import CloudKit
import Foundation
import Pages

/// Looking up one record again and again over a kept connection.
struct Lookup {
  let count: Int

  /// Compares the client with one that sends the same bodies and reads the answers away. Both take turns, one lookup
  /// each.
  func compare() async throws {
    let record = CKRecord.samples()[0]
    let body = try await body(of: record.recordID)
    var (bare, client) = ([Double](), [Double]())
    _ = try await ServerProcess.run(expecting: 1) { url in
      let database = ServerProcess.container(at: url).privateCloudDatabase
      try await database.save(record)
      let address = ServerProcess.address(of: "records/lookup", at: url)
      // The first ones only warm up.
      for round in -200..<count {
        let times = [
          try await microseconds { try await BareClient.post(body, to: address, atLeast: 500) },
          try await microseconds { _ = try await database.record(for: record.recordID) },
        ]
        guard round >= 0 else { continue }
        bare.append(times[0])
        client.append(times[1])
      }
      return 0
    }
    let (bareTime, clientTime) = (bare.sorted()[count / 2], client.sorted()[count / 2])
    print("\(count) lookups of a record with 10 fields over HTTP, one after the other")
    printRow("bare client", bareTime, of: bareTime)
    printRow("record(for:)", clientTime, of: bareTime)
  }

  /// The request that the client makes.
  private func body(of recordID: CKRecord.ID) async throws -> Data {
    let taker = RequestTaker()
    let container = CKContainer(identifier: ServerProcess.database.container, credential: nil, transport: taker)
    _ = try? await container.privateCloudDatabase.record(for: recordID)
    guard let body = taker.bodies.withLock({ $0.first }) else { throw NotAnswered() }
    return body
  }
}
