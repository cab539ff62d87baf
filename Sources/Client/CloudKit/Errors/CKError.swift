public import Foundation

/// The domain of CloudKit's errors.
public let CKErrorDomain = "CKErrorDomain"
/// The key of the number of seconds to wait before a retry.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The key of the errors of a partial failure, by item.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The key of the common ancestor record in a conflict.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The key of the server's record in a conflict.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The key of the record that the client tried to save in a conflict.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The key that says whether a zone was deleted because the user reset encrypted data.
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// An error of a CloudKit call.
///
/// Catch it by code, as on Apple's systems:
///
/// ```swift
/// do {
///   record = try await database.record(for: recordID)
/// } catch CKError.unknownItem {
///   record = CKRecord(recordType: "Note", recordID: recordID)
/// }
/// ```
public struct CKError: Sendable, _BridgedStoredNSError {
  /// The error as an `NSError`.
  public let _nsError: NSError

  /// Wraps an error of CloudKit's domain; traps for any other.
  public init(_nsError error: NSError) {
    precondition(error.domain == CKErrorDomain, "The error's domain must be CKErrorDomain, not \(error.domain).")
    _nsError = error
  }

  /// The domain of CloudKit's errors.
  public static var _nsErrorDomain: String { CKErrorDomain }

  /// The error code. An unknown code reads as `internalError`.
  public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }

  /// The number of seconds to wait before a retry; nil if the server gave none.
  public var retryAfterSeconds: Double? {
    switch userInfo[CKErrorRetryAfterKey] {
    case let seconds as Double: seconds
    case let seconds as NSNumber: seconds.doubleValue
    default: nil
    }
  }

  /// The server's record in a conflict, fetched when the conflict was reported. It may have changed since.
  public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
  /// The record that the client tried to save in a conflict.
  public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }
  /// The common ancestor record in a conflict; nil if this instance was never fetched or saved.
  public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

  /// The error of each item that failed in a partial failure, keyed by the item's ID, such as `CKRecord.ID` or
  /// `CKRecordZone.ID`, or by a share's URL.
  public var partialErrorsByItemID: [AnyHashable: any Error]? {
    userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
  }

  /// A description of the error, with the server's code and reason if it gave them.
  public var localizedDescription: String { _nsError.localizedDescription }
}

extension CKError {
  private static let serverCodeKey = "ServerErrorCode"
  private static let serverReasonKey = "ServerErrorReason"
  private static let signInPageKey = "SignInPage"

  /// The error code of Web Services, such as `THROTTLED`. For logs only; use `code` to decide.
  public var serverErrorCode: String? { userInfo[Self.serverCodeKey] as? String }
  /// The reason from Web Services, unchanged. It is untrusted text.
  public var serverReason: String? { userInfo[Self.serverReasonKey] as? String }
  /// The sign-in page, as the server sent it.
  var signInPage: String? { (userInfo[Self.signInPageKey] as? SignInPage)?.text }

  /// Makes an error with the server's code and reason.
  init(_ code: Code, _ failure: WebServicesError, adding extra: [String: any Sendable] = [:]) {
    var info: [String: Any] = extra
    info[Self.serverCodeKey] = failure.code.name
    info[Self.serverReasonKey] = failure.reason
    info[Self.signInPageKey] = failure.redirectURL.map(SignInPage.init)
    info[CKErrorRetryAfterKey] = failure.retryAfter
    let detail = failure.reason.isEmpty ? failure.code.name : "\(failure.code.name): \(failure.reason)"
    info[NSLocalizedDescriptionKey] = "\(code.summary) (\(detail))"
    self.init(code, userInfo: info)
  }

  /// Makes an error of this library, with a message that says what is wrong and what to do.
  package init(_ code: Code, _ message: String, adding extra: [String: any Sendable] = [:]) {
    var info: [String: Any] = extra
    info[NSLocalizedDescriptionKey] = message
    self.init(code, userInfo: info)
  }

  static func invalidArguments(_ message: String) -> CKError { CKError(Code.invalidArguments, message) }
}
