import JSONText

/// `users/caller` and `users/discover` (reference 5.11), and their deprecated predecessors (reference 5.12). [D]
extension Endpoint {
  /// Returns the caller's identity. The documentation wraps it in `users` [D], and clients read it directly [C]; by
  /// default the response has both. [E] (Question 9)
  func caller() throws(ServerError) -> JSONObject {
    let identity = try signedIn().identity()
    let list: JSONObject = ["users": .array([.object(identity)])]
    return switch assumptions.callerEnvelope {
    case .both: .joining(identity, list)
    case .list: list
    case .identity: identity
    }
  }

  func discoverUsers() throws(ServerError) -> JSONObject {
    // The real service fails with 500 if asked to discover all users. [L3]
    guard call.body["lookupInfos"] != nil else { throw ServerError(.internalError, "Internal error") }
    let found = try items("lookupInfos").compactMap { info -> JSON? in
      // Users who are not found are omitted. [E]
      guard let user = user(info), user.isDiscoverable else { return nil }
      return .object(user.identity(lookupInfo: info))
    }
    return ["users": .array(found)]
  }

  func currentUser() throws(ServerError) -> JSONObject {
    try signedIn().legacy
  }

  /// Looks up users by email address or record name. The two calls differ only in the key of the request. [D]
  func lookupUsers() throws(ServerError) -> JSONObject {
    let found = try items("users").compactMap { user($0) }.filter(\.isDiscoverable)
    return ["users": .array(found.map { .object($0.legacy) })]
  }

  /// Returns the caller's contacts: all other discoverable users of the directory. [E]
  func lookupContacts() throws(ServerError) -> JSONObject {
    let caller = try signedIn()
    let others = configuration.directory.filter { $0.name != caller.name && $0.isDiscoverable }
    return ["users": .array(others.map { .object($0.legacy) })]
  }

  /// Returns the user that a lookup info identifies by an email address, a phone number or a record name. [D]
  func user(_ info: JSONObject) -> EmulatorUser? {
    if let user = configuration.directory.first(where: { $0.matches(info) }) { return user }
    let recordName = info["userRecordName"]?.string ?? info["emailAddress"]?.string.map(WebAuthToken.recordName(of:))
    guard let user = recordName.flatMap({ world.user(recordName: $0) }), user.matches(info) else { return nil }
    return user
  }

  private func signedIn() throws(ServerError) -> EmulatorUser {
    // Server-to-server keys are rejected. [L3]
    guard case .user(let name, _) = call.caller else { throw .unauthenticated }
    return configuration.user(name)
  }
}
