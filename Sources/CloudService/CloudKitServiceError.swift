public import CloudKit
import Foundation

/// An error of the service, with a message for people.
public enum CloudKitServiceError: LocalizedError, Sendable {
  /// The container's configuration cannot be used.
  case containerNotFound
  /// No user is signed in, or not the owner of this store.
  case accountUnavailable
  /// The server cannot be reached. Changes are queued all the same.
  case networkUnavailable
  /// The service is read-only.
  case writeNotSupportedOnPlatform
  /// A record lacks a field that the app needs.
  case missingRequiredField(String)
  /// The record does not exist.
  case recordNotFound
  /// Both sides changed the record.
  case conflictDetected(local: CKRecord, remote: CKRecord)
  /// The user's storage is full.
  case quotaExceeded
  /// The server does not allow it.
  case permissionDenied
  /// The record can never be sent.
  case invalidRecord(String)
  /// Any other error.
  case unknown(any Error)

  /// A message in one line.
  public var errorDescription: String? {
    switch self {
    case .containerNotFound: "The container cannot be used."
    case .accountUnavailable: "No user is signed in to iCloud."
    case .networkUnavailable: "The server cannot be reached; changes are queued and sent later."
    case .writeNotSupportedOnPlatform: "The service is read-only."
    case .missingRequiredField(let name): "The field \(name) is missing."
    case .recordNotFound: "There is no such record."
    case .conflictDetected: "Both sides changed the record."
    case .quotaExceeded: "The iCloud storage is full."
    case .permissionDenied: "The server does not allow it."
    case .invalidRecord(let reason): "The record cannot be saved: \(reason)"
    case .unknown(let error): error.localizedDescription
    }
  }

  /// Translates an error of the framework or of the store.
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
