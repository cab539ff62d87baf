import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudService
@testable import CloudSync

/// Errors of the service.
@Suite struct ServiceErrorTests {
  /// The names of the cases.
  private func name(_ error: CloudKitServiceError) -> String {
    switch error {
    case .containerNotFound: "containerNotFound"
    case .accountUnavailable: "accountUnavailable"
    case .networkUnavailable: "networkUnavailable"
    case .writeNotSupportedOnPlatform: "writeNotSupportedOnPlatform"
    case .missingRequiredField: "missingRequiredField"
    case .recordNotFound: "recordNotFound"
    case .notFetchedYet: "notFetchedYet"
    case .conflictDetected: "conflictDetected"
    case .quotaExceeded: "quotaExceeded"
    case .permissionDenied: "permissionDenied"
    case .invalidRecord: "invalidRecord"
    case .queued: "queued"
    case .unknown: "unknown"
    }
  }

  private static let expected: [CKError.Code: String] = [
    .badContainer: "containerNotFound", .missingEntitlement: "containerNotFound",
    .notAuthenticated: "accountUnavailable", .accountTemporarilyUnavailable: "accountUnavailable",
    .managedAccountRestricted: "accountUnavailable",
    .networkUnavailable: "networkUnavailable", .networkFailure: "networkUnavailable",
    .serverResponseLost: "networkUnavailable",
    .unknownItem: "recordNotFound", .quotaExceeded: "quotaExceeded", .permissionFailure: "permissionDenied",
    .invalidArguments: "invalidRecord", .limitExceeded: "invalidRecord", .assetFileNotFound: "invalidRecord",
  ]

  @Test func `each code of the framework maps to its case, and the error stays within reach`() {
    let codes = (1...40).compactMap(CKError.Code.init(rawValue:))
    #expect(codes.count >= 33)
    for code in codes {
      let original = CKError(code, userInfo: ["key": "value"])
      let error = CloudKitServiceError(original)
      #expect(name(error) == Self.expected[code] ?? "unknown", "\(code)")
      #expect(error.ckError?.code == code && error.ckError?.userInfo["key"] as? String == "value", "\(code)")
    }
  }

  @Test func `a conflict has both records`() {
    let (local, remote) = (CKRecord(recordType: "Note"), CKRecord(recordType: "Note"))
    let info = [CKRecordChangedErrorClientRecordKey: local, CKRecordChangedErrorServerRecordKey: remote]
    let error = CloudKitServiceError(CKError(.serverRecordChanged, userInfo: info))
    guard case .conflictDetected(let mine, let theirs) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(mine === local && theirs === remote && error.ckError?.code == .serverRecordChanged)
    #expect(error.ckError?.clientRecord === local && error.ckError?.serverRecord === remote)
  }

  /// A change of a store in memory.
  private func change() throws -> QueuedChange {
    let scope = SyncStore.Scope(container: "iCloud.test", environment: "development", database: .private)
    return try SyncStore(SQLiteStorage(inMemory: "errors"), scope: scope).save([CKRecord(recordType: "Note")])[0]
  }

  @Test func `each case has a text of its own`() throws {
    let record = CKRecord(recordType: "Note")
    let errors: [CloudKitServiceError] = [
      .containerNotFound(), .accountUnavailable(), .networkUnavailable(), .writeNotSupportedOnPlatform,
      .missingRequiredField("title"), .recordNotFound(), .notFetchedYet,
      .conflictDetected(local: record, remote: record),
      .quotaExceeded(), .permissionDenied(), .invalidRecord("too large"), .unknown(StoreError(.damaged, "damaged")),
      .queued(try change(), reason: "everything is paused"),
    ]
    let texts = errors.compactMap(\.errorDescription)
    #expect(Set(texts).count == errors.count && !texts.contains(""))
    #expect(errors.allSatisfy { $0.localizedDescription == $0.errorDescription })
    #expect(errors.filter { $0.ckError != nil }.map(name) == ["conflictDetected"])
  }

  @Test func `an error of the store that rejects a record is an invalid record, and others stay`() {
    guard case .invalidRecord("no", nil) = CloudKitServiceError(StoreError(.invalid, "no")),
      case .unknown(let error) = CloudKitServiceError(StoreError(.diskFull, "full"))
    else {
      Issue.record("other cases")
      return
    }
    #expect((error as? StoreError)?.message == "full")
  }

  @Test(arguments: ServerErrorCode.allNamed)
  func `a failure has the framework's error with the server's code`(code: ServerErrorCode) {
    let error = SyncFailure(code: code.name, message: "reason").ckError
    #expect(error.serverErrorCode == code.name && error.serverReason == "reason")
  }

  @Test func `the codes that have words are those of the server`() {
    #expect(ServerErrorCode.allNamed.filter { Words.brief($0.name) == $0.name } == [.uniqueFieldError])
  }
}
