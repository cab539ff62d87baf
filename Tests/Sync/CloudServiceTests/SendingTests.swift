import CloudKit
import CloudKitEmulator
import CloudSupport
import CloudSync
import Foundation
import Testing

@testable import CloudService

/// Saving a record and waiting for the server's answer.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct SendingTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  /// A delegate that accepts records with a title only, each for a reason of its own.
  private final class Validator: SyncEngineDelegate {
    func syncEngine(_ engine: SyncEngine, validate record: CKRecord) throws {
      if record["text"] == nil { throw CloudKitServiceError.missingRequiredField("text") }
    }

    func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord {
      if record["text"] as? String == "late" { throw CloudKitServiceError.missingRequiredField("title") }
      return record
    }
  }

  private func error(_ body: () async throws -> CKRecord) async -> CloudKitServiceError? {
    do {
      _ = try await body()
    } catch let error as CloudKitServiceError {
      return error
    } catch {
      Issue.record(error)
    }
    return nil
  }

  @Test(arguments: [false, true]) func `a save that is sent returns the server's record`(isSyncing: Bool) async throws {
    let service = try cloud.service()
    if isSyncing { service.start() }
    let record = cloud.note("a")

    let saved = try await service.saveAndSend(record)
    #expect(saved["text"] as? String == "x" && saved.recordChangeTag != nil && saved.modificationDate != nil)
    #expect(cloud.emulator.recordCount() == 1 && service.queuedOperationCount == 0)
    saved["text"] = "y"
    let again = try await service.saveAndSend(saved)
    #expect(again["text"] as? String == "y" && again.recordChangeTag != saved.recordChangeTag)
    await service.stop()
  }

  @Test func `offline the error has the change, which is in the queue and sent later`() async throws {
    let service = try cloud.service()
    cloud.emulator.isOffline = true
    do {
      try await service.saveAndSend(cloud.note("a"))
      Issue.record("sent")
    } catch CloudKitServiceError.networkUnavailable(let error, let queued?) {
      #expect(error?.code == .networkUnavailable && queued.recordID == cloud.id("a") && queued.id != nil)
      #expect(service.queuedOperationCount == 1 && service.queueStatus.failedCount == 0)

      cloud.emulator.isOffline = false
      try await service.sync()
      guard case .sent = try await queued.outcome else { Issue.record("not sent"); return }
    }
    #expect(cloud.emulator.recordCount() == 1)
  }

  @Test func `a conflict that a person decides throws both records, and stays in the queue`() async throws {
    let mine = try cloud.service { $0.policy = .manual }
    let theirs = try cloud.service("theirs")
    try await theirs.saveAndSend(cloud.note("a", "old"))
    try await mine.sync()
    let other = try #require(try await theirs.fetch(recordID: cloud.id("a")))
    other["text"] = "theirs"
    try await theirs.saveAndSend(other)
    let record = try #require(try await mine.fetch(recordID: cloud.id("a")))
    record["text"] = "mine"

    do {
      try await mine.saveAndSend(record)
      Issue.record("sent")
    } catch CloudKitServiceError.conflictDetected(let local, let remote) {
      #expect(local["text"] as? String == "mine" && remote["text"] as? String == "theirs")
      #expect(remote.recordChangeTag != nil)
    }
    #expect(mine.status.conflicts == 1)
  }

  @Test func `of a batch the records that the app does not accept are reported, and the others are queued`()
    async throws
  {
    let service = try cloud.service(delegate: Validator())
    let bad = ["bad", "worse"].map { CKRecord(recordType: "Note", recordID: cloud.id($0)) }

    let error = await #expect(throws: CloudKitServiceError.self) {
      try await service.save([cloud.note("a"), bad[0], cloud.note("b"), bad[1]])
    }

    #expect(error?.ckError?.code == .partialFailure)
    let errors = try #require(error?.ckError?.partialErrorsByItemID)
    #expect(Set(errors.keys) == [cloud.id("bad"), cloud.id("worse")])
    guard case .missingRequiredField("text")? = errors[cloud.id("bad")] as? CloudKitServiceError else {
      Issue.record("\(errors)")
      return
    }
    try await service.sync()
    #expect(cloud.emulator.recordCount() == 2 && service.queuedOperationCount == 0)
  }

  @Test func `a record that the app does not accept is not queued, and its own error is thrown`() async throws {
    let service = try cloud.service(delegate: Validator())
    let invalid = CKRecord(recordType: "Note", recordID: cloud.id("bad"))
    do {
      try await service.save([invalid])
      Issue.record("accepted")
    } catch CloudKitServiceError.missingRequiredField(let field) {
      #expect(field == "text")
    }
    guard case .missingRequiredField? = await error({ try await service.saveAndSend(invalid) }) else {
      Issue.record("accepted")
      return
    }
    #expect(throws: CloudKitServiceError.self) { try service.engine?.save([invalid]) }
    #expect(service.queuedOperationCount == 0)
  }

  @Test func `of a batch the record that the app rejects is reported, and the others are saved`() async throws {
    let service = try cloud.service(delegate: Validator())
    let changes = try await service.save([cloud.note("a"), cloud.note("b", "late"), cloud.note("c")])
    try await service.sync()
    let outcome = try await changes.outcomes
    #expect(outcome.successful == [cloud.id("a"), cloud.id("c")] && outcome.failed.map(\.recordID) == [cloud.id("b")])

    let rejected = await error { try await service.saveAndSend(cloud.note("d", "late")) }
    guard case .invalidRecord(let reason, _)? = rejected else {
      Issue.record("sent")
      return
    }
    #expect(reason == CloudKitServiceError.missingRequiredField("title").errorDescription)
    #expect(service.queueStatus.failedCount == 2)
  }

  @Test func `a rejection is the server's error, and a pause is a reason to wait`() async throws {
    cloud.refuse("bad")
    let service = try cloud.service()
    let rejected = await error { try await service.saveAndSend(cloud.note("bad")) }
    #expect(rejected?.ckError?.code == .invalidArguments)
    #expect(try await service.failedChanges().map(\.recordID) == [cloud.id("bad")])

    try await service.pause()
    guard case .queued(let change, let reason)? = await error({ try await service.saveAndSend(cloud.note("a")) }) else {
      Issue.record("not queued")
      return
    }
    #expect(change.recordID == cloud.id("a") && !reason.isEmpty)
    try await service.resume()
    try await service.sync()
    guard case .sent = try await change.outcome else { Issue.record("not sent"); return }
  }

  @Test func `each outcome of a save has its result`() async throws {
    let service = try cloud.service()
    let record = cloud.note("a")
    let change = try await service.save(record)
    let outcomes: [(ChangeOutcome?, CloudKitServiceError?, String)] = [
      (.sent(record), nil, "record"), (.sent(record), .networkUnavailable(), "record"),
      (.merged(record, dropped: ["text"]), nil, "record"), (.merged(nil, dropped: []), nil, "recordNotFound"),
      (.sent(nil), nil, "recordNotFound"), (.superseded, nil, "unknown"), (.discarded, nil, "unknown"),
      (.failed(SyncFailure(code: "BAD_REQUEST", message: "")), nil, "invalidRecord"),
      (.failed(SyncFailure(code: "APP_REFUSED", message: "")), nil, "invalidRecord"),
      (.failed(SyncFailure(code: "ACCESS_DENIED", message: "")), .networkUnavailable(), "permissionDenied"),
      (nil, .networkUnavailable(), "networkUnavailable with change"), (nil, .quotaExceeded(), "quotaExceeded"),
      (nil, .accountUnavailable(), "accountUnavailable"), (nil, nil, "queued"),
    ]
    for (outcome, failure, expected) in outcomes {
      let result: String
      do throws(CloudKitServiceError) {
        result = try CloudKitService.saved(change, outcome, after: failure, waitingFor: "") === record ? "record" : ""
      } catch {
        result =
          switch error {
          case .networkUnavailable(_, let queued) where queued?.id == change.id: "networkUnavailable with change"
          case .recordNotFound: "recordNotFound"
          case .invalidRecord: "invalidRecord"
          case .permissionDenied: "permissionDenied"
          case .quotaExceeded: "quotaExceeded"
          case .accountUnavailable: "accountUnavailable"
          case .queued: "queued"
          case .unknown: "unknown"
          default: "\(error)"
          }
      }
      #expect(result == expected)
    }
  }
}
