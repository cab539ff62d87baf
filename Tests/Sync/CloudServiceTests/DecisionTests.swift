import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import Testing

@testable import CloudSync

/// What waits for a person, and decisions about it, as an app has them.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct DecisionTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  /// Saves records with one service and fetches them with another.
  private func share(_ names: [String], of theirs: CloudKitService, with mine: CloudKitService) async throws {
    try await theirs.save(names.map { cloud.note($0, "old") })
    try await theirs.sync()
    try await mine.sync()
  }

  /// Changes the text of a record.
  private func edit(_ name: String, _ text: String, with service: CloudKitService) async throws -> QueuedChange {
    let record = try #require(try await service.fetch(recordID: cloud.id(name)))
    record["text"] = text
    return try await service.save(record)
  }

  @Test func `a decision about a conflict that has changed since is not carried out`() async throws {
    let (mine, theirs) = (try cloud.service { $0.policy = .manual }, try cloud.service("theirs"))
    try await share(["a"], of: theirs, with: mine)
    _ = try await edit("a", "theirs", with: theirs)
    try await theirs.sync()
    let change = try await edit("a", "mine", with: mine)
    try await mine.sync()
    let shown = try #require(try await mine.conflicts().first)
    _ = try await edit("a", "mine again", with: mine)

    guard case .changed(let current?) = try await mine.resolve(shown, taking: .server) else {
      Issue.record("resolved")
      return
    }
    #expect(current.id == shown.id && current.version != shown.version)
    #expect(current.change.clientRecord?["text"] as? String == "mine again")
    await #expect(throws: StoreError.self) { try await mine.resolve(current, taking: .local, fields: ["no": .server]) }
    guard case .resolved = try await mine.resolve(current, taking: .local, fields: ["text": .server]),
      case .merged(let record?, let dropped) = try await change.outcome
    else {
      Issue.record("not resolved")
      return
    }
    #expect(record["text"] as? String == "theirs" && dropped == ["text"])
    #expect(try await mine.conflicts().isEmpty)
  }

  @Test func `what was dropped is listed and can be restored`() async throws {
    cloud.refuse("a")
    let service = try cloud.service()
    let change = try await service.save(cloud.note("a"))
    try await service.sync()
    #expect(try await service.undoable().isEmpty)
    try await service.discard(service.failedChanges())
    guard case .discarded = try await change.outcome else { Issue.record("not discarded"); return }

    let dropped = try #require(try await service.undoable().first)
    #expect(dropped.id == change.id && dropped.recordID == cloud.id("a") && dropped.recordType == "Note")
    #expect(dropped.fields == ["text"] && !dropped.isDeletion)
    cloud.refuse()
    let restored = try await service.undo(dropped)
    guard case .failed = try await restored.outcome else { Issue.record("not failed again"); return }
    try await service.retry(service.failedChanges())
    try await service.sync()
    guard case .sent(let record?) = try await restored.outcome else { Issue.record("not sent"); return }
    #expect(record["text"] as? String == "x")
    await #expect(throws: StoreError.self) { try await service.undo(dropped) }
  }

  @Test func `nothing is restored if more of the change was dropped since it was read`() async throws {
    cloud.refuse("a")
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    try await service.sync()
    try await service.discard(service.failedChanges())
    let shown = try #require(try await service.undoable().first)
    let store = try #require(service.store)
    try store.write { ledger in
      var dropped = try #require(try ledger.dropped(of: shown.id).first)
      dropped.changes = FieldChanges(values: ["more": .int64(1)])
      try ledger.add(dropped)
    }

    await #expect(throws: StoreError.self) { try await service.undo(shown) }
    let current = try #require(try await service.undoable().first)
    #expect(current.id == shown.id && current.version != shown.version)
    #expect(try await service.undo(current).id != nil)
  }

  @Test func `a failed change has its whole message`() async throws {
    let service = try cloud.service()
    let change = try await service.save(cloud.note("a"))
    let message = String(repeating: "long ", count: 100)
    let id = try #require(change.id)
    try #require(service.store).write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.failed(.rejected(code: "BAD_REQUEST", message: message)))
      try ledger.update(operation)
    }
    #expect(try await service.failedChanges().map(\.failure.message) == [message])
  }

  @Test func `deletions on hold are listed, and decided in the version that was shown`() async throws {
    let (mine, theirs) = (try cloud.service { $0.deletionGuard = DeletionGuard(count: 2) }, try cloud.service("theirs"))
    try await share(["a", "b", "c", "d"], of: theirs, with: mine)
    try await theirs.delete([cloud.id("a"), cloud.id("b")])
    try await theirs.sync()
    try await mine.sync()
    let held = try #require(try await mine.heldDeletions().first)
    #expect(held.records == 2 && held.zoneID == cloud.zone && !held.isWholeZone)

    #expect(try await mine.acceptDeletions(in: cloud.zone, ifVersion: "000000000000").hasMoved)
    #expect(try await mine.restoreDeletions(in: cloud.zone, ifVersion: held.version).records == 2)
    try await mine.sync()
    #expect(try await mine.heldDeletions().isEmpty)
    #expect(cloud.emulator.recordCount() == 4)

    try await theirs.sync()
    try await theirs.delete([cloud.id("c"), cloud.id("d")])
    try await theirs.sync()
    try await mine.sync()
    #expect(try await mine.acceptDeletions(in: cloud.zone).records == 2)
    #expect(try await mine.fetch(recordID: cloud.id("c")) == nil)
    #expect(try await mine.heldDeletions().isEmpty)
  }

  @Test func `nothing is sent while everything or the zone is paused`() async throws {
    let service = try cloud.service()
    let change = try await service.save(cloud.note("a"))
    try await service.pause()
    await until { service.isPaused }
    try await service.sync()
    #expect(cloud.emulator.recordCount() == 0 && service.syncStatus == .paused)

    try await service.pause(cloud.zone)
    try await service.resume()
    await until { !service.isPaused }
    try await service.sync()
    #expect(cloud.emulator.recordCount() == 0)

    try await service.resume(cloud.zone)
    try await service.sync()
    guard case .sent = try await change.outcome else { Issue.record("not sent"); return }
    #expect(cloud.emulator.recordCount() == 1)
  }

  @Test func `a read-only service decides nothing`() async throws {
    let service = try cloud.service(isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await service.pause() }
    await #expect(throws: CloudKitServiceError.self) { try await service.retry([]) }
    await #expect(throws: CloudKitServiceError.self) { try await service.acceptDeletions(in: cloud.zone) }
    #expect(try await service.conflicts().isEmpty)
    #expect(try await service.failedChanges().isEmpty)
  }
}
