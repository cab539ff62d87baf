internal import Foundation

/// The end of a chain: sends requests through a transport, and logs and measures them.
struct MeasuredTransport: Sendable {
  let transport: any CKTransport
  let instruments: Instruments
  let now: @Sendable () -> Date

  func send(_ call: Call) async throws(WebServicesError) -> CKTransportResponse {
    let exchange = Instruments.Exchange(path: call.request.path, sent: call.request.body.count)
    do {
      let response = try await transport.send(call.request)
      call.received(response)
      instruments.answered(exchange, with: response) { WebServicesError(refusal: response, now: now()) }
      return response
    } catch {
      instruments.failed(exchange, error)
      var failure = WebServicesError(.networkError, error.message)
      failure.effect = error.delivery == .notSent ? .notSent : .unknown
      throw failure
    }
  }
}
