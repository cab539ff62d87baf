/// `users/caller`, `users/current` and `users/discover` (5.11, 5.12): everybody is discoverable.
extension EmulatorCore {
  /// Documentation wraps the identity in `users`, clients read it flat: this answer is both. [E]
  func caller(_ call: Call) throws(ServerError) -> JSONObject {
    var object = identity(try name(of: call.caller), lookupInfo: nil)
    object.append("users", .array([.object(object)]))
    return object
  }

  func currentUser(_ call: Call) throws(ServerError) -> JSONObject {
    let name = try name(of: call.caller)
    return [
      "userRecordName": .string(WebAuthToken.recordName(of: name)), "firstName": .string(name), "lastName": .string(""),
    ]
  }

  func discoverUsers(_ call: Call) throws(ServerError) -> JSONObject {
    // Discovering all users answers 500 at the real service. [L3]
    guard call.body["lookupInfos"] != nil else { throw ServerError(.internalError, "Internal error") }
    var found: [JSON] = []
    for info in try items("lookupInfos", of: call.body) {
      let recordName = info["userRecordName"]?.string ?? info["emailAddress"]?.string.map(WebAuthToken.recordName(of:))
      // Misses are left out. [E]
      guard let recordName, let name = users[recordName] else { continue }
      found.append(.object(identity(name, lookupInfo: info)))
    }
    return ["users": .array(found)]
  }

  private func name(of caller: Caller) throws(ServerError) -> String {
    guard case .user(let name, _) = caller else { throw ServerError(.authenticationFailed, "Authentication failed") }
    return name
  }

  private func identity(_ name: String, lookupInfo: JSONObject?) -> JSONObject {
    let recordName = WebAuthToken.recordName(of: name)
    let ownInfo: JSONObject =
      name.contains("@") ? ["emailAddress": .string(name)] : ["userRecordName": .string(recordName)]
    return [
      "userRecordName": .string(recordName), "lookupInfo": .object(lookupInfo ?? ownInfo),
      "nameComponents": .object(["givenName": .string(name)]),
    ]
  }
}
