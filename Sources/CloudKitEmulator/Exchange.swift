import Foundation

/// A request with what is found out about it on the way to its answer.
struct Exchange: Sendable {
  let request: EmulatorRequest
  let time: Date
  var route: Route?
  var nextToken: String?
  var body: Result<JSONObject, ServerError> = .success([:])
  /// What logs, statistics and faults call the request.
  var operation = "unknown"

  init(_ request: EmulatorRequest, at time: Date) {
    self.request = request
    self.time = time
  }

  mutating func readBody() {
    // The lists take a POST without a body as well as one with `{}`.
    guard request.method != "GET", !(request.body.isEmpty && route?.operation.methods.contains("GET") == true) else {
      return
    }
    do throws(JSONParser.Failure) {
      let json = try JSONParser.parse(request.body)
      body = json.object.map { .success($0) } ?? .failure(.badRequest("Expected a JSON object"))
    } catch {
      body = .failure(.badRequest("BadRequestException: \(error.reason)"))
    }
  }

  /// How many operations, records or zones the request carries.
  var items: Int {
    guard case .success(let body) = body else { return 0 }
    return Self.lists.reduce(0) { $0 + (body[$1]?.array?.count ?? 0) }
  }

  private static let lists = [
    "operations", "records", "zones", "lookupInfos", "tokens", "assets", "subscriptions", "users", "shortGUIDs",
  ]
}

extension EmulatorCore {
  func answer(_ exchange: Exchange, _ authentication: Authentication) -> EmulatorReply {
    guard let route = exchange.route else { preconditionFailure("An exchange without a route cannot be answered.") }
    if isOffline { return drop(exchange, committed: false) }
    guard route.operation.methods.contains(exchange.request.method) else {
      var reply = refuse(exchange, .badRequest("Method not allowed"), status: 405)
      reply.append(EmulatorHeader("Allow", route.operation.methods.joined(separator: ", ")))
      return reply
    }
    guard exchange.request.body.count <= configuration.bodySizeLimit else {
      // A limit of a proxy, not of the service: no envelope. [E]
      return respond(exchange, status: 413, html: "Request Entity Too Large")
    }
    if let throttledUntil, throttledUntil > exchange.time {
      let seconds = throttledUntil.timeIntervalSince(exchange.time).rounded(.up)
      return refuse(exchange, ServerError(.throttled, "Request throttled", retryAfter: seconds))
    }
    let effects = effects { FaultInjector.Subject(route: route, body: (try? exchange.body.get()) ?? [:]) }
    var (exchange, authentication) = (exchange, authentication)
    renew(&authentication, &exchange)
    var reply = answer(exchange, authentication, effects)
    collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(effects.milliseconds)
    return reply
  }

  /// Bytes come and go by plain HTTP, so that a fault is a bare status here.
  func answer(_ exchange: Exchange, _ transfer: AssetTransfer) -> EmulatorReply {
    if isOffline { return drop(exchange, committed: false) }
    let effects = effects { FaultInjector.Subject(operation: exchange.operation) }
    var reply: EmulatorReply
    switch effects.ending {
    case .dropped: reply = drop(exchange, committed: false)
    case .badGateway: reply = respond(exchange, status: 502, html: "Bad Gateway")
    case .refused(let error): reply = respond(exchange, status: error.code.status, html: error.reason)
    case nil:
      reply = carryOut(exchange, transfer)
      if effects.losesAnswer { reply.outcome = .drop(committed: true) }
    }
    collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(effects.milliseconds)
    return reply
  }

  func effects(_ subject: () -> FaultInjector.Subject) -> FaultEffects {
    injector.plan.rules.isEmpty ? FaultEffects() : injector.effects(on: subject())
  }

  private func answer(_ exchange: Exchange, _ authentication: Authentication, _ effects: FaultEffects) -> EmulatorReply
  {
    switch effects.ending {
    case .dropped: return drop(exchange, committed: false)
    case .badGateway: return respond(exchange, status: 502, html: "Bad Gateway")
    case .refused(let error): return refuse(exchange, error)
    case nil: break
    }
    do throws(ServerError) {
      guard let route = exchange.route else { throw ServerError(.notFound, "No handler found for endpoint") }
      let caller = try authentication.caller.get()
      try remember(caller, route)
      var call = Call(route: route, caller: caller, body: try exchange.body.get(), time: exchange.time)
      call.faults = effects
      call.baseURL = exchange.request.baseURL
      let answer = try perform(call)
      if effects.losesAnswer { return drop(exchange, committed: true) }
      return respond(exchange, status: 200, json: answer)
    } catch {
      if effects.losesAnswer { return drop(exchange, committed: true) }
      return refuse(exchange, error)
    }
  }

  /// Keeps the name of a user met for the first time, for `users/discover`.
  private func remember(_ caller: Caller, _ route: Route) throws(ServerError) {
    guard case .user(let name, _) = caller, let recordName = caller.recordName, users[recordName] == nil else { return }
    let key = DatabaseKey(container: route.container, environment: route.environment, owner: nil)
    try commit([.userSeen(name: name)], to: key)
  }
}
