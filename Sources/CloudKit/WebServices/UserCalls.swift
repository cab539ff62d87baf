extension WebServicesClient {
  private struct DiscoverBody: Encodable, Sendable {
    var lookupInfos: [WireLookupInfo]
  }

  private struct Users: Decodable, Sendable {
    var users: [WireUserIdentity]
  }

  /// Users by what is known of them; those who do not want to be found are left out.
  package func discoverUsers(_ lookupInfos: [WireLookupInfo]) async throws(WebServicesError) -> [WireUserIdentity] {
    try await call("users/discover", in: .public, DiscoverBody(lookupInfos: lookupInfos), as: Users.self).users
  }

  /// The caller's contacts who use the app. Documented; Apple's servers answer 500 (reference 0.2).
  package func discoverAllUsers() async throws(WebServicesError) -> [WireUserIdentity] {
    try await get("users/discover", in: .public, as: Users.self).users
  }
}
