public import CloudKit
public import CloudSync
import Facts
import Foundation

/// An error of the service, with a message for people. What the server or the framework reported stays within reach as
/// `ckError`.
public enum CloudKitServiceError: LocalizedError, Sendable {
  /// The container's configuration cannot be used.
  case containerNotFound(CKError? = nil)
  /// No user is signed in, or not the owner of this store.
  case accountUnavailable(CKError? = nil)
  /// The server cannot be reached. `queued` is the change that was accepted and is sent later, if one was.
  case networkUnavailable(CKError? = nil, queued: QueuedChange? = nil)
  /// The service is read-only, or has no engine to sync with.
  case writeNotSupportedOnPlatform
  /// A record lacks a field that the app needs.
  case missingRequiredField(String)
  /// The record does not exist.
  case recordNotFound(CKError? = nil)
  /// The zone of the record has not been fetched to the end, and this service cannot ask the server.
  case notFetchedYet
  /// Both sides changed the record. A change that was accepted stays in the queue; see
  /// ``CloudKitService/conflicts(limit:)``.
  case conflictDetected(local: CKRecord, remote: CKRecord)
  /// The change was accepted, is in the queue and could not be sent yet, for this reason. Nothing has to be done,
  /// unless the reason says so.
  case queued(QueuedChange, reason: String)
  /// The user's storage is full.
  case quotaExceeded(CKError? = nil)
  /// The server does not allow it.
  case permissionDenied(CKError? = nil)
  /// The record can never be sent.
  case invalidRecord(String, CKError? = nil)
  /// Any other error.
  case unknown(any Error)

  /// A message in one line.
  public var errorDescription: String? {
    switch self {
    case .containerNotFound: "The container cannot be used."
    case .accountUnavailable: "No user, or another user, is signed in; changes stay in the queue."
    case .networkUnavailable(_, nil): "The server cannot be reached."
    case .networkUnavailable: "The server cannot be reached; the change is queued and sent later."
    case .writeNotSupportedOnPlatform: "The service is read-only."
    case .missingRequiredField(let name): "The field \(name) is missing."
    case .recordNotFound: "There is no such record."
    case .notFetchedYet: "The zone of the record has not been fetched yet; sync first."
    case .conflictDetected: "Both sides changed the record; the change stays in the queue until that is resolved."
    case .queued(_, let reason): "The change is queued and not sent yet: \(reason)"
    case .quotaExceeded: "The iCloud storage is full; changes stay in the queue."
    case .permissionDenied: "The server does not allow it."
    case .invalidRecord(let reason, _): "The record cannot be saved: \(reason)"
    case .unknown(let error): (error as? StoreError)?.message ?? error.localizedDescription
    }
  }

  /// The framework's error, with its code, `retryAfterSeconds` and `userInfo`; nil if none of it was the cause. That of
  /// a conflict has both records.
  public var ckError: CKError? {
    switch self {
    case .containerNotFound(let error), .accountUnavailable(let error), .networkUnavailable(let error, _),
      .recordNotFound(let error), .quotaExceeded(let error), .permissionDenied(let error),
      .invalidRecord(_, let error):
      error
    case .conflictDetected(let local, let remote):
      CKError(
        .serverRecordChanged,
        userInfo: [CKRecordChangedErrorClientRecordKey: local, CKRecordChangedErrorServerRecordKey: remote]
      )
    case .unknown(let error): error as? CKError
    case .writeNotSupportedOnPlatform, .missingRequiredField, .notFetchedYet, .queued: nil
    }
  }

  /// Translates an error of the framework or of the store, and keeps it.
  init(_ error: any Error) {
    switch error {
    case let error as CloudKitServiceError: self = error
    case let error as CKError: self.init(error)
    case let error as StoreError where error.kind == .invalid: self = .invalidRecord(error.message)
    default: self = .unknown(error)
    }
  }

  private init(_ error: CKError) {
    switch error.code {
    case .badContainer, .missingEntitlement: self = .containerNotFound(error)
    case .notAuthenticated, .accountTemporarilyUnavailable, .managedAccountRestricted: self = .accountUnavailable(error)
    case .networkUnavailable, .networkFailure, .serverResponseLost: self = .networkUnavailable(error)
    case .unknownItem: self = .recordNotFound(error)
    case .serverRecordChanged:
      if let local = error.clientRecord, let remote = error.serverRecord {
        self = .conflictDetected(local: local, remote: remote)
      } else {
        self = .unknown(error)
      }
    case .quotaExceeded: self = .quotaExceeded(error)
    case .permissionFailure: self = .permissionDenied(error)
    case .invalidArguments, .limitExceeded, .assetFileNotFound:
      self = .invalidRecord(error.localizedDescription, error)
    default: self = .unknown(error)
    }
  }

  /// Translates the failure of a change, which stays in the queue.
  init(_ failure: SyncFailure) {
    let isRefusedByApp = failure.code == FailureCause.refusedByApp("").code
    self = isRefusedByApp ? .invalidRecord(failure.message, failure.ckError) : CloudKitServiceError(failure.ckError)
  }
}

extension CKError {
  /// The error of a batch in which the delegate did not accept some records. The others are queued.
  init(ofInvalid errors: [CKRecord.ID: any Error], among records: [CKRecord]) {
    let first = records.lazy.compactMap { errors[$0.recordID] }.first?.localizedDescription ?? ""
    let others = errors.count < records.count ? "; the others are queued" : ""
    let text = "\(errors.count) of \(records.count) records were not accepted (\(first.withoutFullStop))\(others)"
    self.init(
      .partialFailure,
      userInfo: [CKPartialErrorsByItemIDKey: errors as [AnyHashable: any Error], NSLocalizedDescriptionKey: text]
    )
  }
}
