internal import Foundation
import JSONText

extension WebServicesError {
  /// Makes the error for a response whose status is not 2xx.
  ///
  /// - Parameter now: The local time, for a wait that ends at a date.
  init(refusal response: CKTransportResponse, now: Date) {
    self = (try? WireItemError(json: response.body).error) ?? Self.withoutEnvelope(status: response.status)
    httpStatus = response.status
    self.response = Self.excerpt(response.body)
    if retryAfter == nil { retryAfter = response.retryAfter(now: now) }
    if uuid == nil { uuid = response.requestID }
  }

  /// Makes the error for a response without the protocol's envelope. It comes from a proxy or gateway before CloudKit
  /// (reference 6.1).
  private static func withoutEnvelope(status: Int) -> WebServicesError {
    switch status {
    case 401: return WebServicesError(.authenticationFailed, "refused with HTTP 401")
    case 403: return WebServicesError(.accessDenied, "refused with HTTP 403")
    case 404: return WebServicesError(.notFound, "nothing exists at this URL (HTTP 404)")
    case 413: return WebServicesError(.limitExceeded, "the request is too large for the server (HTTP 413)")
    case 421: return WebServicesError(.tryAgainLater, "misdirected connection (HTTP 421)")
    case 429: return WebServicesError(.throttled, "too many requests (HTTP 429)")
    case 502, 503, 504:
      // A gateway may reply after the server behind it has committed.
      return WebServicesError(.tryAgainLater, "the service is not reachable (HTTP \(status))", effect: .unknown)
    case 500...: return WebServicesError(.internalError, "the server failed (HTTP \(status))", effect: .unknown)
    default: return WebServicesError(.badRequest, "refused with HTTP \(status)")
    }
  }

  /// Returns the beginning of a reply, for operators.
  static func excerpt(_ body: Data) -> String {
    // A character has at most four bytes.
    bounded(String(decoding: body.prefix(4 * longestText), as: UTF8.self))
  }
}

extension CKTransportResponse {
  /// The identifier that the server gave the request (reference 1.2).
  var requestID: String? { header("X-Apple-Request-UUID") }

  /// Decodes the body of a reply.
  ///
  /// - Throws: The server's refusal, or `unexpectedServerResponse` for a body that is not CloudKit's.
  func answer<Answer: JSONReadable>(now: @autoclosure () -> Date) throws(WebServicesError) -> Answer {
    try check(now: now())
    do throws(JSONError) {
      let answer = try Answer(json: body)
      guard let id = requestID, var items = answer as? any WireItems else { return answer }
      items.name(request: id)
      return items as? Answer ?? answer
    } catch {
      var failure = WebServicesError(
        .unexpectedServerResponse,
        "the reply is not CloudKit's: \(body.count) bytes could not be decoded (\(error))",
        effect: .unknown,
        httpStatus: status
      )
      failure.response = WebServicesError.excerpt(body)
      failure.uuid = requestID
      throw failure
    }
  }

  /// Throws the server's refusal if the status is not 2xx.
  func check(now: @autoclosure () -> Date) throws(WebServicesError) {
    guard (200..<300).contains(status) else { throw WebServicesError(refusal: self, now: now()) }
  }

  /// Whether the connection led to another server than the request is for: a 421 without the protocol's envelope. The
  /// request had no effect (reference 1.2).
  var isMisdirected: Bool { status == 421 && (try? WireItemError(json: body)) == nil }
}
