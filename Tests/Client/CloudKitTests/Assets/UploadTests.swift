import CloudKitRecording
import Foundation
import JSONText
import TestSupport
import Testing

@testable import CloudKit

@Suite(.serialized) struct AssetUploadTests {
  private let scratch: TemporaryFolder
  private let host = AssetHost()
  private let zone = CKRecordZone.ID(zoneName: "notes")

  init() throws { scratch = try TemporaryFolder() }

  private func record(_ name: String, _ photo: CKAsset? = nil) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["photo"] = photo
    return record
  }

  private func fetched(_ name: String, checksum: String = "old", zone: CKRecordZone.ID? = nil) -> CKRecord {
    var wire = WireRecord(recordName: name, recordType: "Note", recordChangeTag: "1")
    wire.fields = [
      "title": .string("old"),
      "photo": .asset(WireAsset(fileChecksum: checksum, size: 3, downloadURL: "https://host.example/\(checksum)")),
    ]
    return CKRecord(wire: wire, zoneID: zone ?? self.zone)
  }

  private func tokens(_ tokens: (record: String, field: String, url: String)...) -> ScriptedServer.Answer {
    let elements = tokens.map {
      #"{"recordName":"\#($0.record)","fieldName":"\#($0.field)","url":"https://host.example/\#($0.url)"}"#
    }
    return .json(#"{"tokens":[\#(elements.joined(separator: ","))]}"#)
  }

  private func saved(_ names: String...) -> ScriptedServer.Answer {
    let elements = names.map { #"{"recordName":"\#($0)","recordType":"Note","recordChangeTag":"2","fields":{}}"# }
    return .json(#"{"records":[\#(elements.joined(separator: ","))]}"#)
  }

  private func code(_ result: Result<some Any, any Error>?) -> CKError.Code? {
    if case .failure(let error as CKError) = result { error.code } else { nil }
  }

  @Test func `a new asset is uploaded and then saved with the receipt of its upload`() async throws {
    let answer =
      #"{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{"photo":{"type":"ASSETID","value":{"fileChecksum":"sum-u1","size":4,"downloadURL":"https://host.example/u1"}}}}"#
    let server = ScriptedServer(tokens(("n", "photo", "u1")), .json(#"{"records":[\#(answer)]}"#))
    let record = record("n", CKAsset(fileURL: try scratch.file("a.jpg", "milk")))

    try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)

    #expect(server.operations == ["development/private/assets/upload", "development/private/records/modify"])
    let bodies = try server.bodies()
    #expect(bodies[0]["zoneID"]?["zoneName"] == .string("notes"))
    #expect(
      bodies[0]["tokens"]?.elements == [
        .object(["fieldName": .string("photo"), "recordName": .string("n"), "recordType": .string("Note")])
      ]
    )
    let field = bodies[1]["operations"]?.elements.first?["record"]?["fields"]?["photo"]
    #expect(field?["type"] == .string("ASSETID"))
    #expect(
      field?["value"]
        == .object(["fileChecksum": .string("sum-u1"), "receipt": .string("receipt-u1"), "size": .int(4)])
    )
    #expect(host["https://host.example/u1"] == Data("milk".utf8))
    #expect((record["photo"] as? CKAsset)?.fileURL == scratch.url.appending(path: "a.jpg"))
    #expect(record.changedKeys().isEmpty)
  }

  @Test func `an asset that was only read is not sent with the other changes`() async throws {
    for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .allKeys] {
      let server = ScriptedServer(saved("n"))
      let record = fetched("n")
      record["title"] = "new"

      _ = try await server.container(assets: host, in: scratch).privateCloudDatabase.modifyRecords(
        saving: [record],
        deleting: [],
        savePolicy: policy
      )

      #expect(server.operations == ["development/private/records/modify"])
      let fields = try server.bodies()[0]["operations"]?.elements.first?["record"]?["fields"]
      #expect(fields?["title"] != nil)
      #expect(fields?["photo"] == nil)
    }
  }

  @Test func `a list asks for an address for each element, and keeps their order`() async throws {
    let server = ScriptedServer(tokens(("n", "photos", "u1"), ("n", "photos", "u2")), saved("n"))
    let record = record("n")
    record["photos"] = [
      CKAsset(fileURL: try scratch.file("a", "a")), CKAsset(fileURL: try scratch.file("b", "bb")),
    ]

    try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)

    #expect(try server.bodies()[0]["tokens"]?.elements.count == 2)
    let field = try server.bodies()[1]["operations"]?.elements.first?["record"]?["fields"]?["photos"]
    #expect(field?["type"] == .string("ASSETID_LIST"))
    #expect(field?["value"]?.elements.map { $0["receipt"] } == [.string("receipt-u1"), .string("receipt-u2")])
    #expect(host["https://host.example/u2"] == Data("bb".utf8))
  }

  @Test func `an asset that moves to another record of its zone is referenced anew`() async throws {
    for answer in [
      #"{"assets":[{"recordName":"old","fieldName":"photo","fileChecksum":"old","size":3,"receipt":"again"}]}"#,
      #"[{"fileChecksum":"old","size":3,"receipt":"again"}]"#,
    ] {
      let server = ScriptedServer(.json(answer), saved("n"))
      let record = record("n", fetched("old")["photo"] as? CKAsset)

      try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)

      #expect(server.operations == ["development/private/assets/rereference", "development/private/records/modify"])
      #expect(
        try server.bodies()[0]["assets"]?.elements == [
          .object(["fieldName": .string("photo"), "recordName": .string("old")])
        ]
      )
      let field = try server.bodies()[1]["operations"]?.elements.first?["record"]?["fields"]?["photo"]
      #expect(field?["value"]?["receipt"] == .string("again"))
    }
  }

  @Test func `of two fields with the same bytes, the receipt of each goes to its own`() async throws {
    let answer =
      #"{"assets":[{"recordName":"b","fieldName":"photo","fileChecksum":"same","size":3,"receipt":"of b"},"#
      + #"{"recordName":"a","fieldName":"photo","fileChecksum":"same","size":3,"receipt":"of a"}]}"#
    let server = ScriptedServer(.json(answer), saved("x", "y"))
    let records = [
      record("x", fetched("a", checksum: "same")["photo"] as? CKAsset),
      record("y", fetched("b", checksum: "same")["photo"] as? CKAsset),
    ]

    _ = try await server.container(assets: host, in: scratch).privateCloudDatabase
      .modifyRecords(saving: records, deleting: [])

    let sent = try server.bodies()[1]["operations"]?.elements.map {
      $0["record"]?["fields"]?["photo"]?["value"]?["receipt"]
    }
    #expect(sent == [.string("of a"), .string("of b")])
  }

  @Test(
    arguments: [
      .json(#"{"serverErrorCode":"THROTTLED","reason":"slow down","retryAfter":9}"#, status: 429),
      .json("<html>", status: 429),
    ] as [ScriptedServer.Answer]
  )
  func `nothing is uploaded or sent after the server asked for a pause`(answer: ScriptedServer.Answer) async throws {
    let server = ScriptedServer(answer)
    let record = record("n", fetched("old")["photo"] as? CKAsset)

    let code = await errorCode {
      try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)
    }

    #expect(code == .requestRateLimited && server.operations == ["development/private/assets/rereference"])
    #expect(host.uploads == [])
  }

  @Test func `a transport that carries no files sends none over the network`() async throws {
    try await LoopbackServer.run(.echo) { host in
      let field =
        #"{"type":"ASSETID","value":{"fileChecksum":"c","size":4,"downloadURL":"http://127.0.0.1:\#(host.port)/a"}}"#
      let found =
        #"{"records":[{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{"photo":\#(field)}}]}"#
      let address = #"{"tokens":[{"url":"http://127.0.0.1:\#(host.port)/u"}]}"#
      let server = ScriptedServer(.json(found), .json(address))
      let database = server.container().privateCloudDatabase
      let record = record("m", CKAsset(fileURL: try scratch.file("a", "a")))

      #expect(await errorCode { try await database.record(for: CKRecord.ID(recordName: "n")) } == .networkUnavailable)
      #expect(await errorCode { try await database.save(record) } == .networkUnavailable)
      let client = WebServicesClient(
        WebServicesClient.Configuration(container: "iCloud.test", environment: "development", credential: nil),
        transport: ScriptedServer(.json(found))
      )
      let shared = CKContainer(sharing: client).privateCloudDatabase
      #expect(await errorCode { try await shared.record(for: CKRecord.ID(recordName: "n")) } == .networkUnavailable)
      #expect(host.connections == 0)
    }
    let transport = CKHTTPTransport()
    #expect(transport.assetTransport is CKHTTPAssetTransport)
    // One pool of connections serves the container, its client, and every container around the client.
    #expect(transport.assetTransport as AnyObject === transport.assetTransport as AnyObject)
    let recorder = try CKRecordingTransport(CKHTTPTransport(), to: scratch.url.appending(path: "recording"))
    #expect(recorder.assetTransport is CKHTTPAssetTransport)
  }

  @Test(arguments: [
    #"{"assets":[{"recordName":"old","fieldName":"photo","fileChecksum":"other","size":3,"receipt":"wrong"}]}"#,
    #"{"assets":[{"recordName":"old","fieldName":"photo","serverErrorCode":"NOT_FOUND"}]}"#,
  ])
  func `an asset that cannot be referenced anew is brought and uploaded`(answer: String) async throws {
    let server = ScriptedServer(.json(answer), tokens(("n", "photo", "u1")), saved("n"))
    let container = server.container(assets: host, in: scratch, downloads: .onDemand)
    host["https://host.example/old"] = Data("old".utf8)
    let old = fetched("old")
    container.privateCloudDatabase.adoptAssets(of: [old])
    let record = record("n", old["photo"] as? CKAsset)

    try await container.privateCloudDatabase.save(record)

    #expect(host["https://host.example/u1"] == Data("old".utf8))
    let field = try server.bodies()[2]["operations"]?.elements.first?["record"]?["fields"]?["photo"]
    #expect(field?["value"]?["receipt"] == .string("receipt-u1"))
  }

  @Test func `an asset from another zone is uploaded`() async throws {
    let server = ScriptedServer(tokens(("n", "photo", "u1")), saved("n"))
    let container = server.container(assets: host, in: scratch)
    host["https://host.example/old"] = Data("old".utf8)
    let old = fetched("old", zone: CKRecordZone.ID(zoneName: "other"))
    container.privateCloudDatabase.adoptAssets(of: [old])

    try await container.privateCloudDatabase.save(record("n", old["photo"] as? CKAsset))

    #expect(server.operations == ["development/private/assets/upload", "development/private/records/modify"])
    #expect(host["https://host.example/u1"] == Data("old".utf8))
  }

  @Test func `a missing file and one that is too large fail their records before anything is sent`() async throws {
    let large = try scratch.file("large", "")
    try FileHandle(forWritingTo: large).truncate(atOffset: (50 << 20) + 1)
    let server = ScriptedServer(saved("good"))

    let results = try await server.container(assets: host, in: scratch).publicCloudDatabase.modifyRecords(
      saving: [
        publicRecord("missing", CKAsset(fileURL: scratch.url.appending(path: "nothing"))),
        publicRecord("large", CKAsset(fileURL: large)), publicRecord("good", nil),
        publicRecord("folder", CKAsset(fileURL: scratch.url)),
      ],
      deleting: []
    ).saveResults

    #expect(code(results[CKRecord.ID(recordName: "missing")]) == .assetFileNotFound)
    #expect(code(results[CKRecord.ID(recordName: "folder")]) == .assetFileNotFound)
    #expect(code(results[CKRecord.ID(recordName: "large")]) == .limitExceeded)
    #expect(try results[CKRecord.ID(recordName: "good")]?.get().recordChangeTag == "2")
    #expect(server.operations == ["development/public/records/modify"])
  }

  private func publicRecord(_ name: String, _ photo: CKAsset?) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    record["photo"] = photo
    return record
  }

  @Test func `a file that changes while it is sent fails its record and no other`() async throws {
    let changing = try scratch.file("changing", "before")
    let server = ScriptedServer(tokens(("bad", "photo", "u1"), ("good", "photo", "u2")), saved("good"))
    host.duringUpload { file in
      if file.lastPathComponent == "changing" { try? Data("after, and longer".utf8).write(to: file) }
    }

    let results = try await server.container(assets: host, in: scratch).publicCloudDatabase.modifyRecords(
      saving: [
        publicRecord("bad", CKAsset(fileURL: changing)),
        publicRecord("good", CKAsset(fileURL: try scratch.file("good", "good"))),
      ],
      deleting: []
    ).saveResults

    #expect(code(results[CKRecord.ID(recordName: "bad")]) == .assetFileModified)
    #expect(try results[CKRecord.ID(recordName: "good")]?.get().recordChangeTag == "2")
    let operations = try #require(try server.bodies()[1]["operations"]?.elements)
    #expect(operations.map { $0["record"]?["recordName"] } == [.string("good")])
  }

  @Test func `an atomic group with an asset that is refused is not sent at all`() async throws {
    let server = ScriptedServer(tokens(("bad", "photo", "u1")))
    host.answer("https://host.example/u1", with: 413)
    let good = record("good")
    let bad = record("bad", CKAsset(fileURL: try scratch.file("a", "a")))

    let results = try await server.container(assets: host, in: scratch).privateCloudDatabase.modifyRecords(
      saving: [good, bad],
      deleting: []
    ).saveResults

    #expect(code(results[bad.recordID]) == .limitExceeded)
    #expect(code(results[good.recordID]) == .batchRequestFailed)
    #expect(server.operations == ["development/private/assets/upload"])
  }

  @Test func `a refusal of the addresses is narrowed down to the record that is to blame`() async throws {
    let refusal = #"{"serverErrorCode":"BAD_REQUEST","reason":"no such field"}"#
    let server = ScriptedServer(
      .json(refusal, status: 400),
      .json(refusal, status: 400),
      tokens(("good", "photo", "u2")),
      saved("good")
    )

    let results = try await server.container(assets: host, in: scratch).publicCloudDatabase.modifyRecords(
      saving: [
        publicRecord("bad", CKAsset(fileURL: try scratch.file("a", "a"))),
        publicRecord("good", CKAsset(fileURL: try scratch.file("b", "b"))),
      ],
      deleting: []
    ).saveResults

    #expect(code(results[CKRecord.ID(recordName: "bad")]) == .invalidArguments)
    #expect(try results[CKRecord.ID(recordName: "good")]?.get().recordChangeTag == "2")
  }

  @Test func `a throttled request for addresses fails the call, and nothing is saved`() async throws {
    let server = ScriptedServer(.json(#"{"serverErrorCode":"THROTTLED","retryAfter":7}"#, status: 429))
    let record = record("n", CKAsset(fileURL: try scratch.file("a", "a")))

    let error = await #expect(throws: CKError.self) {
      try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)
    }

    #expect(error?.code == .requestRateLimited)
    #expect(error?.retryAfterSeconds == 7)
    #expect(record.changedKeys() == ["photo"])
  }

  @Test func `addresses are asked for 200 at a time, and four files move at once`() async throws {
    let record = record("n")
    let file = try scratch.file("a", "a")
    record["photos"] = (0..<201).map { _ in CKAsset(fileURL: file) }
    func tokens(_ range: Range<Int>) -> ScriptedServer.Answer {
      .json(#"{"tokens":[\#(range.map { #"{"url":"https://host.example/u\#($0)"}"# }.joined(separator: ","))]}"#)
    }
    let server = ScriptedServer(tokens(0..<200), tokens(200..<201), saved("n"))

    try await server.container(assets: host, in: scratch).privateCloudDatabase.save(record)

    #expect(try server.bodies().prefix(2).map { $0["tokens"]?.elements.count } == [200, 1])
    #expect(host.uploads.count == 201)
    #expect(host.mostUnderWay == 4)
    let field = try server.bodies()[2]["operations"]?.elements.first?["record"]?["fields"]?["photos"]
    #expect(field?["value"]?.elements.map { $0["receipt"] } == (0..<201).map { .string("receipt-u\($0)") })
  }

  @Test func `a cancelled save sends no record`() async throws {
    let server = ScriptedServer(tokens(("n", "photo", "u1")), saved("n"))
    let database = server.container(assets: host, in: scratch).privateCloudDatabase
    let records = [record("n", CKAsset(fileURL: try scratch.file("a", "a"))), record("neighbour")]
    host.stall()
    let task = Task { try await database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults }
    for await _ in host.begun { break }

    task.cancel()

    let error = await #expect(throws: CKError.self) { try await task.value }
    #expect(error?.code == .operationCancelled)
    #expect(server.operations == ["development/private/assets/upload"])
  }

  @Test(arguments: [
    (ScriptedServer.Answer.failure(.unknown), CKError.Code.networkFailure), (.json(#"{"tokens":[]}"#), .internalError),
  ])
  func `a call whose addresses do not come says nothing of a lost save`(
    answer: ScriptedServer.Answer,
    expected: CKError.Code
  ) async throws {
    let server = ScriptedServer(answer)

    let error = await #expect(throws: CKError.self) {
      try await server.container(assets: host, in: scratch).privateCloudDatabase.save(
        record("n", CKAsset(fileURL: try scratch.file("a", "a")))
      )
    }

    #expect(error?.code == expected && server.operations == ["development/private/assets/upload"])
  }

  @Test func `an address that is none of a web host is not used`() async throws {
    let server = ScriptedServer(.json(#"{"tokens":[{"url":"file:///etc/passwd"}]}"#))

    let error = await #expect(throws: CKError.self) {
      try await server.container(assets: host, in: scratch).privateCloudDatabase.save(
        record("n", CKAsset(fileURL: try scratch.file("a", "a")))
      )
    }

    #expect(error?.code == .internalError)
    #expect(host.uploads.isEmpty)
  }

  @Test func `an asset of bytes has a file of its own, which goes away with it`() throws {
    let assets = try (0..<100).map { _ in try CKAsset(contents: Data("same".utf8)) }
    let files = assets.compactMap(\.fileURL)

    #expect(Set(files).count == 100)
    #expect(try files.allSatisfy { try Data(contentsOf: $0) == Data("same".utf8) })
    let attributes = try FileManager.default.attributesOfItem(atPath: files[0].path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }
}
