import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// The digest that shows whether a commit has changed records of a type.
@Suite(.serialized) struct RecordsDigestTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  private func digest(_ type: String = "Note") throws -> Int {
    try store.recordsDigest(of: type, in: world.key("a").zoneKey)
  }

  @Test func `each change of a record changes the digest of its type alone`() async throws {
    let other = try digest("Task")
    var digests = [try digest()]

    try store.accept(world.put("a", ["n": .int64(1)]))
    digests.append(try digest())
    try store.accept(world.put("a", ["n": .int64(2)]))
    digests.append(try digest())
    try await device.sync()
    digests.append(try digest())
    try world.saveOnServer("a", ["n": .int64(3)])
    try await device.sync()
    digests.append(try digest())
    try store.accept(world.delete("a"))
    digests.append(try digest())

    #expect(Set(digests).count == digests.count)
    #expect(try digest("Task") == other)
  }

  @Test func `what else is committed leaves the digest as it is`() async throws {
    try store.accept(world.put("a", ["n": .int64(1)]))
    let queued = try digest()
    _ = try store.perform(.pause, on: .all, actor: "test")
    #expect(try digest() == queued)
    _ = try store.perform(.resume, on: .all, actor: "test")
    try store.accept(world.put("b", type: "Task", ["n": .int64(1)]))
    try store.accept(world.put("c", zone: "elsewhere", ["n": .int64(1)]))
    #expect(try digest() == queued)

    try await device.sync()
    let sent = try digest()
    try await device.sync()
    #expect(try digest() == sent)
  }

  @Test func `without a zone a change in any zone changes the digest`() async throws {
    try store.accept(world.put("a", ["n": .int64(1)]))
    try await device.sync()
    let sent = try store.recordsDigest(of: "Note", in: nil)
    try store.accept(world.put("c", zone: "elsewhere", ["n": .int64(1)]))
    let queued = try store.recordsDigest(of: "Note", in: nil)
    try await device.sync()

    #expect(queued != sent)
    #expect(try store.recordsDigest(of: "Note", in: nil) != queued)
  }

  @Test func `the deletion of the zone changes the digest`() async throws {
    try store.accept(world.put("a", ["n": .int64(1)]))
    try await device.sync()
    let sent = try digest()

    _ = try store.enqueueZoneDeletion(world.key("a").zoneKey)

    #expect(try digest() != sent)
  }
}
