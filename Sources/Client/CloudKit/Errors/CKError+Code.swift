public import Foundation

extension CKError {
  /// The error codes, with Apple's raw values.
  public enum Code: Int, Sendable, _ErrorCodeProtocol {
    /// The error type that these codes belong to.
    public typealias _ErrorType = CKError

    /// An error without a code of its own.
    case internalError = 1
    /// Some items failed; `partialErrorsByItemID` has the error of each.
    case partialFailure = 2
    /// The server cannot be reached; nothing was sent.
    case networkUnavailable = 3
    /// The connection failed during the request.
    case networkFailure = 4
    /// The container is unknown or misconfigured.
    case badContainer = 5
    /// The service is unavailable; retry after `retryAfterSeconds`.
    case serviceUnavailable = 6
    /// Too many requests; retry after `retryAfterSeconds`.
    case requestRateLimited = 7
    /// An entitlement is missing. Never produced here.
    case missingEntitlement = 8
    /// The credential is missing, expired or rejected.
    case notAuthenticated = 9
    /// The user is not permitted to do this.
    case permissionFailure = 10
    /// The item does not exist.
    case unknownItem = 11
    /// The request is invalid.
    case invalidArguments = 12
    /// The results were truncated. Never produced here.
    case resultsTruncated = 13
    /// The server has another version of the record; the error has the client's and the server's records.
    case serverRecordChanged = 14
    /// The server rejected the request.
    case serverRejectedRequest = 15
    /// The asset's file does not exist.
    case assetFileNotFound = 16
    /// The asset's file changed during its upload.
    case assetFileModified = 17
    /// This version is too old. Never produced here.
    case incompatibleVersion = 18
    /// Another record already has this value in a unique field.
    case constraintViolation = 19
    /// The call was cancelled; a write may have taken effect.
    case operationCancelled = 20
    /// The change token is no longer valid: fetch all changes again.
    case changeTokenExpired = 21
    /// Another item of the same atomic group failed, so nothing was saved.
    case batchRequestFailed = 22
    /// The zone is busy; retry.
    case zoneBusy = 23
    /// This database does not support the call.
    case badDatabase = 24
    /// The storage quota is used up.
    case quotaExceeded = 25
    /// The zone does not exist.
    case zoneNotFound = 26
    /// The request is too large: split it.
    case limitExceeded = 27
    /// The user deleted the zone. Web Services report `zoneNotFound` instead.
    case userDeletedZone = 28
    /// The share has too many participants. Never produced here.
    case tooManyParticipants = 29
    /// The record is already shared. Never produced here.
    case alreadyShared = 30
    /// The target of a validated reference does not exist.
    case referenceViolation = 31
    /// A managed account does not permit this. Never produced here.
    case managedAccountRestricted = 32
    /// The participant may need to be verified.
    case participantMayNeedVerification = 33
    /// The reply to a write was lost, so the write may have taken effect: re-fetch to verify.
    case serverResponseLost = 34
    /// The asset is not available.
    case assetNotAvailable = 35
    /// The account is temporarily unavailable. Never produced here.
    case accountTemporarilyUnavailable = 36
    /// The participant is already invited. Never produced here.
    case participantAlreadyInvited = 37
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }
}

extension CKError.Code {
  /// A short description of the code, for messages.
  var summary: String {
    switch self {
    case .internalError: "the server failed"
    case .partialFailure: "some items failed"
    case .networkUnavailable: "the server cannot be reached"
    case .networkFailure: "the connection failed"
    case .badContainer: "the container is unknown"
    case .serviceUnavailable: "the service is unavailable"
    case .requestRateLimited: "too many requests"
    case .missingEntitlement: "an entitlement is missing"
    case .notAuthenticated: "no user is signed in, or the credential was rejected"
    case .permissionFailure: "not permitted"
    case .unknownItem: "the item does not exist"
    case .invalidArguments: "the request is invalid"
    case .resultsTruncated: "the results were truncated"
    case .serverRecordChanged: "the server has another version of the record"
    case .serverRejectedRequest: "the server rejected the request"
    case .assetFileNotFound: "the asset's file does not exist"
    case .assetFileModified: "the asset's file changed during its upload"
    case .incompatibleVersion: "this version is too old"
    case .constraintViolation: "another record already has this value in a unique field"
    case .operationCancelled: "cancelled"
    case .changeTokenExpired: "the change token is no longer valid"
    case .batchRequestFailed: "another item of the atomic group failed"
    case .zoneBusy: "the zone is busy"
    case .badDatabase: "this database does not support the call"
    case .quotaExceeded: "the storage quota is used up"
    case .zoneNotFound: "the zone does not exist"
    case .limitExceeded: "the request is too large"
    case .userDeletedZone: "the user deleted the zone"
    case .tooManyParticipants: "the share has too many participants"
    case .alreadyShared: "the record is already shared"
    case .referenceViolation: "the target of a reference does not exist"
    case .managedAccountRestricted: "the managed account does not permit this"
    case .participantMayNeedVerification: "the participant may need to be verified"
    case .serverResponseLost: "the reply to a write was lost"
    case .assetNotAvailable: "the asset is not available"
    case .accountTemporarilyUnavailable: "the account is temporarily unavailable"
    case .participantAlreadyInvited: "the participant is already invited"
    }
  }
}

