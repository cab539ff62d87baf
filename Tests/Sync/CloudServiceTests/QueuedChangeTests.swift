import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// Awaiting what becomes of a change.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct QueuedChangeTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  /// A name for an outcome, with the text of the server's record if there is one.
  private func name(_ outcome: ChangeOutcome) -> String {
    func text(_ record: CKRecord?) -> String { record.map { " \($0["text"] as? String ?? "-")" } ?? "" }
    return switch outcome {
    case .sent(let record): "sent" + text(record)
    case .failed: "failed"
    case .conflict: "conflict"
    case .merged(let record, let dropped): "merged" + text(record) + " without \(dropped)"
    case .superseded: "superseded"
    case .discarded: "discarded"
    }
  }

  private func outcomes(_ changes: [QueuedChange]) async throws -> [String] {
    try await changes.outcomes.items.map { name($0.outcome) }
  }

  @Test func `the outcome of a save is the server's record, and that of a delete that it is gone`() async throws {
    let service = try cloud.service()
    let saved = try await service.save(cloud.note("a"))
    async let outcome = saved.outcome
    try await service.sync()

    guard case .sent(let record?) = try await outcome else { Issue.record("not sent"); return }
    #expect(record["text"] as? String == "x" && record.recordChangeTag != nil && record.modificationDate != nil)
    #expect(saved.id != nil && saved.recordID == cloud.id("a") && !saved.isDeletion)
    let again = try await service.save(record)
    #expect(again.id == nil)
    #expect(try await name(again.outcome) == "sent x")

    let deleted = try await service.delete(cloud.id("a"))
    try await service.sync()
    #expect(try await name(deleted.outcome) == "sent")
    #expect(cloud.emulator.recordCount() == 0)
  }

  @Test func `an outcome is known whichever process syncs, and while it syncs by itself`() async throws {
    let (mine, other) = (try cloud.service(), try cloud.service())
    let change = try await mine.save(cloud.note("a"))
    async let outcome = change.outcome
    other.start()

    #expect(try await name(outcome) == "sent x")
    await other.stop()
  }

  @Test func `a change that is refused fails with the server's error, and can be retried`() async throws {
    cloud.refuse("bad")
    let service = try cloud.service()
    let change = try await service.save(cloud.note("bad"))
    try await service.sync()

    guard case .failed(let failure) = try await change.outcome else { Issue.record("not failed"); return }
    #expect(failure.ckError.code == .invalidArguments && failure.ckError.serverErrorCode == failure.code)
    #expect(failure.ckError.serverReason == failure.message)
    let failed = try await service.failedChanges()
    #expect(failed.map(\.id) == [change.id] && failed[0].failure == failure)
    #expect(failed[0].recordID == cloud.id("bad") && failed[0].recordType == "Note" && failed[0].attempts == 1)

    cloud.refuse()
    #expect(try await service.retry(failed) == failed.map(\.id))
    #expect(try await service.discard(failed) == [])
    try await service.sync()
    #expect(try await name(change.outcome) == "sent x")
  }

  @Test func `of a batch each change has an outcome`() async throws {
    cloud.refuse("bad", "dropped")
    let service = try cloud.service()
    let names = ["one", "bad", "two", "gone", "dropped"]
    let changes = try await service.save(names.map { cloud.note($0) })
    let deleted = try await service.delete([cloud.id("gone"), cloud.id("unknown")])
    try await service.sync()
    try await service.discard(service.failedChanges().filter { $0.recordID == cloud.id("dropped") })

    let outcome = try await changes.outcomes
    #expect(outcome.items.map(\.change.recordID.recordName) == names)
    #expect(outcome.successful.map(\.recordName) == ["one", "two"])
    #expect(outcome.failed.map(\.recordID.recordName) == ["bad"] && outcome.conflicts.isEmpty)
    #expect(outcome.dropped.map(\.recordName) == ["gone", "dropped"])
    #expect(try await outcomes(deleted) == ["sent", "sent"])
    #expect(try await [QueuedChange]().outcomes.items.isEmpty)
  }

  @Test func `a later change of the record is awaited, and one that makes an earlier one needless supersedes it`()
    async throws
  {
    let service = try cloud.service()
    let record = cloud.note("a", "1")
    let first = try await service.save(record)
    record["text"] = "2"
    let second = try await service.save(record)
    #expect(first.id == second.id)
    try await service.sync()
    #expect(try await outcomes([first, second]) == ["sent 2", "sent 2"])

    record["text"] = "3"
    let edit = try await service.save(record)
    record["text"] = "2"
    try await service.save(record)
    #expect(try await name(edit.outcome) == "superseded")
  }

  @Test func `a deletion supersedes the save before it, and a save the deletion before it`() async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a", "1"))
    try await service.sync()
    let record = try #require(try await service.fetch(recordID: cloud.id("a")))
    record["text"] = "2"
    let (saved, deleted) = (try await service.save(record), try await service.delete(cloud.id("a")))
    #expect(saved.id == deleted.id)
    try await service.sync()
    #expect(try await outcomes([saved, deleted]) == ["superseded", "sent"])
    #expect(try await [saved].outcomes.successful.isEmpty)

    try await service.save(cloud.note("a", "3"))
    try await service.sync()
    let gone = try await service.delete(cloud.id("a"))
    let again = try await service.save(cloud.note("a", "4"))
    #expect(gone.id == again.id)
    try await service.sync()
    #expect(try await outcomes([gone, again]) == ["superseded", "sent 4"])
  }

  @Test(arguments: [
    (["text": "mine"], "merged theirs without [\"text\"]"),
    (["text": "mine", "title": "mine"], "merged theirs without [\"text\"]"),
    (["title": "mine"], "sent theirs"),
  ])
  func `the fields that lost against the server are in the outcome, whether or not others were sent`(
    edits: [String: String],
    outcome: String
  ) async throws {
    let (mine, theirs) = (try cloud.service("mine"), try cloud.service("theirs"))
    try await mine.save(cloud.note("a", "old"))
    try await mine.sync()
    try await theirs.sync()
    for (service, edits) in [(theirs, ["text": "theirs"]), (mine, edits)] {
      let record = try #require(try await service.fetch(recordID: cloud.id("a")))
      for (field, value) in edits { record[field] = value }
      let change = try await service.save(record)
      try await service.sync()
      guard service === mine else { continue }
      #expect(try await name(change.outcome) == outcome)
      // It does not depend on later edits.
      try await service.save(cloud.note("a", "later"))
      #expect(try await name(change.outcome) == outcome)
    }
    let record = try #require(try await mine.fetch(recordID: cloud.id("a")))
    #expect(record["title"] as? String == edits["title"])
  }

  @Test func `a conflict is the outcome until it is resolved`() async throws {
    let mine = try cloud.service { $0.policy = .manual }
    let theirs = try cloud.service("theirs")
    try await theirs.save(cloud.note("a", "old"))
    try await theirs.sync()
    try await mine.sync()
    for (service, text) in [(theirs, "theirs"), (mine, "mine")] {
      let record = try #require(try await service.fetch(recordID: cloud.id("a")))
      record["text"] = text
      let change = try await service.save(record)
      try await service.sync()
      guard service === mine else { continue }

      guard case .conflict(let conflict) = try await change.outcome else { Issue.record("no conflict"); return }
      #expect(try await mine.conflicts() == [conflict])
      #expect(conflict.id == change.id && conflict.change.fields == ["text"])
      #expect(conflict.change.serverRecord?["text"] as? String == "theirs")
      guard case .resolved(let rest) = try await mine.resolve(conflict, taking: .local) else {
        Issue.record("not resolved")
        return
      }
      try await mine.sync()
      #expect(try await outcomes([change, rest]) == ["sent mine", "sent mine"])
      guard case .changed(nil) = try await mine.resolve(conflict, taking: .server) else {
        Issue.record("resolved twice")
        return
      }
    }
  }

  @Test func `a wait that was cancelled keeps nothing`() async throws {
    var service: CloudKitService? = try cloud.service()
    weak let store = service?.store
    var change = try await service?.save(cloud.note("a"))
    let waiting = Task { [change] in try await change?.outcome }
    while store?.outcomeWaits.state.withLock(\.waits.isEmpty) == true { await Task.yield() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    (service, change) = (nil, nil)
    while store != nil { await Task.yield() }
  }

  @Test func `waiting for an outcome can be cancelled, which leaves the change alone`() async throws {
    let service = try cloud.service()
    let change = try await service.save(cloud.note("a"))
    let waiting = Task { try await change.outcome }
    while try #require(service.store).outcomeWaits.state.withLock(\.waits.isEmpty) { await Task.yield() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }

    try await service.sync()
    #expect(try await name(change.outcome) == "sent x")
  }

  @Test func `deleting a record twice, or one that never was, is no error`() async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    try await service.sync()
    let first = try await service.delete(cloud.id("a"))
    try await service.sync()
    let others = try await service.delete([cloud.id("a"), cloud.id("unknown")])
    let summary = try await service.sync()
    #expect(try await outcomes([first] + others) == ["sent", "sent", "sent"])
    #expect(summary.itemFailure == nil && service.lastError == nil && service.queueStatus.totalCount == 0)
  }

  @Test func `a batch with a success, a failure, a conflict and a dropped change counts each once`() async throws {
    let mine = try cloud.service { $0.policy = .manual }
    let theirs = try cloud.service("theirs")
    try await theirs.save(cloud.note("both", "old"))
    try await theirs.sync()
    try await mine.sync()
    let other = try #require(try await theirs.fetch(recordID: cloud.id("both")))
    other["text"] = "theirs"
    try await theirs.save(other)
    try await theirs.sync()
    let both = try #require(try await mine.fetch(recordID: cloud.id("both")))
    both["text"] = "mine"
    cloud.refuse("bad")

    let changes = try await mine.save([cloud.note("good"), both, cloud.note("bad"), cloud.note("replaced")])
    try await mine.delete(cloud.id("replaced"))
    try await mine.sync()
    let outcome = try await changes.outcomes
    #expect(outcome.successful == [cloud.id("good")] && outcome.failed.map(\.recordID) == [cloud.id("bad")])
    #expect(outcome.conflicts.map(\.change.recordID) == [cloud.id("both")])
    #expect(outcome.dropped == [cloud.id("replaced")])
    let counts = [outcome.successful.count, outcome.failed.count, outcome.conflicts.count, outcome.dropped.count]
    #expect(counts.reduce(0, +) == changes.count)

    let conflict = try #require(outcome.conflicts.first)
    try await mine.resolve(conflict, taking: .local)
    try await mine.sync()
    let resolved = try await changes.outcomes
    #expect(resolved.successful == [cloud.id("good"), cloud.id("both")] && resolved.conflicts.isEmpty)
  }

  @Test func `a delete that is refused is reported, and the others of its batch are deleted`() async throws {
    let service = try cloud.service()
    try await service.save(["a", "bad", "c"].map { cloud.note($0) })
    try await service.sync()
    cloud.refuse("bad")
    let changes = try await service.delete(["a", "bad", "c"].map { cloud.id($0) })
    try await service.sync()

    let outcome = try await changes.outcomes
    #expect(outcome.successful == [cloud.id("a"), cloud.id("c")])
    #expect(outcome.failed.map(\.recordID) == [cloud.id("bad")])
    #expect(outcome.failed.first?.failure.ckError.code == .invalidArguments)
    #expect(cloud.emulator.recordCount() == 1)
    #expect(try await service.failedChanges().map(\.isDeletion) == [true])
  }

  @Test func `a file is uploaded although its source was changed and deleted after the save`() async throws {
    let service = try cloud.service()
    let folder = try TemporaryFolder()
    let source = try folder.file("source", "hello")
    let record = cloud.note("a")
    record["file"] = CKAsset(fileURL: source)
    let change = try await service.save(record)
    try Data("other".utf8).write(to: source)
    try FileManager.default.removeItem(at: source)
    try await service.sync()

    guard case .sent(let sent?) = try await change.outcome, let asset = sent["file"] as? CKAsset else {
      Issue.record("not sent")
      return
    }
    #expect(try await Data(contentsOf: asset.download()) == Data("hello".utf8))
  }
}
