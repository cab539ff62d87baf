import JSONText

extension WebServicesClient {
  /// Finds users by lookup info. Users who are not discoverable are left out.
  package func discoverUsers(_ lookupInfos: [WireLookupInfo]) async throws(WebServicesError) -> [WireUserIdentity] {
    try await list("users/discover", in: .public) { $0.member("lookupInfos", lookupInfos) }
  }

  /// Fetches the caller's contacts who use the app. It is documented, but Apple's servers reply with 500
  /// (reference 0.2).
  package func discoverAllUsers() async throws(WebServicesError) -> [WireUserIdentity] {
    try await get("users/discover", in: .public, as: WirePage.self).elements
  }
}
