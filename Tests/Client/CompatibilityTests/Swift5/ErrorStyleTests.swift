import CloudKit
import Testing

/// What an engine does about an error, by its code: every code that Apple's framework names.
private func advice(for error: CKError) -> String {
  switch error.code {
  case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
    .serverResponseLost, .operationCancelled:
    return "later"
  case .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable, .permissionFailure,
    .participantMayNeedVerification:
    return "account"
  case .serverRecordChanged, .batchRequestFailed, .partialFailure, .changeTokenExpired, .resultsTruncated:
    return "again"
  case .zoneNotFound, .userDeletedZone, .unknownItem, .referenceViolation:
    return "missing"
  case .assetFileNotFound, .assetFileModified, .assetNotAvailable, .invalidArguments, .constraintViolation,
    .limitExceeded, .quotaExceeded, .tooManyParticipants, .alreadyShared, .serverRejectedRequest,
    .participantAlreadyInvited:
    return "refused"
  case .internalError, .badContainer, .badDatabase, .missingEntitlement, .incompatibleVersion:
    return "program"
  @unknown default:
    return "unknown"
  }
}

@Suite(.serialized) struct ErrorStyleTests {
  @Test func `every code is switched over`() {
    #expect(advice(for: CKError(.zoneBusy)) == "later")
    #expect(advice(for: CKError(.quotaExceeded)) == "refused")
    #expect(advice(for: CKError(CKError.Code.userDeletedZone)) == "missing")
  }

  @Test func `errors are caught by pattern, by cast and by code`() async throws {
    let database = try emulatedContainer().publicCloudDatabase
    var caught: [String] = []

    do {
      _ = try await database.record(for: CKRecord.ID(recordName: "nobody"))
    } catch let error as CKError where error.code == .unknownItem {
      caught.append("cast")
    }
    do {
      _ = try await database.record(for: CKRecord.ID(recordName: "nobody"))
    } catch CKError.unknownItem {
      caught.append("pattern")
    }
    do {
      _ = try await database.record(for: CKRecord.ID(recordName: "nobody"))
    } catch let error as NSError {
      if error.domain == CKErrorDomain, error.code == CKError.Code.unknownItem.rawValue { caught.append("NSError") }
    }

    #expect(caught == ["cast", "pattern", "NSError"])
  }

  @Test func `a conflict hands over the server's record`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let id = CKRecord.ID(recordName: "n")
    let mine = CKRecord(recordType: "Note", recordID: id)
    let theirs = CKRecord(recordType: "Note", recordID: id)
    theirs["title"] = "Tea"
    try await database.save(theirs)

    do {
      try await database.save(mine)
      Issue.record("The save should have failed.")
    } catch let error as CKError {
      #expect(error.code == .serverRecordChanged)
      #expect(error.serverRecord?["title"] as? String == "Tea")
    }
  }
}
