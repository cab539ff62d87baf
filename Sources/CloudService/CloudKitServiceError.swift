public import CloudKit
import Foundation

/// What a service refuses, in words for people.
public enum CloudKitServiceError: LocalizedError, Sendable {
  /// The container's configuration is of no use.
  case containerNotFound
  /// Nobody is signed in, or not the user whose store this is.
  case accountUnavailable
  /// The cloud cannot be reached. What was to be saved is queued all the same.
  case networkUnavailable
  /// The service was made to read only.
  case writeNotSupportedOnPlatform
  /// A record lacks a field that the app needs.
  case missingRequiredField(String)
  /// There is no such record.
  case recordNotFound
  /// Both sides changed the record.
  case conflictDetected(local: CKRecord, remote: CKRecord)
  /// The user's space is full.
  case quotaExceeded
  /// The server does not allow it.
  case permissionDenied
  /// The record can never be sent.
  case invalidRecord(String)
  /// Anything else.
  case unknown(any Error)

  /// One line for people.
  public var errorDescription: String? {
    switch self {
    case .containerNotFound: "The container cannot be used."
    case .accountUnavailable: "Nobody is signed in to iCloud here."
    case .networkUnavailable: "The cloud cannot be reached; what you changed is kept and goes later."
    case .writeNotSupportedOnPlatform: "Only reading is allowed here."
    case .missingRequiredField(let name): "The field \(name) is missing."
    case .recordNotFound: "There is no such record."
    case .conflictDetected: "Both sides changed the record."
    case .quotaExceeded: "The iCloud storage is full."
    case .permissionDenied: "The server does not allow it."
    case .invalidRecord(let reason): "The record cannot be saved: \(reason)"
    case .unknown(let error): error.localizedDescription
    }
  }

  /// What an error of the framework or of the store means here.
  init(_ error: any Error) {
    if let own = error as? CloudKitServiceError {
      self = own
      return
    }
    guard let error = error as? CKError else {
      self = .unknown(error)
      return
    }
    switch error.code {
    case .badContainer, .missingEntitlement: self = .containerNotFound
    case .notAuthenticated, .accountTemporarilyUnavailable, .managedAccountRestricted: self = .accountUnavailable
    case .networkUnavailable, .networkFailure, .serverResponseLost: self = .networkUnavailable
    case .unknownItem: self = .recordNotFound
    case .quotaExceeded: self = .quotaExceeded
    case .permissionFailure: self = .permissionDenied
    case .invalidArguments, .limitExceeded, .assetFileNotFound: self = .invalidRecord(error.localizedDescription)
    default: self = .unknown(error)
    }
  }
}
