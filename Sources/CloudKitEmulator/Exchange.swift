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
  /// The faults that struck the request.
  var faults = FaultEffects()

  init(_ request: EmulatorRequest, at time: Date) {
    self.request = request
    self.time = time
  }

  mutating func readBody() {
    // The lists take a POST without a body [E] as well as one with `{}`. [L1] What the body calls itself does not
    // matter: Apple's samples say text/plain. [D]
    guard request.method != "GET", !(request.body.isEmpty && route?.operation.isList == true) else {
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
    if isOffline { return offline(exchange) }
    // Seen for one path [L3], taken for the rule [E].
    let methods = route.operation.methods(configuration.assumptions)
    guard methods.contains(exchange.request.method) else {
      var reply = refuse(exchange, .badRequest("Method not allowed"), status: 405)
      reply.append(EmulatorHeader("Allow", methods.joined(separator: ", ")))
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
    var (exchange, authentication) = (exchange, authentication)
    exchange.faults = faults(
      on: FaultInjector.Subject(
        route: route,
        caller: try? authentication.caller.get(),
        body: (try? exchange.body.get()) ?? [:]
      )
    )
    renew(&authentication, &exchange)
    if let user = exchange.faults.newUser { switchAccount(to: user, &authentication, &exchange) }
    var reply = carryOut(exchange, authentication)
    collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(exchange.faults.milliseconds)
    return reply
  }

  /// Bytes come and go by plain HTTP, so that a fault is a bare status here. [L3]
  func answer(_ exchange: Exchange, _ transfer: AssetTransfer) -> EmulatorReply {
    if isOffline { return offline(exchange) }
    var exchange = exchange
    exchange.faults = faults(on: FaultInjector.Subject(operation: exchange.operation))
    var reply = plainEnding(exchange) ?? carryOut(exchange, transfer)
    collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(exchange.faults.milliseconds)
    return reply
  }

  /// Finds out which faults strike.
  func faults(on subject: @autoclosure () -> FaultInjector.Subject) -> FaultEffects {
    injector.plan.rules.isEmpty ? FaultEffects() : injector.effects(on: subject())
  }

  /// The reply to what is not carried out, where the envelope of the service is unknown.
  func plainEnding(_ exchange: Exchange) -> EmulatorReply? {
    switch exchange.faults.ending {
    case nil, .answerLost, .answerTruncated: nil
    case .unreachable: offline(exchange)
    case .dropped: drop(exchange)
    case .refused(let error): respond(exchange, status: error.code.status, html: error.reason)
    case .page(let status, let title): respond(exchange, status: status, html: title)
    case .signedOut: respond(exchange, status: 401, html: "Unauthorized")
    }
  }

  private func carryOut(_ exchange: Exchange, _ authentication: Authentication) -> EmulatorReply {
    switch exchange.faults.ending {
    case .refused(let error): return refuse(exchange, error)
    case .signedOut:
      var exchange = exchange
      exchange.nextToken = nil
      return refuse(exchange, authentication.expiry(exchange))
    case nil, .unreachable, .dropped, .page, .answerLost, .answerTruncated: break
    }
    if let reply = plainEnding(exchange) { return reply }
    do throws(ServerError) {
      guard let route = exchange.route else { throw ServerError(.notFound, "No handler found for endpoint") }
      let caller = try authentication.caller.get()
      try limitRate(of: caller, at: exchange.time)
      try remember(caller, route)
      var call = Call(route: route, caller: caller, body: try exchange.body.get(), time: exchange.time)
      call.faults = exchange.faults
      call.wantsSyncToken = authentication.wantsSyncToken
      call.baseURL = exchange.request.baseURL
      purgeZones(call)
      return respond(exchange, status: 200, json: try perform(call))
    } catch {
      return refuse(exchange, error)
    }
  }

  /// Deletes the zones that a fault takes away; what cannot be deleted stays.
  private func purgeZones(_ call: Call) {
    guard call.route.scope == .private else { return }
    for name in call.faults.purgedZones.sorted() {
      _ = try? deleteZone(.object(["zoneName": .string(name)]), in: database(for: call))
    }
  }

  /// Counts by whole seconds of the requests' own time. [E] (Question 22)
  private func limitRate(of caller: Caller, at time: Date) throws(ServerError) {
    guard let limit = configuration.assumptions.requestsPerSecond else { return }
    let second = Timestamps.milliseconds(time) / 1000
    if rates.second != second { rates = (second, [:]) }
    let name = caller.recordName ?? ""
    rates.requests[name, default: 0] += 1
    guard rates.requests[name, default: 0] <= limit else {
      throw ServerError(.throttled, "Request throttled", retryAfter: 1)
    }
  }

  /// Keeps the name of a user met for the first time, for `users/discover`.
  private func remember(_ caller: Caller, _ route: Route) throws(ServerError) {
    guard case .user(let name, _) = caller, let recordName = caller.recordName, users[recordName] == nil else { return }
    // Names are kept as text, which a control character may end. [E]
    guard name.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
      throw ServerError(.authenticationFailed, "Authentication failed")
    }
    let key = DatabaseKey(container: route.container, environment: route.environment, owner: nil)
    try commit([.userSeen(name: name)], to: key)
  }
}
