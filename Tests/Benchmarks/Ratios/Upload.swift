import AsyncHTTPClient
import CloudKit
import CloudKitEmulator
import Foundation
import NIOCore
import Pages
import Synchronization

/// Saving records over HTTP on loopback, to an emulator that is new for each run, so that all runs do the same.
struct Upload {
  let count: Int
  private static let database = EmulatorDatabase.private(of: "ana", "iCloud.benchmark")

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
    let taker = Taker()
    let container = CKContainer(identifier: Self.database.container, credential: nil, transport: taker)
    for records in CKRecord.samples(count).chunks(of: 200) {
      await container.privateCloudDatabase.writeModify(records)
    }
    return taker.bodies.withLock { $0 }
  }

  private func saved(inCallsOf size: Int) async throws -> Double {
    try await withServer { url in
      let container = CKContainer(
        identifier: Self.database.container,
        credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
        transport: CKHTTPTransport(baseURL: url)
      )
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
    try await withServer { url in
      let path = "/database/1/\(Self.database.container)/development/private/records/modify"
      let address = "\(url.absoluteString)\(path)?ckAPIToken=any&ckWebAuthToken=ana"
      return try await microseconds {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, body) in bodies.enumerated() {
            if index >= limit { try await group.next() }
            group.addTask { try await post(body, to: address) }
          }
          try await group.waitForAll()
        }
      }
    }
  }

  private func post(_ body: Data, to address: String) async throws {
    var request = HTTPClientRequest(url: address)
    request.method = .POST
    request.body = .bytes(ByteBuffer(bytes: body))
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
    let answer = try await response.body.collect(upTo: 16 << 20)
    guard response.status == .ok, answer.readableBytes > 1000 else { throw NotAnswered() }
  }

  /// In a process of its own, as servers are.
  private func withServer(_ body: (URL) async throws -> Double) async throws -> Double {
    let (server, output, input) = (Process(), Pipe(), Pipe())
    server.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    server.arguments = ["serve"]
    (server.standardOutput, server.standardInput) = (output, input)
    try server.run()
    var port = Data()
    while port.last != UInt8(ascii: "\n") { port += try output.fileHandleForReading.read(upToCount: 1) ?? Data() }
    let text = String(decoding: port.dropLast(), as: UTF8.self)
    guard let url = URL(string: "http://127.0.0.1:\(text)") else { throw NotAnswered() }
    let time = try await body(url)
    try input.fileHandleForWriting.close()
    let saved = try output.fileHandleForReading.readToEnd() ?? Data()
    guard String(decoding: saved, as: UTF8.self) == "\(count)\n" else { throw NotAnswered() }
    return time
  }

  /// Is the server until the input ends, and says then how many records it has.
  static func serve() async throws {
    let emulator = try Emulator()
    try emulator.createZone("notes", in: database, at: Date())
    let server = EmulatorServer(emulator)
    print(try await server.start())
    fflush(nil)
    while readLine() != nil {}
    print(emulator.recordCount())
  }

  private func microseconds(_ work: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await work()
    return (ContinuousClock.now - start) / .microseconds(1)
  }
}

/// Something is wrong with the measurement.
private struct NotAnswered: Error {}

/// Takes requests and sends none.
private final class Taker: CKTransport {
  let bodies = Mutex<[Data]>([])

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    bodies.withLock { $0.append(request.body) }
    throw CKTransportError(.notSent, "taken")
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
