import Foundation
import Synchronization
import Testing

@testable import CloudKit

@Suite(.serialized) struct ModifyWaveTests {
  /// Answers nobody before a number of requests is under way, then everybody.
  private final class Gate: CKTransport {
    private struct State {
      var arrived = 0
      var underWay = 0
      var mostUnderWay = 0
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let opensAt: Set<Int>

    init(opensAt: Set<Int>) { self.opensAt = opensAt }

    var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      await withCheckedContinuation { continuation in
        let open = state.withLock { state -> [CheckedContinuation<Void, Never>] in
          state.arrived += 1
          state.underWay += 1
          state.mostUnderWay = max(state.mostUnderWay, state.underWay)
          state.waiting.append(continuation)
          guard opensAt.contains(state.arrived) else { return [] }
          defer { state.waiting = [] }
          return state.waiting
        }
        for continuation in open { continuation.resume() }
      }
      state.withLock { $0.underWay -= 1 }
      return CKTransportResponse(status: 200, body: Data(#"{"records":[]}"#.utf8))
    }
  }

  private func notes(_ count: Int, _ prefix: String) -> [CKRecord] {
    (0..<count).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\(prefix)\($0)")) }
  }

  private func waves(_ records: [CKRecord], deleting ids: [CKRecord.ID] = []) async throws -> [Int] {
    var plan = try await ModifyPlan(saving: records, deleting: ids, savePolicy: .allKeys, atomically: false)
    return plan.takeWaves().map(\.count)
  }

  @Test func `four requests of a call are under way at a time`() async throws {
    let gate = Gate(opensAt: [4, 5])
    let container = CKContainer(identifier: "iCloud.test", credential: .apiToken("token"), transport: gate)

    _ = try await container.publicCloudDatabase.modifyRecords(saving: notes(1000, "n"), deleting: [])

    #expect(gate.mostUnderWay == 4)
  }

  @Test(
    arguments: [
      ([[], [], []], [0, 1, 2]),
      ([[2], [], []], [1, 2, 0]),
      ([[1], [2], []], [2, 1, 0]),
      ([[0], [], [0, 1]], [0, 1, 2]),
      ([[1], [0], [], [1]], [2, 0, 1, 3]),
      ([[2], [2], [0], []], [3, 0, 2, 1]),
    ] as [([Set<Int>], [Int])]
  )
  func `an item comes after those that it needs, and the first of a cycle first`(needs: [Set<Int>], order: [Int]) {
    #expect(dependencyOrder(needs) == order)
  }

  @Test func `a request waits for those that save what it refers to`() async throws {
    let (parents, children) = (notes(400, "p"), notes(200, "c"))
    #expect(try await waves(parents + children) == [3])

    // The server accepts plain references in any order.
    children[7]["list"] = [CKRecord.Reference(record: parents[3], action: .none)]
    #expect(try await waves(parents + children) == [3])
    children[7].setParent(parents[399])
    #expect(try await waves(parents + children) == [2, 1])
    // Where the parent comes later in the call, the child is moved behind it, here into the same request.
    #expect(try await waves(children + parents) == [3])
    parents[399].setParent(parents[0])
    #expect(try await waves(children + parents) == [2, 1])
  }

  @Test func `requests that wait for each other are sent all the same`() async throws {
    let (left, right) = (notes(200, "l"), notes(200, "r"))
    left[0].setParent(right[0])
    right[1].setParent(left[1])
    #expect(try await waves(left + right) == [1, 1])
    // Equal names in two zones are two records.
    let zones = ["a", "b"].map { CKRecordZone.ID(zoneName: $0) }
    let trees = zones.flatMap { zone in
      let root = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "root", zoneID: zone))
      let child = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "child", zoneID: zone))
      child.setParent(root)
      return [child, root]
    }
    #expect(try await waves(trees) == [2])
  }

  @Test func `deletions wait for all saves, and go together`() async throws {
    #expect(try await waves(notes(400, "n"), deleting: notes(300, "d").map(\.recordID)) == [2, 2])
    #expect(try await waves(notes(3, "n"), deleting: notes(3, "d").map(\.recordID)) == [1])
    // 50 requests, four at a time: 13 round trips.
    #expect(try await waves([], deleting: notes(10_000, "d").map(\.recordID)) == [50])
  }

  @Test func `once the network is gone nothing more is sent, and what was answered stands`() async throws {
    let answer = try #require(
      String(data: JSONEncoder().encode(["records": [[String: String]]()]), encoding: .utf8)
    )
    let server = ScriptedServer(
      .json(answer),
      .failure(.notSent),
      .failure(.notSent),
      .failure(.notSent),
      .failure(.notSent)
    )
    let results = try await server.container().publicCloudDatabase
      .modifyRecords(saving: notes(2000, "n"), deleting: []).saveResults

    #expect(results.count == 2000)
    #expect(server.operations.count <= 5)
  }
}
