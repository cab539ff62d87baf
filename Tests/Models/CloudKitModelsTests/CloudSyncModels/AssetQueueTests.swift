import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import TestSupport
import Testing

private struct Clip: Codable, CKRecordModel {
  static let assetKeys: Set<String> = ["sound"]
  var recordName = "clip"
  var title = "Milk"
  var sound: Data? = Data("s".utf8)
}

/// The same record, with the asset itself.
private struct File: Codable, CKRecordModel {
  static let recordType = "Clip"
  var recordName = "clip"
  var title = "Milk"
  var sound: CKAsset?
}

/// Models with assets through the queue, to a server and back.
@Suite(.serialized) struct AssetQueueTests {
  private let notes = CKRecordZone.ID(zoneName: "notes")

  @Test func `an asset goes to the server once, and nil removes it`() async throws {
    let cloud = try Cloud()
    let phone = try cloud.device("phone")

    try await phone.store.save(Clip(), in: notes)
    try await phone.sync()
    #expect(cloud.onServer("clip", zone: "notes").map { Set($0.keys) } == ["title", "sound"])
    try await phone.store.save(Clip(), in: notes)
    #expect(try phone.store.operations().total == 0)

    try await phone.store.save(Clip(sound: nil), changedFrom: Clip(), in: notes)
    try await phone.sync()
    #expect(cloud.onServer("clip", zone: "notes").map { Set($0.keys) } == ["title"])
  }

  @Test func `an asset that others changed is kept if it was not edited here`() async throws {
    let cloud = try Cloud()
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(Clip(), in: notes)
    try await phone.sync()
    try await tablet.sync()
    try await tablet.store.save(Clip(sound: Data("t".utf8)), in: notes)
    try await tablet.sync()

    try await phone.store.save(Clip(title: "Oats"), changedFrom: Clip(), in: notes)
    try await phone.sync()

    #expect(try phone.store.operations().total == 0)
    #expect(cloud.onServer("clip", zone: "notes")?["title"] == .string("Oats"))
  }

  @Test func `a store reads an asset but not its bytes, and does not save it again`() async throws {
    let cloud = try Cloud()
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(Clip(), in: notes)
    try await phone.sync()
    try await tablet.sync()

    let file = try #require(try await tablet.store.load(File.self, named: "clip", in: notes))
    let error = await #expect(throws: CKModelError.self) {
      try await tablet.store.load(Clip.self, named: "clip", in: notes)
    }
    #expect(error?.field == "sound")
    try await tablet.store.save(file, in: notes)
    #expect(try tablet.store.operations().total == 0)
  }

  @Test func `a file of a model is uploaded even if it is deleted once it is queued`() async throws {
    struct Paper: Codable, Identifiable, CKRecordModel {
      var id = "paper"
      var file: URL?
    }
    let cloud = try Cloud()
    let phone = try cloud.device("phone")
    let folder = try TemporaryFolder()
    let file = try folder.file("paper", "text")
    try await phone.store.save(Paper(file: file), in: notes)
    try FileManager.default.removeItem(at: file)
    try await phone.sync()

    #expect(try phone.store.operations().total == 0)
    #expect(cloud.onServer("paper", zone: "notes").map { Set($0.keys) } == ["file"])
  }
}
