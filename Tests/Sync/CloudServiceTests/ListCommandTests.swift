import CloudKit
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync

/// Commands about many operations, conflicts and zones, with their receipts.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ListCommandTests {
  private let folder: TemporaryFolder
  private let store: SyncStore
  private let service: CloudKitService
  private let zone = ZoneKey(zone: "z")

  init() throws {
    folder = try TemporaryFolder()
    let scope = SyncStore.Scope(container: "iCloud.test", environment: "development", database: .private)
    store = try SyncStore(path: folder.path("store.sqlite"), scope: scope)
    service = try CloudKitService(store: store, engine: nil)
  }

  private func enqueue(_ names: [String]) throws {
    let changes = FieldChanges(values: ["title": .string("here")])
    _ = try store.enqueue(names.map { Change(RecordKey(zone, $0), .save(type: "Row", changes)) })
  }

  /// Runs commands to their end, and returns their receipts.
  private func receipts(_ commands: ServiceCommand...) async -> [Receipt] {
    var receipts: [Receipt] = []
    service.received = { receipts.append($0) }
    for command in commands { service.give(command) }
    await service.drain(within: .seconds(60))
    return receipts
  }

  private func set(_ state: String, _ ids: [Int64]) throws {
    let conflictAt = state == "conflict" ? "1" : "NULL"
    let numbers = ids.map(String.init).joined(separator: ", ")
    try store.write {
      try $0.run("UPDATE operations SET state = '\(state)', conflictAt = \(conflictAt) WHERE id IN (\(numbers))")
    }
  }

  @Test func `a receipt names the operations that were changed`() async throws {
    try enqueue(["a", "b", "c"])
    try set("failed", [1, 3])

    let receipts = await receipts(
      .perform(.retry, .listing(QueueListing(), except: [])),
      .perform(.discard, .ids([2, 9]))
    )

    #expect(receipts.map(\.result.changed) == [[1, 3], [2]])
    #expect(receipts.map(\.changed) == [2, 1] && receipts[1].result.unknown == [9])
  }

  @Test func `conflicts are resolved alike, but not one that has changed meanwhile`() async throws {
    try enqueue(["a", "b", "c"])
    try set("conflict", [1, 2])
    let versions = try store.conflictVersions().reduce(into: [Int64: String]()) { $0[$1.id] = $1.version }
    let decided = [1: versions[1] ?? "", 2: "0123456789ab", 3: "0123456789ab"] as [Int64: String]

    let receipt = try #require(await receipts(.resolveAll(decided, take: .local, fields: [:])).first)

    #expect(receipt.result.changed == [1] && receipt.changed == 1 && receipt.failure == nil)
    #expect(receipt.result.skipped == [2: .changed(state: "conflict")] && receipt.result.unknown == [3])
    #expect(try store.view { try $0.conflicts().rows.map(\.id) } == [2])
  }

  @Test func `what discards dropped is undone, and what cannot be is named with the reason`() async throws {
    try enqueue(["a", "b"])

    let all = await receipts(.perform(.discard, .ids([1, 2])), .undo([1, 7, 2]), .undo([1, 7]), .undo([7]))

    #expect(all[1].result.changed == [1, 2] && all[1].changed == 2 && all[1].failure == nil)
    #expect(Array(all[1].result.skipped.keys) == [7])
    #expect(try store.operations().rows.map(\.key.name) == ["a", "b"])
    #expect(all[2].failure == nil && all[2].changed == 0 && all[2].result.skipped.count == 2)
    #expect(all[3].doesNotApply && all[3].changed == 0)
  }

  @Test func `all that can be undone is undone, except what is named`() async throws {
    try enqueue(["a", "b", "c"])
    _ = await receipts(.perform(.discard, .ids([1, 2, 3])))
    let rows = try store.view { try $0.dropped(DroppedListing(), offset: 0, limit: 9).rows }
    let second = try #require(rows.first { $0.change.operation == 2 })

    let receipt = try #require(await receipts(.undoAll(DroppedListing(), except: [second.id])).first)

    #expect(receipt.result.changed.sorted() == [1, 3])
    #expect(Set(try store.operations().rows.map(\.key.name)) == ["a", "c"])
  }

  @Test func `several zones are paused and resumed at once, and a receipt counts those that were not yet`() async throws
  {
    try enqueue(["a"])
    let other = ZoneKey(zone: "other")

    let receipts = await receipts(
      .pause([.zone(zone)]),
      .pause([.zone(zone), .zone(other)]),
      .resume([.zone(zone), .type("Row")])
    )

    #expect(receipts.map(\.changed) == [1, 1, 1])
    #expect(try store.pauses().map(\.rule) == [.zone(other)])
  }

  @Test(arguments: [true, false])
  func `deletions on hold are decided only in the version that was shown`(_ isAccepted: Bool) async throws {
    try store.write { ledger in
      try ledger.insertZone(zone, state: .ready)
      for name in ["a", "b", "c"] {
        let record = MirrorRecord(key: RecordKey(zone, name), type: "Row", changeTag: "1", fields: [:])
        try ledger.put(record, epoch: name == "c" ? 0 : MirrorRecord.gone)
      }
      var known = try #require(try ledger.zone(zone))
      known.heldSince = 1
      try ledger.put(known)
    }
    let version = try #require(try store.heldDeletions().first?.version)
    func command(_ version: String) -> ServiceCommand {
      isAccepted ? .acceptDeletions(zone, version: version) : .restoreDeletions(zone, version: version)
    }

    let receipts = await receipts(command("0123456789ab"), command(version))

    #expect(receipts[0].doesNotApply && receipts[0].changed == 0)
    #expect(receipts[1].failure == nil && receipts[1].changed == 2)
    #expect(try store.heldDeletions().isEmpty)
    #expect(try store.operations().rows.map(\.key.name) == (isAccepted ? [] : ["a", "b"]))
  }

  @Test func `a command that changes many operations shows its progress until it ends`() async throws {
    try enqueue((1...1200).map { "r\($0)" })
    let command = ServiceCommand.perform(.pause, .listing(QueueListing(), except: []))
    var shown: [CommandProgress] = []
    service.changed = { [service] in
      if let progress = service.progress { shown.append(progress) }
    }

    let receipt = try #require(await receipts(command).first)

    #expect(receipt.changed == 1200)
    #expect(shown.first == CommandProgress(command, done: 500, total: 1200))
    #expect(service.progress == nil)
  }
}
