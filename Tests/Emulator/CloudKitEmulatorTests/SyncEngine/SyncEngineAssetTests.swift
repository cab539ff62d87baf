import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import TestSupport
import Testing

struct SyncEngineAssetTests {
  private let emulator: Emulator
  private let folder: TemporaryFolder

  init() throws {
    emulator = try Emulator()
    folder = try TemporaryFolder()
  }

  private func note(_ name: String) throws -> CKRecord {
    let file = try folder.file(name, name)
    let note = CKRecord(recordType: "Note", recordID: Device.id(name))
    note["photo"] = CKAsset(fileURL: file)
    return note
  }

  @Test func `the files of a batch are uploaded, and another device fetches them`() async throws {
    let app = BatchApp([.init(recordsToSave: [try note("a"), try note("b")], atomicByZone: true)])
    let engine = try app.engine(on: emulator)

    try await engine.sendChanges()

    #expect(app.sent.map(\.savedRecords.count) == [2])
    let other = Device(emulator)
    try await other.engine.fetchChanges()
    let photo = other.content.withLock { $0.known[Device.id("b")]?["photo"] as? CKAsset }
    #expect(try Data(contentsOf: try #require(photo?.fileURL)) == Data("b".utf8))
  }

  @Test func `a file that is gone fails its record, and the others are saved`() async throws {
    let app = BatchApp([.init(recordsToSave: [try note("a"), try note("b")])])
    try FileManager.default.removeItem(at: folder.url.appending(path: "a"))
    let engine = try app.engine(on: emulator)
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(Device.id("a")), .saveRecord(Device.id("b"))])

    #expect(await codeThrown { try await engine.sendChanges() } == .partialFailure)

    #expect(app.sent.map { $0.failedRecordSaves.map(\.error.code) } == [[.assetFileNotFound]])
    #expect(app.sent.map { $0.savedRecords.map(\.recordID) } == [[Device.id("b")]])
    #expect(engine.state.pendingRecordZoneChanges.isEmpty)
  }

  @Test(arguments: [
    (FaultAction.offline, CKError.Code.networkUnavailable), (.dropBeforeCommit, .networkFailure),
    (.throttled(retryAfter: 5), .requestRateLimited),
  ])
  func `an upload that fails keeps the change, and nothing says that it was saved`(
    fault: FaultAction,
    code: CKError.Code
  ) async throws {
    let app = BatchApp([.init(recordsToSave: [try note("a")])])
    let engine = try app.engine(on: emulator)
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(Device.id("a"))])
    emulator.fail("assets/upload", limit: 1, fault)

    #expect(await codeThrown { try await engine.sendChanges() } == code)

    #expect(app.sent.map { $0.failedRecordSaves.map(\.error.code) } == [[code]])
    #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(Device.id("a"))])
  }
}
