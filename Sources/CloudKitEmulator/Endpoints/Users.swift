/// `users/caller` and `users/discover` (5.11), and the deprecated calls that came before them (5.12). [D]
extension EmulatorCore {
  /// Documentation wraps the identity in `users` [D], clients read it flat [C]: this answer is both. [E] (Question 9)
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
    // Discovering all users answers 500 at the real service. [L3]
    guard call.body["lookupInfos"] != nil else { throw ServerError(.internalError, "Internal error") }
    var found: [JSON] = []
    for info in try items("lookupInfos", of: call.body) {
      // Misses are left out. [E]
      guard let user = user(info), user.isDiscoverable else { continue }
      found.append(.object(user.identity(lookupInfo: info)))
    }
    return ["users": .array(found)]
  }

  func currentUser(_ call: Call) throws(ServerError) -> JSONObject {
    try user(of: call).legacy
  }

  /// By address or by record name: the two calls differ only in the key that is asked with. [D]
  func lookupUsers(_ call: Call) throws(ServerError) -> JSONObject {
    let found = try items("users", of: call.body).compactMap { user($0) }.filter(\.isDiscoverable)
    return ["users": .array(found.map { .object($0.legacy) })]
  }

  /// Everybody the directory tells of has everybody else in their contacts. [E]
  func lookupContacts(_ call: Call) throws(ServerError) -> JSONObject {
    let caller = try user(of: call)
    let others = configuration.directory.filter { $0.name != caller.name && $0.isDiscoverable }
    return ["users": .array(others.map { .object($0.legacy) })]
  }

  /// The user with that record name, as far as one has been seen; others are strangers without a name.
  func user(recordName: String) -> EmulatorUser? {
    users[recordName].map(person)
  }

  /// The user a lookup info means: exactly one of an address, a number and a record name. [D]
  func user(_ info: JSONObject) -> EmulatorUser? {
    if let user = configuration.directory.first(where: { $0.matches(info) }) { return user }
    let recordName = info["userRecordName"]?.string ?? info["emailAddress"]?.string.map(WebAuthToken.recordName(of:))
    guard let user = recordName.flatMap({ user(recordName: $0) }), user.matches(info) else { return nil }
    return user
  }

  private func user(of call: Call) throws(ServerError) -> EmulatorUser {
    // Server-to-server keys are refused. [L3]
    guard case .user(let name, _) = call.caller else {
      throw ServerError(.authenticationFailed, "Authentication failed")
    }
    return person(name)
  }

  private func person(_ name: String) -> EmulatorUser {
    configuration.directory.first { $0.name == name } ?? EmulatorUser(name)
  }
}
