import Foundation
import JSONText

/// A request and the data collected while it is handled.
struct Exchange: Sendable {
  let request: EmulatorRequest
  let time: Date
  var route: Route?
  var nextToken: String?
  var body: Result<JSONObject, ServerError> = .success([:])
  /// The name of the request's operation in logs, statistics and faults.
  var operation = "unknown"
  /// The faults that apply to the request.
  var faults = FaultEffects()

  init(_ request: EmulatorRequest, at time: Date) {
    self.request = request
    self.time = time
  }

  mutating func readBody() {
    // List operations accept a POST without a body [E] or with `{}`. [L1] The content type is ignored: Apple's samples
    // send text/plain. [D]
    guard request.method != "GET", !(request.body.isEmpty && route?.operation.isList == true) else {
      return
    }
    do throws(JSONError) {
      // The parser of the service takes no byte order mark. [E]
      guard request.body.first != 0xEF else { throw JSONError(reason: "this is not a JSON value", offset: 0) }
      let json = try JSON(json: request.body)
      body = json.object.map { .success($0) } ?? .failure(.badRequest("Expected a JSON object"))
    } catch {
      body = .failure(.badRequest("BadRequestException: \(error)"))
    }
  }

  /// The number of items in the request, such as operations, records or zones.
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
    guard let route = exchange.route else { preconditionFailure("The exchange has no route.") }
    if isOffline { return offline(exchange) }
    // Observed for one path [L3] and assumed for all [E].
    let methods = route.operation.methods(configuration.assumptions)
    guard methods.contains(exchange.request.method) else {
      var reply = refuse(exchange, .badRequest("Method not allowed"), status: 405)
      reply.append(EmulatorHeader("Allow", methods.joined(separator: ", ")))
      return reply
    }
    guard exchange.request.body.count <= configuration.bodySizeLimit else {
      // This limit belongs to a proxy, not to the service, so the response is not JSON. [E]
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

  /// Answers an upload or download. Assets use plain HTTP, so faults are bare statuses here. [L3]
  func answer(_ exchange: Exchange, _ transfer: AssetTransfer) -> EmulatorReply {
    if isOffline { return offline(exchange) }
    var exchange = exchange
    exchange.faults = faults(on: FaultInjector.Subject(operation: exchange.operation))
    var reply = plainEnding(exchange) ?? carryOut(exchange, transfer)
    collectAssets(at: Timestamps.milliseconds(exchange.time))
    reply.delay = .milliseconds(exchange.faults.milliseconds)
    return reply
  }

  /// Returns the faults that apply to a request.
  func faults(on subject: @autoclosure () -> FaultInjector.Subject) -> FaultEffects {
    injector.plan.rules.isEmpty ? FaultEffects() : injector.effects(on: subject())
  }

  /// Returns the reply that a fault forces, as a bare status where the service's error format is unknown.
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

  /// Deletes the zones that a fault purges. Zones that cannot be deleted stay.
  private func purgeZones(_ call: Call) {
    guard call.route.scope == .private else { return }
    for name in call.faults.purgedZones.sorted() {
      _ = try? deleteZone(.object(["zoneName": .string(name)]), in: database(for: call))
    }
  }

  /// Enforces the limit of requests per second, by the time of the requests. [E] (Question 22)
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

  /// Stores the name of a new user, for `users/discover`.
  private func remember(_ caller: Caller, _ route: Route) throws(ServerError) {
    guard case .user(let name, _) = caller, let recordName = caller.recordName, users[recordName] == nil else { return }
    // Names are stored as text, which a control character may end. [E]
    guard name.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
      throw ServerError(.authenticationFailed, "Authentication failed")
    }
    let key = DatabaseKey(container: route.container, environment: route.environment, owner: nil)
    try commit([.userSeen(name: name)], to: key)
  }
}
