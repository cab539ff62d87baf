import CloudKit
import CloudKitEmulator
import CloudSupport
import Foundation
import Synchronization
import Testing

@testable import CloudService
@testable import CloudSync

/// An app whose records look different on the server: they are changed on their way in both directions.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct TransformTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  /// Keeps texts in capital letters on the server, and in small ones here, with a mark that is never sent.
  private final class Converter: SyncEngineDelegate {
    let delivered = Mutex<[String: String]>([:])
    let rejected: Set<String>

    init(rejecting rejected: Set<String> = []) { self.rejected = rejected }

    func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord {
      record["text"] = (record["text"] as? String)?.uppercased()
      return record
    }

    func syncEngine(_ engine: SyncEngine, willDeliver record: CKRecord) async throws -> CKRecord {
      if rejected.contains(record.recordID.recordName) { throw SyncFailure(code: "BAD", message: "unreadable") }
      record["text"] = (record["text"] as? String)?.lowercased()
      record["mark"] = "seen"
      return record
    }

    func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
      delivered.withLock { delivered in
        for record in changes.modifications {
          delivered[record.recordID.recordName] = "\(record["text"] ?? "-") \(record["mark"] ?? "-")"
        }
      }
    }
  }

  private func onServer() async throws -> CKRecord {
    try await cloud.container(of: "ana").privateCloudDatabase.record(for: cloud.id("a"))
  }

  @Test func `records are transformed once each way, and the local copy has the server's values`() async throws {
    let delegate = Converter()
    let service = try cloud.service(delegate: delegate)
    try await service.save(cloud.note("a", "milk"))
    try await service.sync()
    #expect(try await onServer()["text"] as? String == "MILK")
    #expect(delegate.delivered.withLock { $0 } == ["a": "milk seen"])
    #expect(try service.engine?.record(cloud.id("a"))?["text"] as? String == "MILK")

    let record = try #require(try await service.fetch(recordID: cloud.id("a")))
    #expect(record["text"] as? String == "milk" && record["mark"] as? String == "seen" && record.changedKeys().isEmpty)
    let all = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    #expect(try await service.query(all, inZoneWith: cloud.zone).map { $0["text"] as? String } == ["milk"])
    let fresh = try cloud.service("fresh", delegate: Converter())
    #expect(try await fresh.fetch(recordID: cloud.id("a"))?["text"] as? String == "milk")
  }

  @Test func `a save after a delivery sends what the app edited, and nothing that was only transformed`() async throws {
    let service = try cloud.service(delegate: Converter())
    try await service.save(cloud.note("a", "milk"))
    try await service.sync()
    let tag = try await onServer().recordChangeTag
    let record = try #require(try await service.fetch(recordID: cloud.id("a")))

    let unedited = try await service.save(record)
    #expect(unedited.id == nil)
    record["count"] = 2
    try await service.save(record)
    #expect(try service.store?.operations().rows.count == 1)
    try await service.sync()
    let saved = try await onServer()
    #expect(saved["count"] as? Int == 2 && saved["text"] as? String == "MILK" && saved["mark"] == nil)
    #expect(saved.recordChangeTag != tag)
  }

  @Test func `a record that the app cannot transform is delivered again later, and holds up no other`() async throws {
    let theirs = try cloud.service("theirs")
    try await theirs.save([cloud.note("a", "MILK"), cloud.note("bad"), cloud.note("c", "TEA")])
    try await theirs.sync()
    let delegate = Converter(rejecting: ["bad"])
    let mine = try cloud.service(delegate: delegate)
    while delegate.delivered.withLock({ $0.count }) < 2 { try await mine.sync() }
    #expect(delegate.delivered.withLock { $0 } == ["a": "milk seen", "c": "tea seen"])
    await #expect(throws: SyncFailure.self) { try await mine.fetch(recordID: cloud.id("bad")) }
  }
}
