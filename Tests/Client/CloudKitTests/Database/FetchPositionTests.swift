import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// Fetches that a server would keep going for ever.
@Suite(.serialized) struct FetchPositionTests {
  private static let walks: [([String], Int?)] = [
    (["a", "b", "c"], nil), (["start"], 0), (["a", "a"], 1), (["a", "b", "a"], 2), (["a", "start"], 1),
  ]

  @Test(arguments: walks)
  func `a fetch ends where it reaches a position again, also after others`(walk: [String], end: Int?) {
    let query = WireQuery(recordType: "Note")
    var (tokens, cursors) = (FetchPositions(from: CKServerChangeToken(wire: "start")), FetchPositions())
    let start = CKQueryOperation.Cursor(query: query, zoneID: nil, marker: "start")
    #expect(throws: Never.self) { try cursors.next(start) }

    let reached = walk.firstIndex { (try? tokens.next(CKServerChangeToken(wire: $0))) == nil }
    let found = walk.firstIndex {
      (try? cursors.next(CKQueryOperation.Cursor(query: query, zoneID: nil, marker: $0))) == nil
    }

    #expect(reached == end && found == end)
  }

  @Test func `a fetch ends at a position that is too large to be sent`() {
    let largest = String(repeating: "x", count: FetchPositions.byteLimit)
    var positions = FetchPositions()

    #expect(throws: Never.self) { try positions.next(CKServerChangeToken(wire: largest)) }
    #expect {
      try positions.next(CKServerChangeToken(wire: largest + "x"))
    } throws: {
      ($0 as? CKError)?.code == .internalError
    }
  }

  @Test func `a feed whose tokens take turns is not read for ever`() async throws {
    func page(_ token: String) -> ScriptedServer.Answer {
      .json(#"{"zones":[{"zoneID":{"zoneName":"notes"},"records":[],"syncToken":"\#(token)","moreComing":true}]}"#)
    }
    let zone = CKRecordZone.ID(zoneName: "notes")
    let server = ScriptedServer(page("a"), page("b"), page("a"), page("b"))
    let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone])
    let result = Mutex<CKError.Code?>(nil)
    operation.recordZoneFetchResultBlock = { _, end in
      guard case .failure(let error as CKError) = end else { return }
      result.withLock { $0 = error.code }
    }

    await withCheckedContinuation { continuation in
      operation.completionBlock = { continuation.resume() }
      server.userContainer().privateCloudDatabase.add(operation)
    }

    #expect(result.withLock(\.self) == .internalError)
    #expect(server.operations.count == 3)
  }
}
