public import Foundation

/// The domain of CloudKit's errors.
public let CKErrorDomain = "CKErrorDomain"
/// The key of the seconds to wait before trying again.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The key of the errors by item in a partial failure.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The key of the record that both sides of a conflict started from.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The key of the server's record in a conflict.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The key of the record that was to be saved in a conflict.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The key that says whether a zone is gone because the user reset encrypted data.
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// What went wrong in a call of CloudKit.
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
  /// The error as Foundation carries it.
  public let _nsError: NSError

  /// Wraps an error of CloudKit's domain; traps for any other.
  public init(_nsError error: NSError) {
    precondition(error.domain == CKErrorDomain, "Not an error of CloudKit's domain: \(error.domain).")
    _nsError = error
  }

  /// The domain of CloudKit's errors.
  public static var _nsErrorDomain: String { CKErrorDomain }

  /// What kind of error it is. A number that this library does not know reads as `internalError`.
  public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }

  /// Seconds to wait before the request is worth trying again; filled whenever the server says so.
  public var retryAfterSeconds: Double? {
    switch userInfo[CKErrorRetryAfterKey] {
    case let seconds as Double: seconds
    case let seconds as NSNumber: seconds.doubleValue
    default: nil
    }
  }

  /// The server's record in a conflict. Read when the conflict was reported: it may have changed since.
  public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
  /// The record that was to be saved in a conflict.
  public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }
  /// The record that both sides of a conflict started from; nil where this instance never saw it.
  public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

  /// In a partial failure, the error of each item that failed, by `CKRecord.ID` or `CKRecordZone.ID`.
  public var partialErrorsByItemID: [AnyHashable: any Error]? {
    userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
  }

  /// What happened, with the server's code and reason where it gave them.
  public var localizedDescription: String { _nsError.localizedDescription }
}

extension CKError {
  private static let serverCodeKey = "ServerErrorCode"
  private static let serverReasonKey = "ServerErrorReason"
  private static let signInPageKey = "SignInPage"

  /// The code that Web Services gave, such as `THROTTLED`. For logs: decide by `code`.
  public var serverErrorCode: String? { userInfo[Self.serverCodeKey] as? String }
  /// The reason that Web Services gave, unchanged; text from outside.
  public var serverReason: String? { userInfo[Self.serverReasonKey] as? String }
  /// The page to sign in on, as the server spells it.
  var signInPage: String? { (userInfo[Self.signInPageKey] as? SignInPage)?.text }

  /// An error with what the server said about it.
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

  /// An error of our own, with what is wrong and what to do.
  init(_ code: Code, _ message: String, adding extra: [String: any Sendable] = [:]) {
    var info: [String: Any] = extra
    info[NSLocalizedDescriptionKey] = message
    self.init(code, userInfo: info)
  }

  static func invalidArguments(_ message: String) -> CKError { CKError(Code.invalidArguments, message) }
}
