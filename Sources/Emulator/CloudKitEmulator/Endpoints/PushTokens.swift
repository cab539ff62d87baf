import JSONText

/// `tokens/create` and `tokens/register` (reference 5.10). [D]
extension Endpoint {
  /// Creates a token for a client without APNs, and returns the URL of its long poll. [D][L3]
  func createToken() throws(ServerError) -> Decision {
    let environment = try apnsEnvironment()
    let text = freeToken()
    let url = "\(call.baseURL)\(PushToken.path)?tok=\(text)&ttl=\(PushToken.lifetime / 1000)"
    return Decision(commit: commit(of: text)) {
      ["apnsEnvironment": .string(environment), "apnsToken": .string(text), "webcourierURL": .string(url)]
    }
  }

  /// Returns an unused token, also unused before a restart. It cannot be guessed, because it gives access to the
  /// notifications.
  private func freeToken() -> String {
    let home = call.route.key(owner: user)
    var number = world.tokensByOwner[home]?.count ?? 0
    while true {
      let origin = "\(seed)/push/\(home.path)/\(number)/\(call.milliseconds)"
      let text = world.seal.signature(of: origin) + world.seal.signature(of: "\(origin)/2")
      if world.pushTokens[text] == nil { return text }
      number += 1
    }
  }

  /// Registers a token that a device got from APNs. The emulator cannot reach devices, so notifications wait to be
  /// polled. [E]
  func registerToken() throws(ServerError) -> Decision {
    _ = try apnsEnvironment()
    guard let text = call.body["apnsToken"]?.string, StoredRecord.isName(text) else {
      throw .badRequest("Missing or invalid 'apnsToken'")
    }
    return Decision(commit: commit(of: text)) { [:] }
  }

  private func apnsEnvironment() throws(ServerError) -> String {
    guard let environment = call.body["apnsEnvironment"]?.string, ["development", "production"].contains(environment)
    else { throw .badRequest("Missing or unknown 'apnsEnvironment'") }
    return environment
  }

  /// Adds a token, and removes the owner's expired and excess tokens. [E]
  private func commit(of text: String) -> Commit {
    let token = PushToken(
      text: text,
      owner: call.route.key(owner: user),
      expires: call.milliseconds + PushToken.lifetime
    )
    let old = (world.tokensByOwner[token.owner] ?? []).filter { $0 != text }
    let live = old.filter { world.pushTokens[$0].map { $0.expires > call.milliseconds } ?? false }
    let dropped = Set(old).subtracting(live.suffix(PushToken.limit - 1))
    return world.commit(of: dropped.sorted().map { .tokenDropped($0) } + [.tokenMade(token)], in: token.owner)
  }
}
