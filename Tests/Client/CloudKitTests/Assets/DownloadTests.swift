import Foundation
import JSONText
import TestSupport
import Testing

@testable import CloudKit

@Suite(.serialized) struct AssetDownloadTests {
  private let scratch: TemporaryFolder
  private let host = AssetHost()
  private let id = CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "notes"))

  init() throws { scratch = try TemporaryFolder() }

  private func record(_ name: String = "n", url: String, checksum: String = "sum", size: Int = 4) -> String {
    let asset = #"{"fileChecksum":"\#(checksum)","size":\#(size),"downloadURL":"https://host.example/\#(url)"}"#
    return
      #"{"recordName":"\#(name)","recordType":"Note","recordChangeTag":"1","fields":{"photo":{"type":"ASSETID","value":\#(asset)}}}"#
  }

  private func answer(_ records: String...) -> ScriptedServer.Answer {
    .json(#"{"records":[\#(records.joined(separator: ","))]}"#)
  }

  /// The files of assets that there are now; the lock of the folder is none.
  private func staged() throws -> [String] {
    try scratch.contents(of: "staging").filter { $0.contains("/") && !$0.hasSuffix("/lock") }
  }

  @Test func `a record is read with its file, which only this user can read`() async throws {
    let server = ScriptedServer(answer(record(url: "a/${f}?e=1")))
    host["https://host.example/a/photo?e=1"] = Data("milk".utf8)

    let record = try await server.container(assets: host, in: scratch).privateCloudDatabase.record(for: id)

    let file = try #require((record["photo"] as? CKAsset)?.fileURL)
    #expect(try Data(contentsOf: file) == Data("milk".utf8))
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let folder = try FileManager.default.attributesOfItem(atPath: file.deletingLastPathComponent().path)
    #expect(folder[.posixPermissions] as? Int == 0o700)
    #expect(record.changedKeys().isEmpty)
  }

  @Test func `queries and changes of a zone bring files too, four at a time`() async throws {
    let records = (0..<9).map { record("n\($0)", url: "f\($0)") }
    let list = records.joined(separator: ",")
    for index in 0..<9 { host["https://host.example/f\(index)"] = Data("milk".utf8) }
    let server = ScriptedServer(
      .json(#"{"records":[\#(list)]}"#),
      .json(#"{"zones":[{"zoneID":{"zoneName":"notes"},"records":[\#(list)],"syncToken":"t","moreComing":false}]}"#)
    )
    let database = server.container(assets: host, in: scratch).privateCloudDatabase

    let found = try await database.records(
      matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)),
      inZoneWith: id.zoneID
    ).matchResults
    let changed = try await database.recordZoneChanges(inZoneWith: id.zoneID, since: nil).modificationResultsByID

    #expect(try found.allSatisfy { (try $1.get()["photo"] as? CKAsset)?.fileURL != nil })
    #expect(try changed.values.allSatisfy { (try $0.get().record["photo"] as? CKAsset)?.fileURL != nil })
    #expect(host.downloads.count == 18)
    #expect(host.mostUnderWay == 4)
  }

  @Test func `on demand, nothing is brought before it is asked for, and then once`() async throws {
    let server = ScriptedServer(answer(record(url: "a")))
    host["https://host.example/a"] = Data("milk".utf8)
    let container = server.container(assets: host, in: scratch, downloads: .onDemand)

    let record = try await container.privateCloudDatabase.record(for: id)
    let asset = try #require(record["photo"] as? CKAsset)
    #expect(asset.fileURL == nil)
    #expect(host.downloads.isEmpty)

    let file = try await asset.download()

    #expect(try Data(contentsOf: file) == Data("milk".utf8))
    #expect(try await asset.download() == file)
    #expect(asset.fileURL == file)
    #expect(host.downloads.count == 1)
  }

  @Test(arguments: [403, 404, 410])
  func `an expired address is replaced by a fresh one from the server`(status: Int) async throws {
    let server = ScriptedServer(answer(record(url: "old")), answer(record(url: "new")))
    host.answer("https://host.example/old", with: status)
    host["https://host.example/new"] = Data("milk".utf8)

    let record = try await server.container(assets: host, in: scratch).privateCloudDatabase.record(for: id)

    let file = try #require((record["photo"] as? CKAsset)?.fileURL)
    #expect(try Data(contentsOf: file) == Data("milk".utf8))
    #expect(try server.bodies()[1]["desiredKeys"] == .array([.string("photo")]))
  }

  @Test func `a file that stays away fails its record and no other, and leaves nothing behind`() async throws {
    let gone = record("gone", url: "gone")
    let replaced = record("replaced", url: "replaced")
    let server = ScriptedServer(
      answer(gone, replaced, record("good", url: "good"), record("short", url: "short", size: 9)),
      answer(gone, record("replaced", url: "newer", checksum: "another"))
    )
    host["https://host.example/good"] = Data("milk".utf8)
    host["https://host.example/short"] = Data("milk".utf8)
    host["https://host.example/newer"] = Data("other".utf8)
    let ids = ["gone", "replaced", "good", "short"].map { CKRecord.ID(recordName: $0, zoneID: id.zoneID) }

    let results = try await server.container(assets: host, in: scratch).privateCloudDatabase.records(for: ids)

    func code(_ index: Int) -> CKError.Code? {
      if case .failure(let error as CKError) = results[ids[index]] { error.code } else { nil }
    }
    #expect(code(0) == .assetNotAvailable)
    #expect(code(1) == .assetNotAvailable)
    #expect(code(3) == .networkFailure)
    #expect(try results[ids[2]]?.get().recordChangeTag == "1")
    #expect(try staged().count == 1)
    #expect(server.operations.count == 2)
  }

  @Test func `a cancelled read throws and leaves no file`() async throws {
    let server = ScriptedServer(answer(record(url: "a")))
    host["https://host.example/a"] = Data("milk".utf8)
    let database = server.container(assets: host, in: scratch).privateCloudDatabase

    let error = await #expect(throws: CKError.self) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try await database.record(for: id) }
        group.cancelAll()
        try await group.waitForAll()
      }
    }

    #expect(error?.code == .operationCancelled)
    #expect(try staged().isEmpty)
  }

  @Test func `a transfer ends with the time of its operation, and leaves no file`() async throws {
    let server = ScriptedServer(answer(record(url: "a")))
    host.stall()
    var settings = OperationSettings()
    settings.deadline = .now + .milliseconds(300)
    let database = server.container(assets: host, in: scratch).privateCloudDatabase.configured(by: settings)

    let error = await #expect(throws: CKError.self) { try await database.record(for: id) }

    #expect(error?.code == .networkFailure)
    #expect(try staged().isEmpty)
  }

  @Test func `a download on demand is not bound by the operation that read the record`() async throws {
    host["https://host.example/a"] = Data("milk".utf8)
    let read = try WireRecord(json: Data(record(url: "a").utf8))
    let record = CKRecord(wire: read, zoneID: id.zoneID)
    var settings = OperationSettings()
    settings.deadline = .now - .seconds(1)
    ScriptedServer().container(assets: host, in: scratch).privateCloudDatabase.configured(by: settings)
      .adoptAssets(of: [record])
    let asset = try #require(record["photo"] as? CKAsset)

    #expect(try Data(contentsOf: await asset.download()) == Data("milk".utf8))
  }

  @Test func `a thousand reads leave the folder as it was`() async throws {
    host["https://host.example/a"] = Data("milk".utf8)
    let answers = ScriptedServer(repeating: answer(record(url: "a")))
    let database = answers.container(assets: host, in: scratch).privateCloudDatabase
    var most = 0

    for cycle in 0..<1000 {
      let record = try await database.record(for: id)
      if cycle.isMultiple(of: 50) { most = max(most, try staged().count) }
      withExtendedLifetime(record) {}
    }

    #expect(most <= 2)
    #expect(try scratch.contents(of: "staging").isEmpty)
  }

  @Test func `a copy of a record shares its files, which live as long as either`() async throws {
    host["https://host.example/a"] = Data("milk".utf8)
    let server = ScriptedServer(answer(record(url: "a")))
    var record: CKRecord? = try await server.container(assets: host, in: scratch).privateCloudDatabase.record(for: id)
    var copy = try #require(record?.copy() as? CKRecord) as CKRecord?

    record = nil
    #expect(try staged().count == 1)
    withExtendedLifetime(copy) {}
    copy = nil

    #expect(try staged().isEmpty)
  }

  @Test func `a file whose address was read outlives its asset for a while`() async throws {
    var file: URL?
    do {
      let asset = try CKAsset(contents: Data("milk".utf8))
      file = asset.fileURL
    }

    #expect(try Data(contentsOf: try #require(file)) == Data("milk".utf8))
  }

  @Test func `a save keeps the files that are here, unless the server holds other bytes by now`() async throws {
    for (checksum, keeps) in [("sum", true), ("other", false)] {
      let server = ScriptedServer(
        answer(record(url: "a")),
        answer(record(url: "b", checksum: checksum))
      )
      host["https://host.example/a"] = Data("milk".utf8)
      let database = server.container(assets: host, in: scratch).privateCloudDatabase
      let record = try await database.record(for: id)
      record["title"] = "new"

      try await database.save(record)

      let asset = try #require(record["photo"] as? CKAsset)
      #expect((asset.fileURL != nil) == keeps)
      host["https://host.example/b"] = Data("mild".utf8)
      let bytes = try Data(contentsOf: try await asset.download())
      #expect(bytes == Data((keeps ? "milk" : "mild").utf8))
    }
  }

  @Test func `an archived record keeps descriptors, and the files that are still there`() async throws {
    let server = ScriptedServer(answer(record(url: "a")))
    host["https://host.example/a"] = Data("milk".utf8)
    let record = try await server.container(assets: host, in: scratch).privateCloudDatabase.record(for: id)
    let file = (record["photo"] as? CKAsset)?.fileURL
    record["copy"] = record["photo"] as? CKAsset
    func archived() throws -> CKRecord {
      let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
      return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    }

    let copy = try archived()
    #expect((copy["photo"] as? CKAsset)?.fileURL?.path == file?.path)
    #expect((copy["copy"] as? CKAsset)?.fileURL?.path == file?.path)
    #expect(try copy.wireFields()["photo"] == record.wireFields()["photo"])
    #expect((copy["copy"] as? CKAsset)?.origin == CKAsset.Origin(recordID: id, key: "photo"))
    #expect((copy["photo"] as? CKAsset)?.origin == CKAsset.Origin(recordID: id, key: "photo"))
    #expect(copy.changedKeys() == ["copy"])

    try FileManager.default.removeItem(at: try #require(file))
    #expect((try archived()["photo"] as? CKAsset)?.fileURL == nil)
    let error = await #expect(throws: CKError.self) { try await (archived()["photo"] as? CKAsset)?.download() }
    #expect(error?.code == .assetNotAvailable)
  }
}
