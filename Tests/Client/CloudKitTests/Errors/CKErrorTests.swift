import Foundation
import Testing

@testable import CloudKit

@Suite(.serialized) struct CKErrorTests {
  private func code(_ code: ServerErrorCode, _ context: FailureContext, effect: WebServicesError.Effect = .refused)
    -> CKError.Code
  {
    CKError(WebServicesError(code, "reason", effect: effect), in: context).code
  }

  @Test func `every server code has its meaning`() {
    let table: [(ServerErrorCode, CKError.Code)] = [
      (.accessDenied, .permissionFailure), (.atomicError, .batchRequestFailed),
      (.authenticationFailed, .notAuthenticated),
      (.authenticationRequired, .notAuthenticated), (.badRequest, .invalidArguments), (.conflict, .serverRecordChanged),
      (.exists, .serverRecordChanged), (.internalError, .internalError), (.notFound, .unknownItem),
      (.quotaExceeded, .quotaExceeded), (.throttled, .requestRateLimited), (.tryAgainLater, .serviceUnavailable),
      (.validatingReferenceError, .referenceViolation), (.zoneNotFound, .zoneNotFound),
      (.uniqueFieldError, .constraintViolation), (.networkError, .networkFailure),
      (.unexpectedServerResponse, .internalError), (.limitExceeded, .limitExceeded), (.unknown("NEW"), .internalError),
    ]
    #expect(table.count == ServerErrorCode.allNamed.count + 1)
    for (server, expected) in table { #expect(code(server, .read) == expected) }
  }

  @Test func `what happened on the way depends on what was under way`() {
    #expect(code(.networkError, .read, effect: .notSent) == .networkUnavailable)
    #expect(code(.networkError, .write, effect: .notSent) == .networkUnavailable)
    #expect(code(.networkError, .read, effect: .unknown) == .networkFailure)
    #expect(code(.networkError, .write, effect: .unknown) == .serverResponseLost)
    #expect(code(.unexpectedServerResponse, .write) == .serverResponseLost)
    #expect(code(.internalError, .write, effect: .unknown) == .serverResponseLost)
    #expect(code(.internalError, .write) == .serverResponseLost)
    #expect(code(.internalError, .writtenItem) == .serverResponseLost)
    #expect(code(.internalError, .read) == .internalError && code(.internalError, .item) == .internalError)
    // A gateway may reply so after the server behind it has committed.
    #expect(code(.tryAgainLater, .write, effect: .unknown) == .serverResponseLost)
    #expect(code(.tryAgainLater, .read, effect: .unknown) == .serviceUnavailable)
    #expect(code(.authenticationRequired, .write, effect: .unknown) == .notAuthenticated)
    #expect(code(.tryAgainLater, .writtenItem) == .zoneBusy)
    #expect(code(.tryAgainLater, .item) == .zoneBusy)
  }

  @Test(arguments: [
    (ServerErrorCode.internalError, WebServicesError.Effect.refused, true), (.unexpectedServerResponse, .refused, true),
    (.networkError, .unknown, true), (.networkError, .notSent, false), (.tryAgainLater, .unknown, true),
    (.tryAgainLater, .refused, false), (.conflict, .refused, false), (.throttled, .refused, false),
  ])
  func `a write is in doubt unless the server refused it`(
    code: ServerErrorCode,
    effect: WebServicesError.Effect,
    isInDoubt: Bool
  ) {
    #expect(WebServicesError(code, "", effect: effect).leavesWriteInDoubt == isInDoubt)
  }

  @Test(arguments: [
    "Unexpected token '}' in JSON", "invalid web auth token", "token of the asset is unknown", "no such field: token",
  ])
  func `a token of another kind does not end a change token`(reason: String) {
    #expect(CKError(WebServicesError(.badRequest, reason), in: .changes).code == .invalidArguments)
  }

  @Test func `the code for an expired change token is understood wherever it comes`() {
    for context in [FailureContext.changes, .item] {
      #expect(
        CKError(WebServicesError(ServerErrorCode("CHANGE_TOKEN_EXPIRED"), ""), in: context).code == .changeTokenExpired
      )
    }
  }

  @Test(arguments: ["Unknown sync continuation type", "Invalid continuation format", "bad sync token"])
  func `a refused token has to be thrown away`(reason: String) {
    let failure = WebServicesError(.badRequest, reason)

    #expect(CKError(failure, in: .changes).code == .changeTokenExpired)
    #expect(CKError(failure, in: .read).code == .invalidArguments)
  }

