import JSONText

/// The state of an emulator and its changes, by requests and by the methods of `Emulator` that act as another device.
/// Protected by the lock of `Emulator`.
///
/// The gate admits a request, an endpoint decides on it, and the core commits the decision and notifies the
/// subscribers.
///
/// Comments on rules cite the protocol reference by number, such as (reference 5.3), and have a mark for the source of
/// the rule, such as [D]. (Question 13) has a switch in `EmulatorAssumptions`. The handbook's page "Protocol 0:
/// Evidence" (`Handbook/Protocol/Protocol-0-Evidence.md`) explains the numbers and marks.
final class EmulatorCore {
  var world: World
  var gate: Gate
  var push = Push()

  init(configuration: EmulatorConfiguration, store: EmulatorStore) {
    world = World(configuration, store)
    gate = Gate(configuration)
  }

  /// Handles a request, and refuses it if `body` throws.
  func handle(
    _ exchange: Exchange,
    _ body: (inout Exchange) throws(Refusal) -> EmulatorReply
  ) -> EmulatorReply {
    var exchange = exchange
    var reply: EmulatorReply
    do throws(Refusal) {
      reply = try body(&exchange)
    } catch {
      reply = gate.refuse(exchange, error)
    }
    world.collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(exchange.faults.milliseconds)
    return reply
  }

  /// Handles a call of the service.
  func dispatch(_ exchange: Exchange, _ authentication: Authentication) -> EmulatorReply {
    handle(exchange) { (exchange) throws(Refusal) in
      let call = try gate.admit(&exchange, authentication)
      do throws(ServerError) {
        try remember(call)
        purgeZones(call)
        let answer = try execute(call)
        return gate.respond(exchange, json: answer)
      } catch {
        throw .error(error)
      }
    }
  }

  /// Stores the name of a new user, for `users/discover`.
  private func remember(_ call: Call) throws(ServerError) {
    guard case .user(let name, _) = call.caller, world.users[WebAuthToken.recordName(of: name)] == nil else { return }
    try commit(world.commit(of: [.userSeen(name: name)], in: call.route.key(owner: nil)))
  }

  /// Deletes the zones that a fault purges. Zones that cannot be deleted stay.
  private func purgeZones(_ call: Call) {
    guard call.route.scope == .private else { return }
    for name in call.faults.purgedZones.sorted() {
      try? commit(Endpoint(call, world).deletion(ofZone: .object(["zoneName": .string(name)])).commit)
    }
  }

  /// Carries out an admitted call.
  func execute(_ call: Call) throws(ServerError) -> JSONObject {
    let outcome = Result { () throws(ServerError) in try perform(call) }
    // After a failed read, even an error may be wrong.
    try world.requireIntactReads()
    return try outcome.get()
  }

  private func perform(_ call: Call) throws(ServerError) -> JSONObject {
    let endpoint = Endpoint(call, world)
    switch try endpoint.plan() {
    case .answer(let answer): return endpoint.completed(answer)
    case .decision(let decision): return endpoint.completed(try apply(decision, call))
    case .each(let key, let decisions):
      let answers = try decisions.map { (decide) throws(ServerError) in
        let decision = decide()
        do throws(ServerError) {
          return JSON.object(try apply(decision, call))
        } catch {
          guard let item = decision.item else { throw error }
          return .object(error.members(after: item))
        }
      }
      return [key: .array(answers)]
    }
  }

  private func apply(_ decision: Decision, _ call: Call) throws(ServerError) -> JSONObject {
    try commit(decision.commit)
    if decision.isRolledBack { gate.statistics.atomicFailures += 1 }
    world.uploads += decision.uploads
    for receipt in decision.kept {
      world.assets.keep(receipt.asset.id, size: receipt.asset.size, until: receipt.expires)
    }
    return try decision.answer()
  }

  /// Commits changes, and notifies the subscribers.
  ///
  /// - Throws: `INTERNAL_ERROR` if the file cannot be read or written. In that case nothing has changed.
  func commit(_ commit: Commit?) throws(ServerError) {
    guard let commit, !commit.changes.isEmpty else { return }
    let (events, audience) = (world.events(of: commit), world.audience(of: commit))
    try world.commit(commit)
    gate.statistics.count(commit)
    for case .tokenDropped(let token) in commit.changes {
      release(token)
      push.couriers[token] = nil
    }
    for notification in world.notifications(of: commit, events, audience: audience) {
      send(notification, counter: commit.counter)
    }
  }
}
