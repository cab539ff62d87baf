public import Foundation

extension CKError {
  /// What kind of error it is, with Apple's numbers.
  public enum Code: Int, Sendable, CaseIterable, _ErrorCodeProtocol {
    /// The error that has these codes.
    public typealias _ErrorType = CKError

    /// Something failed that has no code of its own.
    case internalError = 1
    /// Some items failed; `partialErrorsByItemID` says which.
    case partialFailure = 2
    /// The server cannot be reached; nothing was sent.
    case networkUnavailable = 3
    /// The connection failed on the way.
    case networkFailure = 4
    /// The container is unknown or misconfigured.
    case badContainer = 5
    /// The service is not available; try again after `retryAfterSeconds`.
    case serviceUnavailable = 6
    /// Too many requests; try again after `retryAfterSeconds`.
    case requestRateLimited = 7
    /// An entitlement is missing. Never produced here.
    case missingEntitlement = 8
    /// The credential is missing, expired or refused.
    case notAuthenticated = 9
    /// The user may not do this.
    case permissionFailure = 10
    /// The item does not exist.
    case unknownItem = 11
    /// The request is not valid.
    case invalidArguments = 12
    /// Results were cut off. Never produced here.
    case resultsTruncated = 13
    /// The server has another version; the error carries the records of both sides.
    case serverRecordChanged = 14
    /// The server rejected the request.
    case serverRejectedRequest = 15
    /// The asset's file does not exist.
    case assetFileNotFound = 16
    /// The asset's file changed during its upload.
    case assetFileModified = 17
    /// This version is too old. Never produced here.
    case incompatibleVersion = 18
    /// A unique field has that value already.
    case constraintViolation = 19
    /// The call was cancelled; a write may have taken effect.
    case operationCancelled = 20
    /// The change token is no longer valid: fetch everything anew.
    case changeTokenExpired = 21
    /// Another item of the same atomic group failed, so nothing was saved.
    case batchRequestFailed = 22
    /// The zone is busy; try again.
    case zoneBusy = 23
    /// The call is not possible in this database.
    case badDatabase = 24
    /// The storage quota is used up.
    case quotaExceeded = 25
    /// The zone does not exist.
    case zoneNotFound = 26
    /// The request is too large: split it.
    case limitExceeded = 27
    /// The user deleted the zone. Web Services report `zoneNotFound` instead.
    case userDeletedZone = 28
    /// A share has too many participants.
    case tooManyParticipants = 29
    /// The record is shared already.
    case alreadyShared = 30
    /// A validated reference would have no target.
    case referenceViolation = 31
    /// A managed account does not permit this. Never produced here.
    case managedAccountRestricted = 32
    /// The participant has to be verified.
    case participantMayNeedVerification = 33
    /// The answer to a write was lost: it may have taken effect, so read back.
    case serverResponseLost = 34
    /// The asset is not available.
    case assetNotAvailable = 35
    /// The account is not available now.
    case accountTemporarilyUnavailable = 36
    /// The participant is invited already.
    case participantAlreadyInvited = 37
  }
}

extension CKError.Code {
  /// The code in words, for messages.
  var summary: String {
    switch self {
    case .internalError: "the server failed"
    case .partialFailure: "some items failed"
    case .networkUnavailable: "the server cannot be reached"
    case .networkFailure: "the connection failed"
    case .badContainer: "the container is not known"
    case .serviceUnavailable: "the service is not available"
    case .requestRateLimited: "too many requests"
    case .missingEntitlement: "an entitlement is missing"
    case .notAuthenticated: "not signed in, or the credential was refused"
    case .permissionFailure: "not permitted"
    case .unknownItem: "the item does not exist"
    case .invalidArguments: "the request is not valid"
    case .resultsTruncated: "the results were cut off"
    case .serverRecordChanged: "the server has another version of the record"
    case .serverRejectedRequest: "the server rejected the request"
    case .assetFileNotFound: "the asset's file does not exist"
    case .assetFileModified: "the asset's file changed during its upload"
    case .incompatibleVersion: "this version is too old"
    case .constraintViolation: "a unique field has that value already"
    case .operationCancelled: "cancelled"
    case .changeTokenExpired: "the change token is no longer valid"
    case .batchRequestFailed: "another item of the atomic group failed"
    case .zoneBusy: "the zone is busy"
    case .badDatabase: "not possible in this database"
    case .quotaExceeded: "the storage quota is used up"
    case .zoneNotFound: "the zone does not exist"
    case .limitExceeded: "the request is too large"
    case .userDeletedZone: "the user deleted the zone"
    case .tooManyParticipants: "too many participants"
    case .alreadyShared: "already shared"
    case .referenceViolation: "a reference's target does not exist"
    case .managedAccountRestricted: "the managed account does not permit this"
    case .participantMayNeedVerification: "the participant has to be verified"
    case .serverResponseLost: "the answer to a write was lost"
    case .assetNotAvailable: "the asset is not available"
    case .accountTemporarilyUnavailable: "the account is not available now"
    case .participantAlreadyInvited: "the participant is invited already"
    }
  }
}

