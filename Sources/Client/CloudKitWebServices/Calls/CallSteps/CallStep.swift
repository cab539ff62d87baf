/// One step of every call, between its encoded request and the transport.
///
/// A step may change the request, send it again after a refusal that had no effect, or look at the response.
protocol CallStep: Sendable {
  /// Passes a call to the next step, and at last to the transport.
  typealias Next = (Call) async throws(WebServicesError) -> CKTransportResponse

  func handle(_ call: Call, _ next: Next) async throws(WebServicesError) -> CKTransportResponse
}

/// A request on its way through the steps.
struct Call: Sendable {
  var request: CKTransportRequest
  /// Whether the request is sent without a user, even if one is signed in.
  var isAnonymous = false
  /// Called with each response to the request, refusals included, before it is measured.
  var received: @Sendable (CKTransportResponse) -> Void = { _ in }
}

extension ArraySlice<any CallStep> {
  /// Sends a call through each step in order, then over the transport.
  func send(_ call: Call, over end: MeasuredTransport) async throws(WebServicesError) -> CKTransportResponse {
    guard let step = first else { return try await end.send(call) }
    return try await step.handle(call) { call throws(WebServicesError) in try await dropFirst().send(call, over: end) }
  }
}
