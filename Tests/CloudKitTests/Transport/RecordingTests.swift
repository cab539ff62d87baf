import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct RecordingTests {
  private static let note = #"{"records":[{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{}}]}"#

  /// Runs a body with the path of a file that is gone afterwards.
  private func withFile(_ body: (URL) async throws -> Void) async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    try await body(file)
  }

  private func container(_ transport: any CKTransport) -> CKContainer {
    CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "api-secret", webAuthToken: "web-secret"),
      transport: transport
    )
  }

  @Test func `a recording plays the same answers and failures in their order`() async throws {
    try await withFile { file in
      let script = ScriptedServer(.json(Self.note), .failure(.notSent), .json("<html>no\u{0}</html>", status: 502))
      let id = CKRecord.ID(recordName: "n")
      func outcomes(_ container: CKContainer) async -> [CKError.Code?] {
        var codes: [CKError.Code?] = []
        for _ in 0..<4 { codes.append(await errorCode { try await container.publicCloudDatabase.record(for: id) }) }
        return codes
      }

      let recorded = await outcomes(container(try CKRecordingTransport(script, to: file)))
      let player = try CKReplayingTransport(contentsOf: file)
      let played = await outcomes(container(player))

      #expect(recorded == [nil, .networkUnavailable, .serviceUnavailable, .networkUnavailable])
      #expect(played == recorded)
      #expect(player.remaining == 0)
    }
  }

  @Test func `different requests may come in another order`() async throws {
    let exchanges = try await recorded { database in
      _ = try? await database.record(for: CKRecord.ID(recordName: "n"))
      _ = try? await database.record(for: CKRecord.ID(recordName: "m"))
    }
    let database = container(CKReplayingTransport(exchanges)).publicCloudDatabase

    let second = await errorCode { try await database.record(for: CKRecord.ID(recordName: "m")) }
    let first = await errorCode { try await database.record(for: CKRecord.ID(recordName: "n")) }

    #expect(second == .serviceUnavailable)
    #expect(first == nil)
  }

  private func recorded(_ body: (CKDatabase) async -> Void) async throws -> [CKExchange] {
    var exchanges: [CKExchange] = []
    try await withFile { file in
      let script = ScriptedServer(.json(Self.note), .json("", status: 503))
      await body(container(try CKRecordingTransport(script, to: file)).publicCloudDatabase)
      exchanges = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        .map { try JSONDecoder().decode(CKExchange.self, from: $0) }
    }
    return exchanges
  }

  @Test func `a recording has no secrets and is readable by its owner alone`() async throws {
    try await withFile { file in
      let transport = HeaderServer(headers: [
        CKHTTPHeader("X-Apple-CloudKit-Web-Auth-Token", "new-secret"), CKHTTPHeader("Set-Cookie", "cookie-secret"),
        CKHTTPHeader("Date", "today"),
      ])
      _ = try? await container(try CKRecordingTransport(transport, to: file)).privateCloudDatabase.allRecordZones()

      let text = try String(contentsOf: file, encoding: .utf8)
      #expect(!text.contains("secret"))
      #expect(text.contains("today"))
      let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `a damaged line is told when the recording is opened`() async throws {
    try await withFile { file in
      try Data("{\"method\":\"GET\"}\n".utf8).write(to: file)
      #expect(throws: DecodingError.self) { try CKReplayingTransport(contentsOf: file) }
    }
  }

  private struct HeaderServer: CKTransport {
    let headers: [CKHTTPHeader]

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      CKTransportResponse(status: 200, headers: headers, body: Data(#"{"zones":[]}"#.utf8))
    }
  }
}
