internal import Foundation
internal import Synchronization

/// Signs requests with a server-to-server key.
///
/// A request refused with 401 is signed again once with the server's time, because a wrong clock cannot be
/// distinguished from a wrong key (reference 7.10).
final class Signed: CallStep {
  private let key: CKServerToServerKey
  private let now: @Sendable () -> Date
  private let instruments: Instruments
  /// The seconds to add to the local clock, known from a refused signature.
  private let clockOffset = Mutex<TimeInterval>(0)

  init(with key: CKServerToServerKey, now: @escaping @Sendable () -> Date, _ instruments: Instruments) {
    (self.key, self.now, self.instruments) = (key, now, instruments)
  }

  func handle(_ call: Call, _ next: Next) async throws(WebServicesError) -> CKTransportResponse {
    let first = try await next(signed(call))
    guard !call.isAnonymous, first.status == 401, let offset = clockOffset(from: first), abs(offset) > 60 else {
      return first
    }
    clockOffset.withLock { $0 = offset }
    instruments.signedAgain(offset: offset)
    return try await next(signed(call))
  }

  private func clockOffset(from response: CKTransportResponse) -> TimeInterval? {
    let now = now()
    return response.date(now: now)?.timeIntervalSince(now)
  }

  private func signed(_ call: Call) throws(WebServicesError) -> Call {
    var call = call
    let date = now().addingTimeInterval(clockOffset.withLock { $0 })
    do {
      call.request.headers += try key.signatureHeaders(body: call.request.body, path: call.request.path, date: date)
    } catch {
      throw WebServicesError(.authenticationFailed, "the request could not be signed: \(error)", effect: .notSent)
    }
    return call
  }
}