// Shorthands for patterns: `catch CKError.unknownItem`.
extension CKError {
  /// An error without a code of its own.
  public static var internalError: Code { .internalError }
  /// Some items failed; `partialErrorsByItemID` has the error of each.
  public static var partialFailure: Code { .partialFailure }
  /// The server cannot be reached; nothing was sent.
  public static var networkUnavailable: Code { .networkUnavailable }
  /// The connection failed during the request.
  public static var networkFailure: Code { .networkFailure }
  /// The container is unknown or misconfigured.
  public static var badContainer: Code { .badContainer }
  /// The service is unavailable; retry after `retryAfterSeconds`.
  public static var serviceUnavailable: Code { .serviceUnavailable }
  /// Too many requests; retry after `retryAfterSeconds`.
  public static var requestRateLimited: Code { .requestRateLimited }
  /// An entitlement is missing. Never produced here.
  public static var missingEntitlement: Code { .missingEntitlement }
  /// The credential is missing, expired or rejected.
  public static var notAuthenticated: Code { .notAuthenticated }
  /// The user is not permitted to do this.
  public static var permissionFailure: Code { .permissionFailure }
  /// The item does not exist.
  public static var unknownItem: Code { .unknownItem }
  /// The request is invalid.
  public static var invalidArguments: Code { .invalidArguments }
  /// The results were truncated. Never produced here.
  public static var resultsTruncated: Code { .resultsTruncated }
  /// The server has another version of the record; the error has the client's and the server's records.
  public static var serverRecordChanged: Code { .serverRecordChanged }
  /// The server rejected the request.
  public static var serverRejectedRequest: Code { .serverRejectedRequest }
  /// The asset's file does not exist.
  public static var assetFileNotFound: Code { .assetFileNotFound }
  /// The asset's file changed during its upload.
  public static var assetFileModified: Code { .assetFileModified }
  /// This version is too old. Never produced here.
  public static var incompatibleVersion: Code { .incompatibleVersion }
  /// Another record already has this value in a unique field.
  public static var constraintViolation: Code { .constraintViolation }
  /// The call was cancelled; a write may have taken effect.
  public static var operationCancelled: Code { .operationCancelled }
  /// The change token is no longer valid: fetch all changes again.
  public static var changeTokenExpired: Code { .changeTokenExpired }
  /// Another item of the same atomic group failed, so nothing was saved.
  public static var batchRequestFailed: Code { .batchRequestFailed }
  /// The zone is busy; retry.
  public static var zoneBusy: Code { .zoneBusy }
  /// This database does not support the call.
  public static var badDatabase: Code { .badDatabase }
  /// The storage quota is used up.
  public static var quotaExceeded: Code { .quotaExceeded }
  /// The zone does not exist.
  public static var zoneNotFound: Code { .zoneNotFound }
  /// The request is too large: split it.
  public static var limitExceeded: Code { .limitExceeded }
  /// The user deleted the zone. Web Services report `zoneNotFound` instead.
  public static var userDeletedZone: Code { .userDeletedZone }
  /// The share has too many participants. Never produced here.
  public static var tooManyParticipants: Code { .tooManyParticipants }
  /// The record is already shared. Never produced here.
  public static var alreadyShared: Code { .alreadyShared }
  /// The target of a validated reference does not exist.
  public static var referenceViolation: Code { .referenceViolation }
  /// A managed account does not permit this. Never produced here.
  public static var managedAccountRestricted: Code { .managedAccountRestricted }
  /// The participant may need to be verified.
  public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
  /// The reply to a write was lost, so the write may have taken effect: re-fetch to verify.
  public static var serverResponseLost: Code { .serverResponseLost }
  /// The asset is not available.
  public static var assetNotAvailable: Code { .assetNotAvailable }
  /// The account is temporarily unavailable. Never produced here.
  public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
  /// The participant is already invited. Never produced here.
  public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
