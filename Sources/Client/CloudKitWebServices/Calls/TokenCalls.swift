package import JSONText

/// The push token calls of Web Services, which are outside the databases (reference 5.10, 0.2).
extension WebServicesClient {
  /// Creates a push token, and the URL that delivers its pushes, for a client without a push service.
  package func createToken(apnsEnvironment: String) async throws(WebServicesError) -> WirePushToken {
    try await call("tokens/create", in: nil) { $0.member("apnsEnvironment", apnsEnvironment) }
  }

  /// Registers a device token of Apple's push service for pushes. The reply has no documented contents.
  package func registerToken(_ token: String, apnsEnvironment: String) async throws(WebServicesError) {
    try await post("tokens/register", in: nil) {
      $0.member("apnsEnvironment", apnsEnvironment)
      $0.member("apnsToken", token)
    }.check(now: configuration.now())
  }
}

/// A push token of the web courier.
package struct WirePushToken: Hashable, Sendable, WireReply {
  package var apnsEnvironment: String?
  package var apnsToken = ""
  package var webcourierURL = ""

  package init() {}

  package mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json("apnsEnvironment", &apnsEnvironment)
    try json("apnsToken", &apnsToken)
    try json("webcourierURL", &webcourierURL)
  }
}
