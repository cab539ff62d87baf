import CloudKit
import Foundation
import Pages

/// Saving records over HTTP on loopback, to an emulator that is new for each run, so that all runs do the same.
struct Upload {
  let count: Int

  /// Compares the client with one that sends the same bodies and reads the answers away.
  func compare() async throws {
    let bodies = await capturedBodies()
    print("\(count) records with 10 fields in \(bodies.count) requests over HTTP; \(rounds) rounds in turn")
    let names = [
      "bare client, one request at a time", "bare client, four at a time", "records saved 200 at a time",
      "records saved in one call",
    ]
    var times = names.map { _ in [Double]() }
    for round in -1..<rounds {
      let round = try await [
        bare(bodies, inFlight: 1), bare(bodies, inFlight: 4), saved(inCallsOf: 200), saved(inCallsOf: count),
      ].enumerated().map { (round, $0.offset, $0.element) }
      for (number, work, time) in round where number >= 0 { times[work].append(time) }
    }
    let best = times.map { $0.sorted()[rounds / 2] }
    printRow(names[0], best[0], of: best[0])
    printRow(names[1], best[1], of: best[0])
    printRow(names[2], best[2], of: best[0], limit: 2)
    printRow(names[3], best[3], of: best[0], limit: 1.2)
    printRow("  the same, to the bare client's four at a time", best[3], of: best[1])
  }

  private let rounds = 7

  /// The requests that the client makes of the records.
  private func capturedBodies() async -> [Data] {
    let taker = RequestTaker()
    let container = CKContainer(identifier: ServerProcess.database.container, credential: nil, transport: taker)
    for records in CKRecord.samples(count).chunks(of: 200) {
      await container.privateCloudDatabase.writeModify(records)
    }
    return taker.bodies.withLock { $0 }
  }

  private func saved(inCallsOf size: Int) async throws -> Double {
    try await ServerProcess.run(expecting: count) { url in
      let container = ServerProcess.container(at: url)
      let calls = CKRecord.samples(count).chunks(of: size)
      return try await microseconds {
        for records in calls {
          let answer = try await container.privateCloudDatabase.modifyRecords(
            saving: records,
            deleting: [],
            atomically: false
          )
          for result in answer.saveResults.values { _ = try result.get() }
        }
      }
    }
  }

  private func bare(_ bodies: [Data], inFlight limit: Int) async throws -> Double {
    try await ServerProcess.run(expecting: count) { url in
      let address = ServerProcess.address(of: "records/modify", at: url)
      return try await microseconds {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, body) in bodies.enumerated() {
            if index >= limit { try await group.next() }
            group.addTask { try await BareClient.post(body, to: address, atLeast: 1000) }
          }
          try await group.waitForAll()
        }
      }
    }
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
