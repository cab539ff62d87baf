import Foundation
import JSONText
import Testing

@testable import CloudKit
@testable import CloudKitWebServices

/// What becomes of a response that is no success: how long to wait, and what may be shown.
@Suite(.serialized) struct RefusalTests {
  private static let now = Date(timeIntervalSince1970: 1_767_322_800)  // 2026-01-02 03:00:00
  private static let date = "Fri, 02 Jan 2026 03:00:00 GMT"

  private func refusal(_ status: Int, _ headers: [(String, String)] = [], _ body: String = "") -> WebServicesError {
    WebServicesError(
      refusal: CKTransportResponse(
        status: status,
        headers: headers.map { CKHTTPHeader($0.0, $0.1) },
        body: Data(body.utf8)
      ),
      now: Self.now
    )
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), (date, 1_767_322_800), ("Friday, 02-Jan-26 03:00:00 GMT", 1_767_322_800),
    ("Fri Jan  2 03:00:00 2026", 1_767_322_800), ("Sunday, 01-Jan-75 00:00:00 GMT", 3_313_526_400),
    ("Friday, 01-Jan-77 00:00:00 GMT", 220_924_800), ("Tue, 29 Feb 2028 23:59:60 GMT", 1_835_481_600),
  ])
  func `the three forms of a date are read`(text: String, seconds: Double) {
    #expect(HTTPDate.date(text, now: Self.now)?.timeIntervalSince1970 == seconds)
  }

  @Test(arguments: [
    "", "120", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Not 1994 08:49:37 GMT",
    "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:٣٧ GMT",
    String(repeating: "Sun, 06 Nov 1994 08:49:37 GMT", count: 1000),
  ])
  func `anything else is no date`(text: String) {
    #expect(HTTPDate.date(text, now: Self.now) == nil)
  }

  @Test func `a wait until a date counts from the server's clock, or else from ours`() {
    let end = "Fri, 02 Jan 2026 03:02:00 GMT"

    #expect(refusal(503, [("Retry-After", end)]).retryAfter == 120)
    #expect(refusal(429, [("retry-after", end), ("date", "Fri, 02 Jan 2026 03:01:30 GMT")]).retryAfter == 30)
    #expect(refusal(429, [("Retry-After", end), ("Date", "never")]).retryAfter == 120)
    #expect(refusal(429, [("Retry-After", Self.date), ("Date", end)]).retryAfter == 0)
    #expect(refusal(429, [("Retry-After", " 7 ")]).retryAfter == 7)
    for odd in ["-1", "nan", "inf", "tomorrow", ""] { #expect(refusal(429, [("Retry-After", odd)]).retryAfter == nil) }
    let body = #"{"serverErrorCode":"THROTTLED","reason":"slow","retryAfter":3}"#
    #expect(refusal(429, [("Retry-After", end)], body).retryAfter == 3)
  }

  @Test func `a client waits until the date that a gateway names`() async throws {
    struct Gateway: CKTransport {
      func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
        let headers = [
          CKHTTPHeader("Date", "Fri, 02 Jan 2026 03:00:00 GMT"),
          CKHTTPHeader("Retry-After", "Fri, 02 Jan 2026 03:00:40 GMT"),
        ]
        return CKTransportResponse(status: 503, headers: headers, body: Data("<html>".utf8))
      }
    }
    let container = CKContainer(identifier: "iCloud.test", credential: .apiToken("t"), transport: Gateway())

    let error = await #expect(throws: CKError.self) { try await container.publicCloudDatabase.allRecordZones() }

    #expect(error?.code == .serviceUnavailable && error?.retryAfterSeconds == 40)
  }

  @Test(arguments: [
    ("<html>", "aa-11"), (#"{"serverErrorCode":"BAD_REQUEST"}"#, "aa-11"),
    (#"{"serverErrorCode":"BAD_REQUEST","uuid":"bb-22"}"#, "bb-22"),
  ])
  func `the identifier of a refused request is that of the body, else that of the header`(_ body: String, _ id: String)
  {
    #expect(refusal(503, [("X-Apple-Request-UUID", "aa-11")], body).uuid == id)
  }

  @Test func `an item that fails alone has the identifier of the request`() throws {
    let body = #"{"records":[{"recordName":"a","serverErrorCode":"NOT_FOUND"},{"recordName":"b","recordType":"T"}]}"#
    var reply = try WireResults<WireRecord>(json: Data(body.utf8))
    reply.name(request: "aa-11")

    let ids = reply.elements.map { element -> String? in
      if case .failure(_, let error) = element { error.uuid } else { nil }
    }
    #expect(ids == ["aa-11", nil])
  }

  @Test func `no text of a server is longer than 500 characters`() {
    let long = String(repeating: "e\u{301}", count: 100_000)
    let body =
      #"{"serverErrorCode":"\#(long)","reason":"\#(long)","uuid":"\#(long)","redirectURL":"https://a.b/\#(long)"}"#

    var error = refusal(400, [], body)

    #expect(error.reason.unicodeScalars.count == 500 && error.reason.hasSuffix("…"))
    #expect(error.code.name.unicodeScalars.count == 64 && error.uuid?.unicodeScalars.count == 64)
    #expect(error.response?.unicodeScalars.count == 500 && error.redirectURL == nil)
    error.reason = "field: \(long)"
    #expect(error.reason.unicodeScalars.count == 500)
    #expect(refusal(502, [], long).response?.unicodeScalars.count == 500)
    #expect(refusal(400, [], #"{"serverErrorCode":"BAD_REQUEST","reason":"short"}"#).reason == "short")
  }

  @Test(arguments: [
    ("https://idmsa.apple.com/in?x=1", true), ("http://127.0.0.1:8080/sign-in?user=a", true), ("http://[::1]:1/", true),
    ("HTTP://LocalHost/", true), ("http://127.9.0.1/", true), ("http://idmsa.apple.com/in", false),
    ("http://127.0.0.1.evil.example/", false), ("http://localhost.evil.example/", false),
    ("javascript:alert(1)", false),
    ("file:///etc/passwd", false), ("data:text/html,x", false), ("https://apple.com@evil.example/", false),
    ("https:///in", false), ("//idmsa.apple.com/in", false), ("", false),
    ("https://a.b/" + String(repeating: "x", count: 100_000), false),
  ])
  func `a sign-in page is https, or on this machine`(address: String, isOffered: Bool) {
    let body = #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"","redirectURL":"\#(address)"}"#

    let error = refusal(421, [], body)

    #expect((error.redirectURL != nil) == isOffered)
    #expect((CKError(error, in: .read).signInURL != nil) == isOffered)
  }

  @Test func `a page's address has no byte that a terminal obeys`() {
    let body = #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","redirectURL":"https://a.b/\u001b]0;x\u0007 é"}"#

    let page = refusal(421, [], body).redirectURL

    #expect(page?.utf8.allSatisfy { (0x21...0x7E).contains($0) } ?? true)
  }
}
