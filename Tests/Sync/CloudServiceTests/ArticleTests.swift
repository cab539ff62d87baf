import CloudKit
import CloudService
import CloudSync
import CloudSyncModels
import Foundation
import OpenCombine
import TestSupport
import Testing

/// The article about the service, held against code.
struct ArticleTests {
  @Test func `each block of Swift in the article is compiled`() throws {
    let code = Set(trimmedLines(of: try packageText("Tests/Sync/CloudServiceTests/ArticleTests.swift")))
    let article = try packageText("Sources/Sync/CloudService/CloudService.docc/CloudService.md")
    let lines = codeBlocks(of: article).filter { $0.language == "swift" }.flatMap(\.lines)
    for line in lines { #expect(code.contains(line), "\(line)") }
    #expect(lines.count > 25)
  }
}

private struct Note: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var title: String
}

/// The code of the article.
@MainActor
private final class Examples {
  var title = ""
  var bar: Double?

  func show(_ value: Any?) {}
  func ask(_ conflict: OpenConflict) {}
  func ask(_ local: CKRecord, _ remote: CKRecord) {}
  func wait(until date: Date) {}

  func start(_ credential: CKCredential) throws -> CloudKitService {
    let container = CKContainer(identifier: "iCloud.org.example.notes", credential: credential)
    let service = try CloudKitService(SyncEngine.Configuration(container: container))
    service.start()
    return service
  }

  func sync(_ service: CloudKitService) async {
    service.startPeriodicSync(interval: 900)
    await service.stop()
  }

  func save(_ service: CloudKitService, _ records: [CKRecord], _ note: Note) async throws {
    let record = CKRecord(recordType: "Note")
    record["title"] = "Milk"
    let change = try await service.save(record)

    switch try await change.outcome {
    case .sent(let record?): show(record)
    case .sent(nil): show("deleted")
    case .failed(let failure): show(failure.ckError)
    case .conflict(let conflict): ask(conflict)
    case .merged, .superseded, .discarded: break
    }

    let result = try await service.save(records).outcomes
    print("\(result.successful.count) sent, \(result.failed.count) failed, \(result.conflicts.count) in conflict")

    try await service.store?.save(note)
  }

  func send(_ service: CloudKitService, _ record: CKRecord, _ container: CKContainer, _ url: URL) async throws {
    do {
      let saved = try await service.saveAndSend(record)
      show(saved)
    } catch CloudKitServiceError.networkUnavailable {
      show("queued")
    } catch CloudKitServiceError.conflictDetected(let local, let remote) {
      ask(local, remote)
    }

    try await service.accept(container.shareMetadata(for: url))
  }

  func follow(_ service: CloudKitService) async {
    for await status in service.statuses {
      title = status.verdict.sentence
      bar = status.progress?.fraction
      if let throttle = status.throttles.first { wait(until: throttle.until) }
    }
  }

  func subscribe(_ service: CloudKitService) {
    let subscription = service.statusPublisher.sink { status in print(status.queue.failed) }
    subscription.cancel()
  }

  func decide(_ service: CloudKitService, _ oldQueue: any CloudKitQueueStorage) async throws {
    for conflict in try await service.conflicts() {
      try await service.resolve(conflict, taking: .local, fields: ["title": .server])
    }
    try await service.retry(service.failedChanges())
    for held in try await service.heldDeletions() {
      try await service.restoreDeletions(in: held.zoneID, ifVersion: held.version)
    }
    if let dropped = try await service.undoable().first { try await service.undo(dropped) }
    try await service.pause()

    let moved = try await service.importQueue(from: oldQueue)
    for refusal in moved.refused { print(refusal.error) }
  }
}