// Shorthand for patterns: `catch CKError.unknownItem`.
extension CKError {
  /// Something failed that has no code of its own.
  public static var internalError: Code { .internalError }
  /// Some items failed; `partialErrorsByItemID` says which.
  public static var partialFailure: Code { .partialFailure }
  /// The server cannot be reached; nothing was sent.
  public static var networkUnavailable: Code { .networkUnavailable }
  /// The connection failed on the way.
  public static var networkFailure: Code { .networkFailure }
  /// The container is unknown or misconfigured.
  public static var badContainer: Code { .badContainer }
  /// The service is not available; try again after `retryAfterSeconds`.
  public static var serviceUnavailable: Code { .serviceUnavailable }
  /// Too many requests; try again after `retryAfterSeconds`.
  public static var requestRateLimited: Code { .requestRateLimited }
  /// An entitlement is missing. Never produced here.
  public static var missingEntitlement: Code { .missingEntitlement }
  /// The credential is missing, expired or refused.
  public static var notAuthenticated: Code { .notAuthenticated }
  /// The user may not do this.
  public static var permissionFailure: Code { .permissionFailure }
  /// The item does not exist.
  public static var unknownItem: Code { .unknownItem }
  /// The request is not valid.
  public static var invalidArguments: Code { .invalidArguments }
  /// Results were cut off. Never produced here.
  public static var resultsTruncated: Code { .resultsTruncated }
  /// The server has another version; the error carries the records of both sides.
  public static var serverRecordChanged: Code { .serverRecordChanged }
  /// The server rejected the request.
  public static var serverRejectedRequest: Code { .serverRejectedRequest }
  /// The asset's file does not exist.
  public static var assetFileNotFound: Code { .assetFileNotFound }
  /// The asset's file changed during its upload.
  public static var assetFileModified: Code { .assetFileModified }
  /// This version is too old. Never produced here.
  public static var incompatibleVersion: Code { .incompatibleVersion }
  /// A unique field has that value already.
  public static var constraintViolation: Code { .constraintViolation }
  /// The call was cancelled; a write may have taken effect.
  public static var operationCancelled: Code { .operationCancelled }
  /// The change token is no longer valid: fetch everything anew.
  public static var changeTokenExpired: Code { .changeTokenExpired }
  /// Another item of the same atomic group failed, so nothing was saved.
  public static var batchRequestFailed: Code { .batchRequestFailed }
  /// The zone is busy; try again.
  public static var zoneBusy: Code { .zoneBusy }
  /// The call is not possible in this database.
  public static var badDatabase: Code { .badDatabase }
  /// The storage quota is used up.
  public static var quotaExceeded: Code { .quotaExceeded }
  /// The zone does not exist.
  public static var zoneNotFound: Code { .zoneNotFound }
  /// The request is too large: split it.
  public static var limitExceeded: Code { .limitExceeded }
  /// The user deleted the zone. Web Services report `zoneNotFound` instead.
  public static var userDeletedZone: Code { .userDeletedZone }
  /// A share has too many participants.
  public static var tooManyParticipants: Code { .tooManyParticipants }
  /// The record is shared already.
  public static var alreadyShared: Code { .alreadyShared }
  /// A validated reference would have no target.
  public static var referenceViolation: Code { .referenceViolation }
  /// A managed account does not permit this. Never produced here.
  public static var managedAccountRestricted: Code { .managedAccountRestricted }
  /// The participant has to be verified.
  public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
  /// The answer to a write was lost: it may have taken effect, so read back.
  public static var serverResponseLost: Code { .serverResponseLost }
  /// The asset is not available.
  public static var assetNotAvailable: Code { .assetNotAvailable }
  /// The account is not available now.
  public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
  /// The participant is invited already.
  public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
