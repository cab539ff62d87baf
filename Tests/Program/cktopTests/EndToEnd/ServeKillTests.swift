import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import TestSupport
import Testing

/// Kills `cktop serve` while clients write, again and again on the same file. `KILLS` sets how often; it is small by default.
@Suite(.serialized) struct ServeKillTests {
  /// The batches whose answers have arrived.
  private final class Answered: Sendable {
    let batches = Mutex<Set<String>>([])
  }

  private static let database = EmulatorDatabase.private(of: "ana", "iCloud.org.example.kill")

  @Test(.timeLimit(.minutes(40)))
  func `a server killed while it is written to keeps every answered batch, and no half of any`() async throws {
    let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 3
    let folder = try TemporaryFolder()
    let file = folder.path("cloud.sqlite")
    var answered: Set<String> = []

    for kill in 1...kills {
      let cloud = try await Cloud("--data", file)
      let url = try #require(URL(string: cloud.url))
      let transport = CKHTTPTransport(baseURL: url)
      _ = try await Self.post(
        transport,
        "zones/modify",
        #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#
      )
      let seen = Answered()
      await withTaskGroup { group in
        for client in 0..<8 {
          group.addTask { await Self.write(transport, "k\(kill)c\(client)", seen) }
        }
        // Answers and writes are under way in every moment; which one it is changes from kill to kill.
        while seen.batches.withLock({ $0.count }) < 20 + kill * 7 % 40 { try? await Task.sleep(for: .milliseconds(1)) }
        await cloud.kill()
      }
      answered.formUnion(seen.batches.withLock { $0 })

      let survivor = try Emulator(path: file)
      let names = Set(survivor.records(in: Self.database, zone: "notes").map(\.recordName))
      let batches = Dictionary(grouping: names) { $0.prefix { $0 != "-" } }
      #expect(batches.values.allSatisfy { $0.count == 3 })
      #expect(answered.isSubset(of: batches.keys.map(String.init)))
    }
  }

  /// Writes batches of three until the server is gone.
  private static func write(_ transport: CKHTTPTransport, _ client: String, _ seen: Answered) async {
    for number in 0... {
      let batch = "\(client)n\(number)"
      let operations = (0..<3).map { part in
        #"{"operationType":"create","record":{"recordType":"Note","recordName":"\#(batch)-\#(part)","fields":{}}}"#
      }
      let body =
        #"{"zoneID":{"zoneName":"notes"},"atomic":true,"operations":[\#(operations.joined(separator: ","))]}"#
      guard let answer = try? await post(transport, "records/modify", body), !answer.contains("serverErrorCode") else {
        return
      }
      seen.batches.withLock { _ = $0.insert(batch) }
    }
  }

  private static func post(_ transport: CKHTTPTransport, _ operation: String, _ body: String) async throws -> String {
    var request = CKTransportRequest(
      method: "POST",
      path: "/database/1/iCloud.org.example.kill/development/private/\(operation)",
      query: "ckAPIToken=any&ckWebAuthToken=ana"
    )
    request.body = Data(body.utf8)
    return String(decoding: try await transport.send(request).body, as: UTF8.self)
  }
}