  @Test func `the server's words stay readable`() {
    var failure = WebServicesError(.unknown("NEW_CODE"), "because", retryAfter: 2.5)
    failure.redirectURL = "https://sign.in"
    let error = CKError(failure, in: .read)

    #expect(error.serverErrorCode == "NEW_CODE")
    #expect(error.serverReason == "because")
    #expect(error.retryAfterSeconds == 2.5)
    #expect(error.signInURL == URL(string: "https://sign.in"))
    #expect(error.localizedDescription.contains("NEW_CODE: because"))
    #expect((error as any Error).localizedDescription == error.localizedDescription)
  }

  @Test func `a printed error has the form of Apple's logs`() {
    func printed(_ error: any Error) -> String { "\(error)".replacing(/0x[0-9a-f]+/, with: "0x") }
    let missing = CKError(WebServicesError(.notFound, "No 'n'\u{1B}[2J\u{9B}"), in: .item)
    let throttled = CKError(WebServicesError(.throttled, "", retryAfter: 3), in: .read)
    let id = CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "notes", ownerName: "_0f"))
    let group = CKError(WebServicesError(.atomicError, "Atomic failure"), in: .item)
    let partial = CKError(
      .partialFailure,
      userInfo: [CKPartialErrorsByItemIDKey: [id: missing, id.zoneID: group] as [AnyHashable: any Error]]
    )

    #expect(
      printed(missing) == #"<CKError 0x: "Unknown Item" (11/2003); "#
        + #"server message = "No 'n'\u{1B}[2J\u{009B}"; server code = NOT_FOUND>"#
    )
    #expect(
      printed(throttled) == #"<CKError 0x: "Request Rate Limited" (7/2008); "#
        + "server code = THROTTLED; Retry after 3.0 seconds>"
    )
    #expect(printed(CKError.invalidArguments("No.")) == #"<CKError 0x: "Invalid Arguments" (12); "No.">"#)
    #expect(printed(CKError(.zoneBusy)) == #"<CKError 0x: "Zone Busy" (23)>"#)
    let omitted = #"... 1 "Batch Request Failed" CKErrors omitted ..."#
    #expect(
      printed(partial) == #"<CKError 0x: "Partial Failure" (2/1011); "#
        + "partial errors: {\n\tn:(notes:_0f) = \(printed(missing))\n\t\(omitted)\n}>"
    )
  }

  @Test func `errors are caught by code`() {
    func thrown(_ error: any Error) -> String {
      do { throw error } catch CKError.unknownItem { return "unknown item" } catch { return "other" }
    }

    #expect(thrown(CKError(.unknownItem)) == "unknown item")
    #expect(thrown(CKError(.zoneBusy)) == "other")
    #expect(thrown(CancellationError()) == "other")
  }

  @Test func `an error is an NSError with Apple's domain, number and keys`() {
    let record = CKRecord(recordType: "Note")
    let error = CKError(
      .serverRecordChanged,
      userInfo: ["ServerRecord": record, "ClientRecord": record, "AncestorRecord": record, "CKRetryAfter": 3]
    )

    let bridged = error as NSError
    #expect(bridged.domain == "CKErrorDomain")
    #expect(bridged.code == 14)
    #expect(error.errorCode == 14)
    #expect(error.serverRecord === record && error.clientRecord === record && error.ancestorRecord === record)
    #expect(error.retryAfterSeconds == 3)
    let partial = CKError(.partialFailure, userInfo: ["CKPartialErrors": [record.recordID: CKError(.zoneBusy)]])
    #expect((partial.partialErrorsByItemID?[record.recordID] as? CKError)?.code == .zoneBusy)
  }

  @Test func `the errors of credentials and transports have CloudKit's domain`() {
    #expect((CKCredentialError("no key") as NSError).domain == "CloudKit.CKCredentialError")
    #expect((CKTransportError(.notSent, "no route") as NSError).domain == "CloudKit.CKTransportError")
  }

  @Test func `the numbers are Apple's`() {
    #expect((-9...99).filter { CKError.Code(rawValue: $0) != nil } == Array(1...37))
    #expect(CKError(_nsError: NSError(domain: CKErrorDomain, code: 999)).code == .internalError)
  }

  @Test func `an NSError of CloudKit's domain is found as a CKError, and no other`() {
    func code(_ error: any Error) -> CKError.Code? {
      do { throw error } catch let error as CKError { return error.code } catch { return nil }
    }
    let info: [String: Any] = [CKErrorRetryAfterKey: NSNumber(value: 2.5)]

    #expect(code(NSError(domain: CKErrorDomain, code: 7, userInfo: info)) == .requestRateLimited)
    #expect(code(CKError(.zoneBusy) as NSError) == .zoneBusy)
    #expect(code(NSError(domain: NSPOSIXErrorDomain, code: 7)) == nil)
    let error: any Error = NSError(domain: CKErrorDomain, code: 7, userInfo: info)
    #expect((error as? CKError)?.retryAfterSeconds == 2.5)
  }
}
