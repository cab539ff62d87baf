/// The push token calls of Web Services, which lie beside the databases (reference 5.10, 0.2).
extension WebServicesClient {
  private struct CreateBody: Encodable, Sendable {
    var apnsEnvironment: String
  }

  /// Makes a push token for a client without a push service of its own, with the URL where its pushes are collected.
  package func createToken(apnsEnvironment: String) async throws(WebServicesError) -> WirePushToken {
    try await callDevice("tokens/create", CreateBody(apnsEnvironment: apnsEnvironment))
  }

  private struct RegisterBody: Encodable, Sendable {
    var apnsEnvironment: String
    var apnsToken: String
  }

  /// Asks for pushes to a device token that Apple's push service gave out. The answer has no documented content.
  package func registerToken(_ token: String, apnsEnvironment: String) async throws(WebServicesError) {
    try await sendDevice("tokens/register", RegisterBody(apnsEnvironment: apnsEnvironment, apnsToken: token))
  }
}

/// A push token of the web courier.
package struct WirePushToken: Hashable, Sendable, Decodable {
  package var apnsEnvironment: String?
  package var apnsToken: String
  package var webcourierURL: String
}
