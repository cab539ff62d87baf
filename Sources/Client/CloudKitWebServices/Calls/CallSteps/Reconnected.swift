/// Sends a request once more over a new connection if its connection led to another server (reference 1.2).
struct Reconnected: CallStep {
  func handle(_ call: Call, _ next: Next) async throws(WebServicesError) -> CKTransportResponse {
    let response = try await next(call)
    guard response.isMisdirected else { return response }
    var call = call
    call.request.needsNewConnection = true
    return try await next(call)
  }
}
