import CloudKit
import CloudKitRecording
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct RecordingTests {
  private static let note = #"{"records":[{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{}}]}"#

  /// Runs a body with the path of a file that is gone afterwards.
  private func withFile(_ body: (URL) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try await body(folder.url.appending(path: "recording"))
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

  @Test func `push tokens and the queries of signed URLs are left out, and a replay finds the requests all the same`()
    async throws
  {
    let body = #"{"apnsToken":"hush","webcourierURL":"https://a.example/aps?tok=hush","url":"https://b/f?k=hush"}"#
    let record = #"{"records":[{"downloadURL":"https://c.example/f/${f}?s=hush","url":"https://mine?a"}]}"#
    let register = CKTransportRequest(method: "POST", path: "/tokens/register", body: Data(body.utf8))
    let response = CKTransportResponse(status: 200, body: Data(body.utf8))
    let upload = CKTransportRequest(
      method: "POST",
      path: "/database/1/a/development/private/assets/upload",
      body: Data()
    )
    let lookup = CKTransportResponse(status: 200, body: Data(record.utf8))
    let exchanges = [
      CKExchange(register, .response(response)), CKExchange(upload, .response(response)),
      CKExchange(CKTransportRequest(method: "POST", path: "/records/lookup"), .response(lookup)),
    ]
    let texts = try exchanges.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    #expect(!texts[1].contains("hush") && !texts[2].contains("hush"))
    // A field that is called url is the app's own outside uploads.
    #expect(texts[0].contains("k=hush") && texts[2].contains("mine?a") && !texts[0].contains("tok=hush"))

    let answer = try await CKReplayingTransport(exchanges).send(register)
    #expect(String(decoding: answer.body, as: UTF8.self).contains("a.example/aps?redacted"))
  }

  @Test func `an existing file is closed to others, and a link is not followed`() async throws {
    try await withFile { file in
      _ = FileManager.default.createFile(
        atPath: file.path,
        contents: Data("old".utf8),
        attributes: [.posixPermissions: 0o644]
      )
      _ = try CKRecordingTransport(Unreachable(), to: file)
      let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
      #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == 0)
      let link = file.appendingPathExtension("link")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
      defer { try? FileManager.default.removeItem(at: link) }
      #expect(throws: CocoaError.self) { try CKRecordingTransport(Unreachable(), to: link) }
    }
  }

  private struct Unreachable: CKTransport {
    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      throw CKTransportError(.notSent, "The network is gone.")
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
