import JSONText

/// `users/caller` and `users/discover` (reference 5.11), and their deprecated predecessors (reference 5.12). [D]
extension EmulatorCore {
  /// Returns the caller's identity. The documentation wraps it in `users` [D], and clients read it directly [C]; by
  /// default the response has both. [E] (Question 9)
  func caller(_ call: Call) throws(ServerError) -> JSONObject {
    let identity = try user(of: call).identity()
    let list: JSONObject = ["users": .array([.object(identity)])]
    return switch configuration.assumptions.callerEnvelope {
    case .both: .joining(identity, list)
    case .list: list
    case .identity: identity
    }
  }

  func discoverUsers(_ call: Call) throws(ServerError) -> JSONObject {
    // The real service fails with 500 if asked to discover all users. [L3]
    guard call.body["lookupInfos"] != nil else { throw ServerError(.internalError, "Internal error") }
    var found: [JSON] = []
    for info in try items("lookupInfos", of: call.body) {
      // Users who are not found are omitted. [E]
      guard let user = user(info), user.isDiscoverable else { continue }
      found.append(.object(user.identity(lookupInfo: info)))
    }
    return ["users": .array(found)]
  }

  func currentUser(_ call: Call) throws(ServerError) -> JSONObject {
    try user(of: call).legacy
  }

  /// Looks up users by email address or record name. The two calls differ only in the key of the request. [D]
  func lookupUsers(_ call: Call) throws(ServerError) -> JSONObject {
    let found = try items("users", of: call.body).compactMap { user($0) }.filter(\.isDiscoverable)
    return ["users": .array(found.map { .object($0.legacy) })]
  }

  /// Returns the caller's contacts: all other discoverable users of the directory. [E]
  func lookupContacts(_ call: Call) throws(ServerError) -> JSONObject {
    let caller = try user(of: call)
    let others = configuration.directory.filter { $0.name != caller.name && $0.isDiscoverable }
    return ["users": .array(others.map { .object($0.legacy) })]
  }

  /// Returns the user with the record name, if the emulator knows one.
  func user(recordName: String) -> EmulatorUser? {
    users[recordName].map(person)
  }

  /// Returns the user that a lookup info identifies by an email address, a phone number or a record name. [D]
  func user(_ info: JSONObject) -> EmulatorUser? {
    if let user = configuration.directory.first(where: { $0.matches(info) }) { return user }
    let recordName = info["userRecordName"]?.string ?? info["emailAddress"]?.string.map(WebAuthToken.recordName(of:))
    guard let user = recordName.flatMap({ user(recordName: $0) }), user.matches(info) else { return nil }
    return user
  }

  private func user(of call: Call) throws(ServerError) -> EmulatorUser {
    // Server-to-server keys are rejected. [L3]
    guard case .user(let name, _) = call.caller else {
      throw ServerError(.authenticationFailed, "Authentication failed")
    }
    return person(name)
  }

  private func person(_ name: String) -> EmulatorUser {
    configuration.directory.first { $0.name == name } ?? EmulatorUser(name)
  }
}
