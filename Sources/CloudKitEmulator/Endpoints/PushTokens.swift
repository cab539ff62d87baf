import JSONText

/// `tokens/create` and `tokens/register` (reference 5.10). [D]
extension EmulatorCore {
  /// Creates a token for a client without APNs, and returns the URL of its long poll. [D][L3]
  func createToken(_ call: Call) throws(ServerError) -> JSONObject {
    let environment = try apnsEnvironment(call)
    let home = tokenHome(of: call)
    let text = freeToken(home, call)
    try add(PushToken(text: text, owner: home, expires: call.milliseconds + PushToken.lifetime), call)
    return [
      "apnsEnvironment": .string(environment), "apnsToken": .string(text),
      "webcourierURL": .string("\(call.baseURL)\(PushToken.path)?tok=\(text)&ttl=\(PushToken.lifetime / 1000)"),
    ]
  }

  /// Returns an unused token, also unused before a restart. It cannot be guessed, because it gives access to the
  /// notifications.
  private func freeToken(_ home: DatabaseKey, _ call: Call) -> String {
    var number = pushTokens[home]?.count ?? 0
    while true {
      let origin = "\(seed)/push/\(home.path)/\(number)/\(call.milliseconds)"
      let text = seal.signature(of: origin) + seal.signature(of: "\(origin)/2")
      if couriers[text] == nil { return text }
      number += 1
    }
  }

  /// Registers a token that a device got from APNs. The emulator cannot reach devices, so notifications wait to be
  /// polled. [E]
  func registerToken(_ call: Call) throws(ServerError) -> JSONObject {
    _ = try apnsEnvironment(call)
    guard let text = call.body["apnsToken"]?.string, StoredRecord.isName(text) else {
      throw .badRequest("Missing or invalid 'apnsToken'")
    }
    try add(PushToken(text: text, owner: tokenHome(of: call), expires: call.milliseconds + PushToken.lifetime), call)
    return [:]
  }

  private func apnsEnvironment(_ call: Call) throws(ServerError) -> String {
    guard let environment = call.body["apnsEnvironment"]?.string, ["development", "production"].contains(environment)
    else { throw .badRequest("Missing or unknown 'apnsEnvironment'") }
    return environment
  }

  private func tokenHome(of call: Call) -> DatabaseKey {
    let (container, environment) = (call.route.container, call.route.environment)
    return DatabaseKey(container: container, environment: environment, owner: call.caller.recordName ?? "")
  }

  /// Adds a token, and removes the owner's expired and excess tokens. [E]
  private func add(_ token: PushToken, _ call: Call) throws(ServerError) {
    let old = (pushTokens[token.owner] ?? []).filter { $0 != token.text }
    let live = old.filter { couriers[$0].map { $0.token.expires > call.milliseconds } ?? false }
    let dropped = Set(old).subtracting(live.suffix(PushToken.limit - 1))
    try commit(dropped.sorted().map { .tokenDropped($0) } + [.tokenMade(token)], to: token.owner)
  }
}
